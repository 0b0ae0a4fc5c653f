hak::hak_allocator! {
    pub struct Inline = {
        schema = 1,
        extends = "specs/unknown_key.toml",
    }
}

fn main() {}
