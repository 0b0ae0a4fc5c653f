hak::hak_allocator!("specs/good.toml", "specs/good.toml");

fn main() {}
