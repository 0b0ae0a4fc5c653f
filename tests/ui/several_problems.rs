hak::hak_allocator!("specs/several_problems.toml");

fn main() {}
