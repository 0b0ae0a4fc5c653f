hak::hak_allocator!("specs/name_in_the_spec.toml");

fn main() {}
