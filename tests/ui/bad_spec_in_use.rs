// The errors of the spec, and no other: the stub has the interface of an allocator.

use std::alloc::{GlobalAlloc, Layout};

hak::hak_allocator!(#[global_allocator] static ALLOC = "specs/unknown_key.toml");
hak::hak_allocator!(pub(crate) struct Named = "specs/unknown_key.toml");

static OTHER: Named = Named;

fn main() {
    println!("{}", UnknownKey::stats());
    println!("{}", Named::stats().classes.len());
    UnknownKey::flush();
    let copy = ALLOC;
    println!("{copy:?} {:?}", Named::default());
    unsafe { OTHER.dealloc(OTHER.alloc(Layout::new::<u64>()), Layout::new::<u64>()) };
}
