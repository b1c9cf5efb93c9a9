//! What threads and tasks wait for each other with.
//!
//! The files that decide who waits for whom take it from here: the tests in `tests/models` build
//! the same files with `shuttle` in its place, and try the orders in which threads can come.

pub(crate) use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
pub(crate) use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
pub(crate) use std::{thread, thread_local};

pub(crate) use tokio::sync::Notify;
