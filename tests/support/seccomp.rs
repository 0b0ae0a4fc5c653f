//! System calls that the kernel answers otherwise, for a thread and the threads it starts.

use std::io;
use std::thread;

use libc::{sock_filter, sock_fprog};

/// What becomes of a system call.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Answer {
    /// It is done.
    Done,
    /// It is not done, and returns this error; 0 is success.
    Error(u32),
}

impl Answer {
    fn code(self) -> u32 {
        match self {
            Answer::Done => libc::SECCOMP_RET_ALLOW,
            Answer::Error(errno) => libc::SECCOMP_RET_ERRNO | errno,
        }
    }
}

/// Runs `body` in a thread for which `calls` have the answer `theirs`, and all others `rest`.
pub(crate) fn run<T: Send>(
    calls: &[libc::c_long],
    theirs: Answer,
    rest: Answer,
    body: impl FnOnce() -> T + Send,
) -> T {
    let program = program(calls, theirs, rest);
    let filtered = || {
        install(&program);
        body()
    };
    let result = thread::scope(|scope| scope.spawn(filtered).join());
    result.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Loads the call's number; a match jumps over the other tests to the last line.
fn program(calls: &[libc::c_long], theirs: Answer, rest: Answer) -> Vec<sock_filter> {
    const LOAD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
    const JUMP_IF: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
    const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;
    let number = std::mem::offset_of!(libc::seccomp_data, nr) as u32;
    let line = |code, jt, k| sock_filter { code, jt, jf: 0, k };
    let mut program = vec![line(LOAD, 0, number)];
    for (nth, &call) in calls.iter().enumerate() {
        let jump = u8::try_from(calls.len() - nth).unwrap();
        program.push(line(JUMP_IF, jump, u32::try_from(call).unwrap()));
    }
    program.push(line(RETURN, 0, rest.code()));
    program.push(line(RETURN, 0, theirs.code()));
    program
}

fn install(program: &[sock_filter]) {
    let program = sock_fprog {
        len: u16::try_from(program.len()).unwrap(),
        filter: program.as_ptr().cast_mut(),
    };
    // SAFETY: a system call that touches no memory.
    let result = unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) };
    assert_eq!(result, 0, "{}", io::Error::last_os_error());
    let mode = libc::SECCOMP_MODE_FILTER;
    // SAFETY: the program outlives the call.
    let result = unsafe { libc::prctl(libc::PR_SET_SECCOMP, mode, &raw const program) };
    assert_eq!(result, 0, "{}", io::Error::last_os_error());
}
