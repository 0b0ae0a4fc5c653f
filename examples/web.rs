//! A JSON web service under load, on an allocator made from `specs/web.toml`.
//!
//! `cargo run --release --example web -- --help` lists the options. Compare the numbers with those
//! of `web_system`, which runs the same program with the same requests on the system allocator.

use std::process::ExitCode;

mod web_service;

hak::hak_allocator!(
    #[global_allocator]
    static ALLOC = "specs/web.toml"
);

fn main() -> ExitCode {
    web_service::run("an allocator from specs/web.toml", || Some(Web::stats().to_string()))
}
