//! The `hak` command.
fn main() {}
