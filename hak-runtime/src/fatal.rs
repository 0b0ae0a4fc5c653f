//! The last words: one line on the error stream, then `SIGABRT`.
//!
//! A message is put together on the stack and written with one `write`, so that no allocation,
//! lock or panic can get in its way.

use core::fmt::{self, Write};

use crate::os;

/// Longest message; what is beyond it is cut.
const MESSAGE_BYTES_MAX: usize = 240;

struct Message {
    text: [u8; MESSAGE_BYTES_MAX],
    len: usize,
}

impl Write for Message {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        let room = &mut self.text[self.len..];
        let fits = part.len().min(room.len());
        room[..fits].copy_from_slice(&part.as_bytes()[..fits]);
        self.len += fits;
        Ok(())
    }
}

/// Writes `hak: ALLOCATOR: WHAT` and aborts.
#[cold]
pub(crate) fn die(allocator: &str, what: fmt::Arguments<'_>) -> ! {
    let mut message = Message { text: [0; MESSAGE_BYTES_MAX], len: 0 };
    // `write_str` above never fails.
    let _ = writeln!(message, "hak: {allocator}: {what}");
    os::write_error(&message.text[..message.len]);
    os::abort()
}
