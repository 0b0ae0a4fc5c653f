hak::hak_allocator!(pub struct match = "specs/good.toml");

fn main() {}
