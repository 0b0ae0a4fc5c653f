hak::hak_allocator!("specs/unsupported_key.toml");

fn main() {}
