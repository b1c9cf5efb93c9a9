//! Decisions on calls: what waits for an operator, what was decided, and which answers of users were used.
//!
//! Shared by servers and commands: a file in the state folder, or an entry of the store for all nodes. Without either it
//! is in memory: no command can decide then.

mod state;

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::os::private::Durability;
use crate::random_id::random_id;
use crate::shared_state::{SharedState, parsed};
use crate::store::{Document, Entry, Marked};
use crate::sync::lock;

pub use state::{Bound, Decider, Decision, Deed, Request, Standing, Wanted};
use state::{Full, State, hash};

/// The entry of a store for several nodes; marks of used answers are below it.
pub const KEY: &str = "approvals";
/// More than the largest state takes.
const MAX_SIZE: u64 = 16 << 20;

/// Answers that were used, of one caller and in all, that nodes keep.
const MAX_SHARED_SPENT: (u64, u64) = (4096, 65_536);
/// For how much longer: the clocks of nodes may differ by that, and an answer is still good for one of them.
const REMEMBERED_LONGER: Duration = Duration::from_hours(24);

/// Why nothing was recorded.
#[derive(Debug, thiserror::Error)]
pub enum ApprovalError {
    /// Of requests, decisions or used answers.
    #[error("there are too many")]
    Full,
    #[error("{0}")]
    Io(#[from] io::Error),
}

impl fmt::Display for Approvals {
    /// Where they are.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.0 {
            Place::Shared(state) => write!(f, "{state}"),
            Place::Memory(_) => f.write_str("this process"),
        }
    }
}

/// Where decisions are kept. Its methods block the calling thread.
#[derive(Clone)]
pub struct Approvals(Arc<Place>);

enum Place {
    Shared(SharedState),
    Memory(Mutex<State>),
}

impl Default for Approvals {
    /// In memory.
    fn default() -> Self {
        Self(Arc::new(Place::Memory(Mutex::default())))
    }
}

impl Approvals {
    pub fn in_folder(folder: PathBuf) -> Self {
        Self::of(SharedState::in_file(folder, "approvals.json", MAX_SIZE, Durability::Synced))
    }

    /// Decisions for all nodes.
    pub fn in_store(document: Document) -> Self {
        Self::of(SharedState::in_store(document))
    }

    fn of(state: SharedState) -> Self {
        Self(Arc::new(Place::Shared(state)))
    }

    /// Whether an operator can decide.
    pub fn are_shared(&self) -> bool {
        matches!(*self.0, Place::Shared(_))
    }

    /// Whether a call may run. What allows one call alone is used up.
    ///
    /// # Errors
    /// If others can write the file, it is damaged, or it cannot be written; or the store cannot be used.
    pub fn take(&self, deed: &Deed, wanted: Wanted) -> Result<Standing, ApprovalError> {
        let now = now();
        // Most calls have no decision of their own, and need not wait for their turn.
        match self.read()?.standing(deed, wanted, now) {
            Standing::Allowed { .. } => self.edit(|state| Ok(state.take(deed, wanted, now))),
            other => Ok(other),
        }
    }

    /// Asks an operator. The same call of the same user is asked about once. `holds`: for how long it waits, and for
    /// how long a decision holds.
    ///
    /// # Errors
    /// As [`Self::take`], and if too many wait.
    pub fn request(&self, deed: Deed, once: bool, holds: Duration) -> Result<Request, ApprovalError> {
        let id = new_id()?;
        self.edit(|state| state.request(id.clone(), deed.clone(), once, holds.as_secs(), now()))
    }

    /// Records that a user allows all calls of a tool for a while.
    ///
    /// # Errors
    /// As [`Self::take`], and if too many are kept.
    pub fn remember(&self, deed: Deed, holds: Duration) -> Result<(), ApprovalError> {
        let id = new_id()?;
        self.edit(|state| state.remember(id.clone(), deed.clone(), holds.as_secs(), now())).map(drop)
    }

    /// Uses an answer, which must not be used again for that long. Whether it was not used before.
    ///
    /// # Errors
    /// As [`Self::take`], and if too many were used: none is forgotten for another.
    pub fn spend(&self, answer: &str, principal: &str, lasts: Duration) -> Result<bool, ApprovalError> {
        let now = now();
        let until = now.saturating_add(lasts.as_secs());
        let document = match &*self.0 {
            Place::Shared(state) => state.document(),
            Place::Memory(_) => None,
        };
        let Some(document) = document else { return self.edit(|state| state.spend(answer, principal, until, now)) };
        let mark = (&*hash(&[principal]), &*hash(&[answer]));
        let marked = document.mark(mark, MAX_SHARED_SPENT, remembered(until));
        match marked.map_err(io::Error::other)? {
            Marked::Now => Ok(true),
            Marked::Before => Ok(false),
            Marked::Full => Err(ApprovalError::Full),
        }
    }

    /// All requests that wait, and decisions that hold, from the oldest.
    ///
    /// # Errors
    /// If others can write the file, or it is damaged.
    pub fn list(&self) -> io::Result<Vec<Request>> {
        Ok(self.read()?.live(now()))
    }

    /// An operator's decision on a request, or another one. `None`: there is none of that id.
    ///
    /// # Errors
    /// As [`Self::take`].
    pub fn decide(&self, id: &str, decision: Decision) -> Result<Option<Request>, ApprovalError> {
        self.decide_as_shown(id, decision, |_| true)
    }

    /// As [`Self::decide`], of a request that is as it was shown to the operator. `None`: there is none such.
    ///
    /// # Errors
    /// As [`Self::take`].
    pub fn decide_as_shown(
        &self,
        id: &str,
        decision: Decision,
        is_as_shown: impl Fn(&Request) -> bool,
    ) -> Result<Option<Request>, ApprovalError> {
        self.edit(|state| {
            let now = now();
            let is_meant = state.find(id, now).is_some_and(&is_as_shown);
            Ok(if is_meant { state.decide(id, decision, now) } else { None })
        })
    }

    /// The entries of a store that these decisions are.
    ///
    /// # Errors
    /// As [`Self::list`].
    pub fn entries(&self) -> io::Result<Vec<Entry>> {
        let state = self.read()?;
        let entry = |key, value, expires| Entry { key, value, version: 0, expires };
        let used = state.used().map(|(caller, answer, until)| {
            entry(format!("{KEY}/{caller}/{answer}"), Vec::new(), Some(remembered(until)))
        });
        let decisions = state.decisions()?.map(|decisions| entry(KEY.to_owned(), decisions, None));
        Ok(used.chain(decisions).collect())
    }

    /// Takes over an entry of a store. `false`: it is none of these.
    ///
    /// # Errors
    /// As [`Self::take`], and if it is damaged.
    pub fn put_entry(&self, key: &str, value: &[u8], expires: Option<u64>) -> Result<bool, ApprovalError> {
        if key == KEY {
            let decisions: State = parsed(value)?;
            return self.edit(|state| {
                state.decide_as(&decisions);
                Ok(true)
            });
        }
        let Some((caller, answer)) = key.strip_prefix(KEY).and_then(|key| key.strip_prefix('/')?.split_once('/'))
        else {
            return Ok(false);
        };
        let until = (expires.unwrap_or(u64::MAX) / 1000).saturating_sub(REMEMBERED_LONGER.as_secs());
        self.edit(|state| state.use_up(answer, caller, until, now())).map(|_| true)
    }

    fn read(&self) -> io::Result<State> {
        match &*self.0 {
            Place::Memory(state) => Ok(lock(state).clone()),
            Place::Shared(state) => state.read(),
        }
    }

    fn edit<R>(&self, mut edit: impl FnMut(&mut State) -> Result<R, Full>) -> Result<R, ApprovalError> {
        match &*self.0 {
            Place::Memory(state) => edit(&mut lock(state)).map_err(|Full| ApprovalError::Full),
            Place::Shared(shared) => shared.edit(|state| edit(state).map_err(|Full| ApprovalError::Full)),
        }
    }
}

/// When the mark of an answer that is good until then expires, in milliseconds since 1970.
fn remembered(until: u64) -> u64 {
    until.saturating_add(REMEMBERED_LONGER.as_secs()).saturating_mul(1000)
}

/// Short, since people type it.
fn new_id() -> io::Result<String> {
    random_id::<5>().map_err(|error| io::Error::other(error.to_string()))
}

/// Seconds since 1970.
fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

#[cfg(test)]
mod tests;
