hak::hak_allocator!(42);

fn main() {}
