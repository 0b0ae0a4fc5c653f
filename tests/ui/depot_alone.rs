hak::hak_allocator!("specs/depot_alone.toml");

fn main() {}
