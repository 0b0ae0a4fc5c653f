hak::hak_allocator!(struct Small = { schema = 1, allocator.name = "Other" });

fn main() {
    println!("{}", Small::stats());
}
