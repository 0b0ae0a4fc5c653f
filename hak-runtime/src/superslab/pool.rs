//! The pool of superslabs: which have room, by the length of it, and which wait for a purge.

use core::ptr::{self, NonNull};

use super::runs::{first_run, longest_run, run_mask};
use super::{Claim, ROOM, Run, SUPERSLAB_BYTES, Shared, Superslab, UNITS, all, mapped_bytes};
use crate::account::{Account, Purge, PurgeHow};
use crate::os;
use crate::sync::{AtomicU64, Mutex, Ordering};

/// Superslabs by the length of their longest free run, and those that wait to be purged.
pub(super) struct Units {
    pub(super) by_run: [*mut Superslab; UNITS],
    /// Bit `n` is set when `by_run[n]` is not empty.
    pub(super) occupied: u32,
    pub(super) first_waiting: *mut Superslab,
    last_waiting: *mut Superslab,
    /// Superslabs of which units are reserved.
    pub(super) reserves: usize,
    /// Who wants to see each superslab.
    watchers: [Option<See>; 2],
}

/// A function that sees a superslab.
type See = fn(NonNull<u8>);

/// Who may want to see each superslab before anything in it is handed out.
#[derive(Clone, Copy)]
pub(crate) enum Watcher {
    /// The map of the address space.
    AddressMap,
    /// Who guards headers.
    Guard,
}

/// When the next superslab is due, as far as is known: [`NEVER`] when none waits.
pub(super) static NEXT_DUE_MS: AtomicU64 = AtomicU64::new(NEVER);
pub(super) const NEVER: u64 = u64::MAX;

// SAFETY: superslabs belong to no thread; the lists are used only under the lock.
unsafe impl Send for Units {}

pub(super) static UNITS_POOL: Mutex<Units> = Mutex::new(Units {
    by_run: [ptr::null_mut(); UNITS],
    occupied: 0,
    first_waiting: ptr::null_mut(),
    last_waiting: ptr::null_mut(),
    reserves: 0,
    watchers: [None; 2],
});

/// Lets a watcher see all superslabs there are and will be, each once. It is called under the units
/// lock.
pub(crate) fn watch(watcher: Watcher, see: See) {
    let mut pool = UNITS_POOL.lock();
    let place = &mut pool.watchers[watcher as usize];
    if place.is_none() {
        *place = Some(see);
        all().for_each(|superslab| see(superslab.cast()));
    }
}

/// Takes the units lock for a fork.
pub(crate) fn before_fork() {
    UNITS_POOL.before_fork();
}

/// Releases it again.
///
/// # Safety
///
/// Follows [`before_fork`] in the same thread, or its copy in the child.
pub(crate) unsafe fn after_fork() {
    // SAFETY: by this function's contract.
    unsafe { UNITS_POOL.after_fork() };
}

/// Makes units free that were claimed by threads which a forked child does not have.
///
/// # Safety
///
/// The caller is between [`before_fork`] and [`after_fork`], in the child.
pub(crate) unsafe fn unclaim() {
    let Some(mut pool) = UNITS_POOL.value_for_fork() else { return };
    // SAFETY: by this function's contract the lock is held for the fork.
    let pool = unsafe { pool.as_mut() };
    for superslab in all() {
        // SAFETY: the lock is held.
        let claimed = unsafe { Superslab::shared(superslab) }.claimed;
        if claimed != 0 {
            pool.set_free(superslab, claimed, false);
        }
    }
}

/// What a free says about purging.
#[derive(Clone, Copy)]
pub(super) struct Due {
    now_ms: u64,
    delay_ms: u64,
    lazily: bool,
}

impl Due {
    pub(super) fn of(account: &Account) -> Option<Due> {
        match account.terms.purge {
            Purge::Never => None,
            Purge::After { milliseconds, how, .. } => Some(Due {
                now_ms: os::now_ms(),
                delay_ms: milliseconds,
                lazily: how == PurgeHow::Free,
            }),
        }
    }
}

impl Units {
    /// A superslab with a free run of so many units, and of few more.
    pub(super) fn with_run(&self, units: u32) -> Option<NonNull<Superslab>> {
        match self.occupied & (u32::MAX << units) {
            0 => None,
            fitting => NonNull::new(self.by_run[fitting.trailing_zeros() as usize]),
        }
    }

    /// Whether one more superslab may have a reserve. Those with a short run and a reserve fill
    /// the address space with little in use, so they are few, or few of all.
    pub(super) fn may_reserve(&self) -> bool {
        /// So many may always have one.
        const ALWAYS: usize = 64;
        /// Of more superslabs one in so many.
        const ONE_IN: usize = 4;
        self.reserves < ALWAYS.max(mapped_bytes() / SUPERSLAB_BYTES / ONE_IN)
    }

    /// A superslab with room for a run that grows; of few that have it the one with the least
    /// besides.
    pub(super) fn with_room(&self) -> Option<NonNull<Superslab>> {
        let runs = (ROOM.count_ones()..u32::BITS).filter(|&run| self.occupied & (1 << run) != 0);
        let mut first_of_each = runs.filter_map(|run| NonNull::new(self.by_run[run as usize]));
        // SAFETY: `self` is only reached under the lock.
        first_of_each.find(|this| unsafe { Superslab::shared(*this) }.open() & ROOM == ROOM)
    }

    /// A new superslab, in no list by run yet.
    pub(super) fn map(&self, account: &Account) -> Option<NonNull<Superslab>> {
        let superslab = Superslab::map(account)?;
        self.watchers.iter().flatten().for_each(|see| see(superslab.cast()));
        Some(superslab)
    }

    /// Takes the lowest run of so many units, which the superslab has.
    pub(super) fn take(&mut self, superslab: NonNull<Superslab>, units: u32) -> Run {
        // SAFETY: `self` is only reached under the lock.
        let first = first_run(unsafe { Superslab::shared(superslab) }.open(), units);
        self.take_at(superslab, first, units, 0)
    }

    /// Takes the first units of the room for a run that grows, which is free, and reserves the
    /// others for them.
    pub(super) fn take_with_room(&mut self, superslab: NonNull<Superslab>, units: u32) -> Run {
        self.take_at(superslab, ROOM.trailing_zeros(), units, ROOM)
    }

    /// Takes units that are free, and reserves others besides.
    fn take_at(
        &mut self,
        superslab: NonNull<Superslab>,
        first: u32,
        units: u32,
        reserve: u32,
    ) -> Run {
        self.unlink(superslab);
        // SAFETY: `self` is only reached under the lock.
        let shared = unsafe { Superslab::shared(superslab) };
        let mask = run_mask(first, units);
        let clean = shared.clean & mask == mask;
        shared.free &= !mask;
        shared.clean &= !mask;
        shared.offered &= !mask;
        self.reserve(shared, shared.reserved | (reserve & !mask));
        Superslab::set_heads(superslab, first..first + units, first);
        self.link(superslab);
        Run { superslab, first, clean }
    }

    /// Reserves these units, and no others.
    pub(super) fn reserve(&mut self, shared: &mut Shared, units: u32) {
        self.reserves -= usize::from(shared.reserved != 0);
        self.reserves += usize::from(units != 0);
        shared.reserved = units;
    }

    /// Ends the reserve of a superslab; whether it had one.
    pub(super) fn end_reserve(&mut self, superslab: NonNull<Superslab>) -> bool {
        // SAFETY: `self` is only reached under the lock.
        if unsafe { Superslab::shared(superslab) }.reserved == 0 {
            return false;
        }
        self.unlink(superslab);
        // SAFETY: as above; the reference from there has ended.
        self.reserve(unsafe { Superslab::shared(superslab) }, 0);
        self.link(superslab);
        true
    }

    /// Ends all reserves; whether there were some.
    #[cold]
    pub(super) fn give_up_reserves(&mut self) -> bool {
        all().filter(|superslab| self.end_reserve(*superslab)).count() > 0
    }

    /// Whether units of some superslab are claimed.
    #[cold]
    #[expect(clippy::unused_self, reason = "it stands for the lock")]
    pub(super) fn has_claimed(&self) -> bool {
        // SAFETY: `self` is only reached under the lock.
        all().any(|superslab| unsafe { Superslab::shared(superslab) }.claimed != 0)
    }

    /// Makes units free, and clean if they are zero.
    pub(super) fn set_free(&mut self, superslab: NonNull<Superslab>, units: u32, zeroed: bool) {
        self.unlink(superslab);
        // SAFETY: `self` is only reached under the lock.
        let shared = unsafe { Superslab::shared(superslab) };
        shared.free |= units;
        shared.claimed &= !units;
        if zeroed {
            shared.clean |= units;
        }
        self.link(superslab);
    }

    /// Claims a superslab's dirty units, if it has any (rule 4). To have them back for sure, those
    /// that were only offered to the system are claimed, too.
    pub(super) fn claim(&mut self, superslab: NonNull<Superslab>, lazily: bool) -> Option<Claim> {
        // SAFETY: `self` is only reached under the lock.
        let shared = unsafe { Superslab::shared(superslab) };
        let units = if lazily { shared.dirty() } else { shared.free & !shared.clean };
        if units == 0 {
            return None;
        }
        self.unlink(superslab);
        // SAFETY: as above; the reference from there has ended.
        let shared = unsafe { Superslab::shared(superslab) };
        shared.free &= !units;
        shared.offered &= !units;
        shared.claimed |= units;
        self.link(superslab);
        Some(Claim { superslab, units, lazily })
    }

    /// Lets a superslab wait for its purge. One that waits already keeps its place, and waits anew
    /// for what was freed last, but not for ever.
    pub(super) fn wait(&mut self, superslab: NonNull<Superslab>, due: Option<Due>) {
        /// Delays after which a superslab is purged, even if units in it keep being freed.
        const DELAYS_MAX: u64 = 4;
        let Some(Due { now_ms, delay_ms, lazily }) = due else { return };
        // SAFETY: `self` is only reached under the lock.
        let shared = unsafe { Superslab::shared(superslab) };
        if !shared.is_waiting {
            shared.since_ms = now_ms;
        }
        let latest = shared.since_ms.saturating_add(delay_ms.saturating_mul(DELAYS_MAX));
        shared.due_ms = latest.min(now_ms.saturating_add(delay_ms));
        shared.lazily = lazily;
        NEXT_DUE_MS.fetch_min(shared.due_ms, Ordering::Relaxed);
        if !shared.is_waiting {
            self.wait_on(superslab);
        }
    }

    /// Puts a superslab behind those that wait.
    pub(super) fn wait_on(&mut self, superslab: NonNull<Superslab>) {
        // SAFETY: `self` is only reached under the lock.
        let shared = unsafe { Superslab::shared(superslab) };
        (shared.is_waiting, shared.next_waiting) = (true, ptr::null_mut());
        match NonNull::new(self.last_waiting) {
            // SAFETY: the lock is held, and `last` is another superslab than this one.
            Some(last) => unsafe { Superslab::shared(last) }.next_waiting = superslab.as_ptr(),
            None => self.first_waiting = superslab.as_ptr(),
        }
        self.last_waiting = superslab.as_ptr();
    }

    /// Takes the first superslab out of those that wait.
    pub(super) fn end_wait(&mut self, first: NonNull<Superslab>) {
        // SAFETY: `self` is only reached under the lock.
        let shared = unsafe { Superslab::shared(first) };
        shared.is_waiting = false;
        self.first_waiting = shared.next_waiting;
        if self.first_waiting.is_null() {
            self.last_waiting = ptr::null_mut();
        }
    }

    /// Enters a superslab into the list of its longest free run; a full one into none.
    pub(super) fn link(&mut self, superslab: NonNull<Superslab>) {
        // SAFETY: `self` is only reached under the lock.
        let shared = unsafe { Superslab::shared(superslab) };
        let run = longest_run(shared.open());
        if run == 0 {
            return;
        }
        let first = &mut self.by_run[run as usize];
        shared.previous = ptr::null_mut();
        shared.next = *first;
        if let Some(next) = NonNull::new(*first) {
            // SAFETY: the lock is held, and `next` is another superslab than this one.
            unsafe { Superslab::shared(next) }.previous = superslab.as_ptr();
        }
        *first = superslab.as_ptr();
        self.occupied |= 1 << run;
    }

    /// Takes a superslab out of the list it is in, if it is in one.
    pub(super) fn unlink(&mut self, superslab: NonNull<Superslab>) {
        // SAFETY: `self` is only reached under the lock.
        let shared = unsafe { Superslab::shared(superslab) };
        let run = longest_run(shared.open()) as usize;
        let (next, previous) = (shared.next, shared.previous);
        if previous.is_null() && self.by_run[run] != superslab.as_ptr() {
            return;
        }
        (shared.next, shared.previous) = (ptr::null_mut(), ptr::null_mut());
        if let Some(next) = NonNull::new(next) {
            // SAFETY: the lock is held, and `next` is another superslab than this one.
            unsafe { Superslab::shared(next) }.previous = previous;
        }
        match NonNull::new(previous) {
            // SAFETY: the lock is held, and `previous` is another superslab than this one.
            Some(previous) => unsafe { Superslab::shared(previous) }.next = next,
            None => self.by_run[run] = next,
        }
        if self.by_run[run].is_null() {
            self.occupied &= !(1 << run);
        }
    }
}
