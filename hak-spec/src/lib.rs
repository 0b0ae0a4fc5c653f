//! Reads and checks hak's spec language: TOML in, a checked model out.
