hak::hak_allocator! {
    pub struct Inline = {
        schema = 1,
        cache.slots = = 32,
    }
}

fn main() {}
