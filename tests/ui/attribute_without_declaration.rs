hak::hak_allocator!(#[global_allocator] "specs/good.toml");

fn main() {}
