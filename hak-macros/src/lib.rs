//! The hak_allocator! procedural macro.
