//! Atomics, cells and the lock, for all other files.
//!
//! Models (tests under `--cfg loom`) run the same code on loom's, which tries every order of
//! events that the memory model allows.

#[cfg_attr(all(test, loom), allow(dead_code, reason = "modelled by itself; others use loom's"))]
mod mutex;
#[cfg_attr(all(test, loom), allow(dead_code, reason = "models number threads themselves"))]
mod thread;

#[cfg(all(test, loom))]
pub(crate) mod modelled;
#[cfg(all(test, loom))]
mod models;

#[cfg(all(test, loom))]
pub(crate) use modelled::{
    AtomicBool, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Mutex, UnsafeCell,
};
#[cfg(all(test, loom))]
use modelled::{futex_wait, futex_wake_one, this_thread};

#[cfg(not(all(test, loom)))]
pub(crate) use core::{
    cell::UnsafeCell,
    sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, AtomicUsize},
};
#[cfg(not(all(test, loom)))]
pub(crate) use mutex::Mutex;
#[cfg(not(all(test, loom)))]
use {
    crate::os::{futex_wait, futex_wake_one},
    thread::this_thread,
};

pub(crate) use core::sync::atomic::Ordering;
pub(crate) use thread::forked;
