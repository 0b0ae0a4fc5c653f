//! Turns a checked hak spec into the tokens of an allocator.
