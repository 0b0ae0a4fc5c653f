hak::hak_allocator!("specs/unknown_keys.toml");

fn main() {}
