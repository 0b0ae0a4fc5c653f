//! Forked children that are bounded in time, and whose ends are checked.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Seconds after which a child that hangs is ended by the system.
const PATIENCE_SECONDS: u32 = 10;

/// A child that runs.
pub(crate) struct Forked(libc::pid_t);

impl Forked {
    /// Forks; the child does `work` and ends with status 0, or with 1 if that panics.
    pub(crate) fn new(work: impl FnOnce()) -> Forked {
        // SAFETY: the child is a copy of this thread. It uses the allocators and starts threads,
        // which is what is tested, and ends without returning from here.
        match unsafe { libc::fork() } {
            -1 => panic!("no child: {}", std::io::Error::last_os_error()),
            0 => run_and_exit(work),
            pid => Forked(pid),
        }
    }

    /// Waits for the child's end and gives its status, which is 0 if all is well: else it is what
    /// `waitpid` tells.
    pub(crate) fn join(self) -> libc::c_int {
        let mut status = 0;
        // SAFETY: the status is writable. Interrupted waits are repeated.
        while unsafe { libc::waitpid(self.0, &raw mut status, 0) } != self.0 {}
        status
    }

    /// Waits, and fails unless all is well.
    pub(crate) fn assert_ends_well(self) {
        let status = self.join();
        let late = status == libc::SIGALRM;
        assert_eq!(status, 0, "status of a child{}", if late { " that hung" } else { "" });
    }
}

fn run_and_exit(work: impl FnOnce()) -> ! {
    // SAFETY: these touch no memory.
    unsafe { libc::alarm(PATIENCE_SECONDS) };
    let status = i32::from(catch_unwind(AssertUnwindSafe(work)).is_err());
    // SAFETY: ends the process at once.
    unsafe { libc::_exit(status) }
}
