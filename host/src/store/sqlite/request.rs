//! What is asked of the thread of an SQLite file, and how its outcome is told.

use rusqlite::{Transaction, ffi};
use tokio::sync::oneshot;

use crate::database::reason;
use crate::store::{Durability, StoreError};

/// Work in a transaction.
pub(super) struct Request {
    /// `None`: it only reads.
    pub(super) writes: Option<Durability>,
    pub(super) work: Work,
}

/// Does the work, or is told why it cannot be done. What it returns tells the outcome to who waits for it, once it is
/// known whether the transaction is kept.
pub(super) type Work = Box<dyn FnOnce(Result<&Transaction<'_>, &StoreError>) -> Option<Worked> + Send>;
pub(super) type Tell = Box<dyn FnOnce(Option<&StoreError>) + Send>;

/// Work that was done, or why it failed.
pub(super) struct Worked {
    pub(super) tell: Tell,
    pub(super) failed: Option<ffi::Error>,
}

impl Request {
    /// And who is told the outcome.
    pub(super) fn new<R: Send + 'static>(
        writes: Option<Durability>,
        work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<R> + Send + 'static,
    ) -> (Self, oneshot::Receiver<Result<R, StoreError>>) {
        let (sender, outcome) = oneshot::channel();
        let work: Work = Box::new(move |transaction| {
            // An error of sending means that nobody waits any more.
            match transaction {
                Ok(transaction) => {
                    let done = work(transaction);
                    let why = done.as_ref().err().and_then(|error| error.sqlite_error()).copied();
                    let tell: Tell = Box::new(move |error| {
                        let done = done.map_err(failed);
                        let _ = sender.send(error.map_or(done, |error| Err(error.clone())));
                    });
                    Some(Worked { tell, failed: why })
                }
                Err(error) => {
                    let _ = sender.send(Err(error.clone()));
                    None
                }
            }
        });
        (Self { writes, work }, outcome)
    }
}

pub(super) fn failed(error: rusqlite::Error) -> StoreError {
    StoreError(reason(&error))
}
