hak::hak_allocator! {
    pub struct Inline = {
        schema = 1,
        classes.sizes = [64, 48],
    }
}

fn main() {}
