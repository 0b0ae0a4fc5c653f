//! hak: a TOML file becomes a memory allocator.
