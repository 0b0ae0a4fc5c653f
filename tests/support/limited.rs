//! A process that is started with little address space, as batch systems and containers do it.

use std::env;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::Duration;

use crate::child;
use crate::system::limit_address_space;

const TIMEOUT: Duration = Duration::from_secs(60);

/// Says to a process that it was started with the limit.
const IS_LIMITED: &str = "HAK_ADDRESS_SPACE_IS_LIMITED";

/// Runs the body of `test` in a process of its own that was started with so much address space.
pub(crate) fn run(limit: usize, test: &str, body: impl FnOnce()) {
    child::run(test, TIMEOUT, || {
        if env::var_os(IS_LIMITED).is_some() {
            return body();
        }
        // The limit stays when a program is executed.
        limit_address_space(limit);
        let mut again = Command::new(env::current_exe().unwrap());
        let error = again.args(env::args_os().skip(1)).env(IS_LIMITED, "1").exec();
        panic!("{error}");
    });
}
