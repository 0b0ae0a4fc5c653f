hak::hak_allocator!(static ALLOC = { schema = 1 });

fn main() {}
