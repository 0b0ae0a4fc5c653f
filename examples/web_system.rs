//! The web service of `web.rs` on the system allocator: the yardstick for speed and memory.

use std::process::ExitCode;

mod web_service;

fn main() -> ExitCode {
    web_service::run("the system allocator", || None)
}
