hak::hak_allocator!(pub enum Good = "specs/good.toml");

fn main() {}
