hak::hak_allocator!(pub struct Good "specs/good.toml");

fn main() {}
