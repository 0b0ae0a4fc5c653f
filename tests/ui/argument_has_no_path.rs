hak::hak_allocator!(pub struct Good = );

fn main() {}
