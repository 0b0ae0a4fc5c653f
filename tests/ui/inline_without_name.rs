hak::hak_allocator!({ schema = 1 });

fn main() {}
