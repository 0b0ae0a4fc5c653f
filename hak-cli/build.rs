//! Tells cargo that the runtime's source is part of this command: `hak build` carries it.

fn main() {
    println!("cargo::rerun-if-changed=runtime");
}
