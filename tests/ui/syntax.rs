hak::hak_allocator!("specs/syntax.toml");

fn main() {}
