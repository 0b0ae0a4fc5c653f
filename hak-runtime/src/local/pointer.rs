//! One pointer in each thread, to all that the thread has: the head of that is a [`Here`].
//!
//! The pointer is a variable of the initial-exec kind, `hak_here`: its distance from the thread
//! pointer is fixed when the library is loaded, so it is read in two instructions and without a
//! call. The room for such variables in libraries that are loaded late is small, and eight bytes is
//! all that is taken of it. The compiler has no stable way to ask for such a variable, hence the
//! assembly; [`define_here`](crate::define_here) defines it.
//!
//! # Rules
//!
//! 1. The pointer starts at a `Here` that is [`Stage::Fresh`], and is never null. From there it
//!    goes to one of the thread's own, then to one that is [`Stage::Gone`]; or to that at once,
//!    when the thread can have none.
//! 2. What is fresh or gone is shared by all such threads: nobody writes to it.

use core::cell::Cell;
use core::ptr::NonNull;

use crate::os;

#[cfg(not(target_arch = "x86_64"))]
compile_error!("the C interface supports x86-64: `hak_here` is read and written in assembly");

/// In which part of its life a thread is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// It has not come by.
    Fresh,
    /// It has memory of its own.
    Own,
    /// It has, and is giving it up.
    Ending,
    /// It has no memory any more, or got none.
    Gone,
}

/// The head of what a thread has.
#[repr(C)]
pub struct Here {
    /// What the thread has when it is gone.
    gone: *const Here,
    /// What is done with this when the thread has left it.
    leave: unsafe fn(NonNull<u8>),
    /// The thread's number; 0 until it is asked for.
    number: Cell<u32>,
    stage: Cell<Stage>,
}

impl Here {
    /// Of a thread that has not come by.
    #[must_use]
    pub const fn fresh() -> Here {
        Here::new(Stage::Fresh, core::ptr::null(), keep)
    }

    /// Of a thread that has no memory of its own any more.
    #[must_use]
    pub const fn gone() -> Here {
        Here::new(Stage::Gone, core::ptr::null(), keep)
    }

    const fn new(stage: Stage, gone: *const Here, leave: unsafe fn(NonNull<u8>)) -> Here {
        Here { gone, leave, number: Cell::new(0), stage: Cell::new(stage) }
    }

    /// Of a thread's own memory; `gone` is what comes after it, and `leave` is called with it when
    /// the thread has left it.
    pub(crate) const fn own(gone: *const Here, leave: unsafe fn(NonNull<u8>)) -> Here {
        Here::new(Stage::Own, gone, leave)
    }
}

/// What is shared stays.
///
/// # Safety
///
/// There is nothing to keep to.
unsafe fn keep(_: NonNull<u8>) {}

/// Defines the pointer, which starts at a static.
#[doc(hidden)]
#[macro_export]
macro_rules! define_here {
    ($fresh:path) => {
        ::core::arch::global_asm!(
            ".pushsection .tdata.hak_here,\"awT\",@progbits",
            ".p2align 3",
            ".globl hak_here",
            ".hidden hak_here",
            ".size hak_here, 8",
            "hak_here:",
            ".quad {fresh}",
            ".popsection",
            fresh = sym $fresh
        );
    };
}

/// The head of what this thread has.
#[inline(always)]
#[must_use]
pub fn here() -> *const Here {
    let here: *const Here;
    // SAFETY: the variable is there in every thread, and nothing but it and its distance is read.
    unsafe {
        core::arch::asm!(
            "mov {here}, qword ptr [rip + hak_here@GOTTPOFF]",
            "mov {here}, qword ptr fs:[{here}]",
            here = out(reg) here,
            options(pure, readonly, nostack, preserves_flags)
        );
    }
    here
}

/// Sets what this thread has.
///
/// # Safety
///
/// It begins with a `Here`, and is the thread's own, or shared by those that are gone. Nobody uses
/// what the thread had before.
pub(crate) unsafe fn set_here(here: *const Here) {
    // SAFETY: the variable is this thread's.
    unsafe {
        core::arch::asm!(
            "mov {way}, qword ptr [rip + hak_here@GOTTPOFF]",
            "mov qword ptr fs:[{way}], {here}",
            way = out(reg) _,
            here = in(reg) here,
            options(nostack, preserves_flags)
        );
    }
}

/// The same as a reference, for the functions below: none of them keeps it.
fn head() -> &'static Here {
    // SAFETY: the pointer is never null (rule 1), and what it points to lives while it does.
    unsafe { &*here() }
}

/// In which part of its life this thread is.
pub(crate) fn stage() -> Stage {
    head().stage.get()
}

/// The kernel's number of this thread.
#[inline]
pub(crate) fn number() -> u32 {
    let head = head();
    match head.number.get() {
        0 => ask_number(head),
        known => known,
    }
}

#[cold]
fn ask_number(head: &Here) -> u32 {
    let number = os::thread_number();
    // Nobody writes to what is shared (rule 2).
    if let Stage::Own | Stage::Ending = head.stage.get() {
        head.number.set(number);
    }
    number
}

/// Forgets the number: a forked child's is another one than its parent's.
pub(crate) fn forget_number() {
    let head = head();
    if head.number.get() != 0 {
        head.number.set(0);
    }
}

/// A number that no other living thread has, and that the thread keeps in a forked child.
pub(crate) fn id() -> usize {
    let id: usize;
    // SAFETY: as in `here`; the first word of a thread's block is the address of that block.
    unsafe {
        core::arch::asm!(
            "mov {id}, qword ptr fs:[0]",
            "add {id}, qword ptr [rip + hak_here@GOTTPOFF]",
            id = out(reg) id,
            options(pure, readonly, nostack)
        );
    }
    id
}

/// Whether [`begin_ending`] was called in this thread, or it has ended.
pub(crate) fn is_ending() -> bool {
    matches!(stage(), Stage::Ending | Stage::Gone)
}

/// From here on this thread begins nothing that would have to be ended.
pub(crate) fn begin_ending() {
    let head = head();
    if head.stage.get() == Stage::Own {
        head.stage.set(Stage::Ending);
    }
}

/// Leaves what this thread has: it is gone.
pub(crate) fn leave() {
    let head = head();
    if head.stage.get() != Stage::Ending {
        return;
    }
    let Here { gone, leave, .. } = *head;
    let memory = NonNull::from(head).cast();
    // SAFETY: it is what all threads that are gone share.
    unsafe { set_here(gone) };
    // SAFETY: the thread has left it.
    unsafe { leave(memory) };
}
