hak::hak_allocator!("specs/check_without_its_layer.toml");

fn main() {}
