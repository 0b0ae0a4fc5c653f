hak::hak_allocator!(concat!("specs/", "good.toml"));

fn main() {}
