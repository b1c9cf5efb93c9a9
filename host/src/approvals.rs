//! Decisions on calls: what waits for an operator, what was decided, and which answers of users were used.
//!
//! A file in the state folder, shared by servers and commands. Without that folder it is in memory: no command can
//! decide then.

mod state;

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use std::{fs, io};

use crate::json;
use crate::os::lock::lock;
use crate::os::private::{self, Durability, OpenMode};
use crate::sync;

pub use state::{Bound, Decider, Decision, Deed, Request, Standing};
use state::{Full, State};

const FILE_NAME: &str = "approvals.json";
const NEXT_FILE: &str = "approvals.json.next";
const WRITER_LOCK: &str = "approvals.json.turn";
/// More than the largest state takes.
const MAX_SIZE: u64 = 16 << 20;
const LOCK_TIMEOUT: Duration = Duration::from_secs(2);

/// Why nothing was recorded.
#[derive(Debug, thiserror::Error)]
pub enum ApprovalError {
    /// Of requests, decisions or used answers.
    #[error("there are too many")]
    Full,
    #[error("{0}")]
    Io(#[from] io::Error),
}

/// Where decisions are kept. Its methods block the calling thread.
#[derive(Clone)]
pub struct Approvals(Arc<Place>);

enum Place {
    /// The file's folder.
    Folder(PathBuf),
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
        Self(Arc::new(Place::Folder(folder)))
    }

    /// The file. `None`: no command can decide.
    pub fn path(&self) -> Option<PathBuf> {
        match &*self.0 {
            Place::Folder(folder) => Some(folder.join(FILE_NAME)),
            Place::Memory(_) => None,
        }
    }

    /// Whether a call may run. What allows one call alone is used up. `once`: each call needs a decision of its own.
    ///
    /// # Errors
    /// If others can write the file, it is damaged, or it cannot be written.
    pub fn take(&self, deed: &Deed, once: bool) -> Result<Standing, ApprovalError> {
        let now = now();
        // Most calls have no decision of their own, and need not wait for their turn.
        match self.read()?.standing(deed, once, now) {
            Standing::Allowed { .. } => self.edit(|state| Ok(state.take(deed, once, now))),
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
        self.edit(|state| state.request(id, deed, once, holds.as_secs(), now()))
    }

    /// Records that a user allows all calls of a tool for a while.
    ///
    /// # Errors
    /// As [`Self::take`], and if too many are kept.
    pub fn remember(&self, deed: Deed, holds: Duration) -> Result<(), ApprovalError> {
        let id = new_id()?;
        self.edit(|state| state.remember(id, deed, holds.as_secs(), now())).map(drop)
    }

    /// Uses an answer, which must not be used again for that long. Whether it was not used before.
    ///
    /// # Errors
    /// As [`Self::take`], and if too many were used: none is forgotten for another.
    pub fn spend(&self, answer: &str, principal: &str, lasts: Duration) -> Result<bool, ApprovalError> {
        let now = now();
        self.edit(|state| state.spend(answer, principal, now.saturating_add(lasts.as_secs()), now))
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
        self.edit(|state| Ok(state.decide(id, decision, now())))
    }

    fn read(&self) -> io::Result<State> {
        match &*self.0 {
            Place::Memory(state) => Ok(sync::lock(state).clone()),
            Place::Folder(folder) => {
                let (file, found) =
                    match private::open(&folder.join(FILE_NAME), OpenMode::Read).map_err(io::Error::from) {
                        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(State::default()),
                        opened => opened?,
                    };
                let text = crate::os::files::read_opened_text(file, &found, MAX_SIZE)?;
                json::read(&text).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.to_string()))
            }
        }
    }

    fn edit<R>(&self, edit: impl FnOnce(&mut State) -> Result<R, Full>) -> Result<R, ApprovalError> {
        let folder = match &*self.0 {
            Place::Memory(state) => return edit(&mut sync::lock(state)).map_err(|Full| ApprovalError::Full),
            Place::Folder(folder) => folder,
        };
        private::create_trusted_folder(folder)?;
        let (turn, _) = private::open(&folder.join(WRITER_LOCK), OpenMode::Lock).map_err(io::Error::from)?;
        lock(&turn, LOCK_TIMEOUT)?;
        let before = self.read()?;
        let mut state = before.clone();
        let result = edit(&mut state).map_err(|Full| ApprovalError::Full)?;
        if state == before {
            return Ok(result);
        }
        let text = serde_json::to_vec(&state).map_err(io::Error::from)?;
        let next = folder.join(NEXT_FILE);
        private::write(&next, &[&text], Durability::Synced)?;
        fs::rename(next, folder.join(FILE_NAME))?;
        Ok(result)
    }
}

/// Short, since people type it.
fn new_id() -> io::Result<String> {
    let mut id = [0; 5];
    getrandom::fill(&mut id).map_err(|error| io::Error::other(error.to_string()))?;
    Ok(id.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Seconds since 1970.
fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

#[cfg(test)]
mod tests;
