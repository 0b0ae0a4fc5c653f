hak::hak_allocator!(static GOOD: Good = "specs/good.toml");

fn main() {}
