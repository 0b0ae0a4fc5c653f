hak::hak_allocator!();

fn main() {}
