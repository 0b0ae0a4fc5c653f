//! Large requests, those that no class serves: spans, or mappings of their own.

use core::ptr::NonNull;

use crate::account::Account;
use crate::fault::Fault;
use crate::huge::Huge;
use crate::misuse::{Block, Found, Request, double_free, other_layout};
use crate::os;
use crate::span::{self, Misfit, SPAN_BYTES_MAX, Want};
use crate::superslab::UNIT_BYTES;

/// How requests above all classes are served: [`Large`], or with checks.
pub trait Larges: Sync + 'static {
    /// Memory for a request; `None` when the system has none, or the account is at its limit.
    fn alloc(&self, request: Request, want: Want, account: &Account) -> Option<NonNull<u8>>;

    /// Takes it back. A misuse that is seen ends the process; `small` finds the small block of the
    /// same heap that an address lies in.
    ///
    /// # Safety
    ///
    /// `start` came from here for this request and account, and no one uses it after this call.
    unsafe fn dealloc(
        &self,
        start: NonNull<u8>,
        request: Request,
        account: &Account,
        small: impl FnOnce(NonNull<u8>) -> Option<Block>,
    );

    /// Resizes a block where it is, or by moving it to where it may grow on: its new place, or
    /// `None`, which leaves it as it was. Misuse is as for [`Larges::dealloc`].
    ///
    /// # Safety
    ///
    /// 1. `start` came from here for this request and account.
    /// 2. Unless the result is `None`, no one uses the old memory, or what is beyond the new size,
    ///    after this call.
    unsafe fn resize(
        &self,
        start: NonNull<u8>,
        request: Request,
        new_bytes: usize,
        account: &Account,
        small: impl FnOnce(NonNull<u8>) -> Option<Block>,
    ) -> Option<NonNull<u8>>;

    /// Ends the process if a block is not what a request got, or was written past its end.
    ///
    /// # Safety
    ///
    /// As for [`Larges::dealloc`], but that the block stays the caller's.
    unsafe fn inspect(
        &self,
        start: NonNull<u8>,
        request: Request,
        account: &Account,
        small: impl FnOnce(NonNull<u8>) -> Option<Block>,
    );

    /// Takes back nothing, which no request got: ends the process if that is looked for.
    fn null(&self, _account: &Account) {}

    /// What is known of an address, if a record is kept.
    fn find(&self, address: NonNull<u8>) -> Found;

    /// Bytes charged for what is freed and not returned to the system.
    fn kept_bytes(&self) -> usize;

    /// Returns what is freed to the system.
    fn trim(&self, account: &Account);

    /// The same, if nothing of it came or went since the last call.
    fn trim_idle(&self, account: &Account);

    /// Takes the locks for a fork.
    fn before_fork(&self);

    /// Releases them again.
    ///
    /// # Safety
    ///
    /// Follows [`Larges::before_fork`] in the same thread, or its copy in the child.
    unsafe fn after_fork(&self);
}

/// Large requests without checks. A request of no bytes gets one that is never touched.
pub struct Large {
    /// Requests up to this size become spans.
    spans_to: usize,
    huge: Huge,
}

impl Large {
    /// Spans up to `spans_to` bytes, then mappings, of which `keep` bytes are kept when freed.
    #[must_use]
    pub const fn new(spans_to: usize, keep: usize) -> Self {
        assert!(spans_to <= SPAN_BYTES_MAX, "a span is at most half a superslab");
        Large { spans_to, huge: Huge::new(keep) }
    }

    /// Whether a request becomes a span: it is short enough, and units are aligned enough.
    pub(crate) fn is_span(&self, request: Request) -> bool {
        request.bytes.max(1) <= self.spans_to && request.align <= UNIT_BYTES
    }

    /// Bytes that a request is charged; `None` when they overflow.
    pub(crate) fn charged(&self, request: Request) -> Option<usize> {
        let bytes = request.bytes.max(1);
        if self.is_span(request) {
            Some(bytes.next_multiple_of(UNIT_BYTES))
        } else {
            os::whole_pages(bytes)
        }
    }

    /// Ends the process if an address, for what it costs to see that, cannot be the start of what
    /// a request got.
    #[inline]
    fn check_start(&self, start: NonNull<u8>, request: Request, account: &Account) {
        let grain =
            if self.is_span(request) { UNIT_BYTES } else { os::page_bytes().max(request.align) };
        if start.addr().get() & (grain - 1) != 0 {
            misfit(start, request, Misfit::NoStart, account);
        }
    }
}

/// Ends the process for a span, or mapping, that is none.
#[cold]
fn misfit(start: NonNull<u8>, request: Request, misfit: Misfit, account: &Account) -> ! {
    account.die_of(match misfit {
        Misfit::NoStart => Fault::Foreign { address: start.addr().get() },
        Misfit::Free => double_free(Block { start, bytes: request.bytes }),
        Misfit::Shorter(bytes) => other_layout(Block { start, bytes }, request),
    })
}

impl Larges for Large {
    #[inline]
    fn alloc(&self, request: Request, want: Want, account: &Account) -> Option<NonNull<u8>> {
        let bytes = request.bytes.max(1);
        if !self.is_span(request) {
            return self.huge.alloc(bytes, request.align, want == Want::Zeros, account);
        }
        let (start, clean) = span::alloc(bytes, want, account)?;
        if want == Want::Zeros && !clean {
            // SAFETY: the span has at least `bytes`, and is ours.
            unsafe { start.write_bytes(0, bytes) };
        }
        Some(start)
    }

    unsafe fn dealloc(
        &self,
        start: NonNull<u8>,
        request: Request,
        account: &Account,
        _: impl FnOnce(NonNull<u8>) -> Option<Block>,
    ) {
        let bytes = request.bytes.max(1);
        self.check_start(start, request, account);
        if !self.is_span(request) {
            // SAFETY: by this function's contract.
            unsafe { self.huge.free(start, bytes, account) };
        // SAFETY: by this function's contract.
        } else if let Err(wrong) = unsafe { span::free(start, bytes, account) } {
            misfit(start, request, wrong, account);
        }
    }

    unsafe fn resize(
        &self,
        start: NonNull<u8>,
        request: Request,
        new_bytes: usize,
        account: &Account,
        _: impl FnOnce(NonNull<u8>) -> Option<Block>,
    ) -> Option<NonNull<u8>> {
        let align = request.align;
        let new = Request { bytes: new_bytes, align };
        let (old_bytes, new_bytes) = (request.bytes.max(1), new_bytes.max(1));
        self.check_start(start, request, account);
        match (self.is_span(request), self.is_span(new)) {
            (true, true) => {
                // SAFETY: by (1) and (2).
                let resized = unsafe { span::resize(start, old_bytes, new_bytes, account) };
                if resized.unwrap_or_else(|wrong| misfit(start, request, wrong, account)) {
                    return Some(start);
                }
                // SAFETY: as above, and what cannot be resized was to grow.
                unsafe { span::grow_elsewhere(start, old_bytes, new_bytes, account) }
            }
            (false, false) => {
                // SAFETY: by (1) and (2).
                unsafe { self.huge.resize(start, old_bytes, new_bytes, align, account) }
            }
            _ => None,
        }
    }

    unsafe fn inspect(
        &self,
        start: NonNull<u8>,
        request: Request,
        account: &Account,
        _: impl FnOnce(NonNull<u8>) -> Option<Block>,
    ) {
        self.check_start(start, request, account);
    }

    fn find(&self, _: NonNull<u8>) -> Found {
        Found::Nowhere
    }

    fn kept_bytes(&self) -> usize {
        self.huge.kept_bytes()
    }

    fn trim(&self, account: &Account) {
        self.huge.trim(account);
    }

    fn trim_idle(&self, account: &Account) {
        self.huge.trim_idle(account);
    }

    fn before_fork(&self) {
        self.huge.before_fork();
    }

    unsafe fn after_fork(&self) {
        // SAFETY: by this function's contract.
        unsafe { self.huge.after_fork() };
    }
}
