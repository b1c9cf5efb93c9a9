//! Synchronization primitives.
//!
//! Files with concurrent algorithms import them from here: `tests/models` builds the same files with
//! `shuttle` in their place, to test the possible interleavings of threads.

pub(crate) use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
pub(crate) use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
pub(crate) use std::{thread, thread_local};

pub(crate) use tokio::sync::Notify;

/// Locks it, also after a panic of an earlier holder: no lock guards a change that can panic halfway.
pub(crate) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
