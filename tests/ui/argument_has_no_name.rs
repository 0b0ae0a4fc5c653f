hak::hak_allocator!(pub struct = "specs/good.toml");

fn main() {}
