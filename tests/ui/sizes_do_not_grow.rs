hak::hak_allocator!("specs/sizes_do_not_grow.toml");

fn main() {}
