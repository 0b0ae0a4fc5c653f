hak::hak_allocator!(struct Inline = {});

fn main() {}
