hak::hak_allocator!("specs/unknown_key.toml");

fn main() {}
