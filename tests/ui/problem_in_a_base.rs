hak::hak_allocator!("specs/problem_in_a_base.toml");

fn main() {}
