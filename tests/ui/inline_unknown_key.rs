hak::hak_allocator! {
    pub struct Inline = {
        schema = 1,
        cache.slotz = 32,
    }
}

fn main() {}
