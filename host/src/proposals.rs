//! The file of proposals: plugins that a model named, for a person to look at. Nothing is fetched for one.

use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};

use serde::{Deserialize, Serialize};

use crate::json;
use crate::os::lock::lock;
use crate::os::private::{self, Durability, OpenMode};

const FILE_NAME: &str = "proposals.json";
const NEXT_FILE: &str = "proposals.json.next";
const WRITER_LOCK: &str = "proposals.json.turn";
const MAX_SIZE: u64 = 1 << 20;
/// Proposals in all, and of one principal.
const MAX_PROPOSALS: usize = 64;
const MAX_OF_ONE: usize = 8;
const LOCK_TIMEOUT: Duration = Duration::from_secs(2);

/// What is proposed.
#[derive(Debug, Clone, Deserialize, Serialize, PartialEq)]
pub struct Proposal {
    /// As `wharf add` takes it.
    pub reference: String,
    /// Why, in the words of whoever proposed it.
    pub reason: String,
    /// The principal of the request.
    pub by: String,
}

/// Why a proposal was not recorded.
#[derive(Debug, thiserror::Error)]
pub enum ProposalError {
    #[error("there are {0} proposals already, which a person has to look at first")]
    Full(usize),
    #[error("{0}")]
    Io(#[from] io::Error),
}

/// The file, in its folder.
#[derive(Debug, Clone)]
pub struct ProposalFile {
    folder: PathBuf,
}

impl ProposalFile {
    pub fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    pub fn path(&self) -> PathBuf {
        self.folder.join(FILE_NAME)
    }

    /// A missing file has none. Blocks the calling thread.
    ///
    /// # Errors
    /// If others can write the file, or it is damaged.
    pub fn read(&self) -> io::Result<Vec<Proposal>> {
        let (file, found) = match private::open(&self.path(), OpenMode::Read).map_err(io::Error::from) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            opened => opened?,
        };
        let text = crate::os::files::read_opened_text(file, &found, MAX_SIZE)?;
        json::read(&text).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.to_string()))
    }

    /// Records one. The same of the same principal is recorded once. Blocks the calling thread.
    ///
    /// # Errors
    /// If there are too many, or the file cannot be written.
    pub fn add(&self, proposal: Proposal) -> Result<(), ProposalError> {
        self.edit(|all| {
            if all.iter().any(|known| known.reference == proposal.reference && known.by == proposal.by) {
                return Ok(());
            }
            let own = all.iter().filter(|known| known.by == proposal.by).count();
            if all.len() >= MAX_PROPOSALS || own >= MAX_OF_ONE {
                return Err(ProposalError::Full(if own >= MAX_OF_ONE { own } else { all.len() }));
            }
            all.push(proposal);
            Ok(())
        })
    }

    /// Removes those that `keep` does not hold for; returns how many.
    ///
    /// # Errors
    /// If the file cannot be read or written.
    pub fn retain(&self, keep: impl FnMut(&Proposal) -> bool) -> Result<usize, ProposalError> {
        self.edit(|all| {
            let before = all.len();
            all.retain(keep);
            Ok(before - all.len())
        })
    }

    fn edit<R>(&self, edit: impl FnOnce(&mut Vec<Proposal>) -> Result<R, ProposalError>) -> Result<R, ProposalError> {
        private::create_trusted_folder(&self.folder)?;
        let (turn, _) = private::open(&self.folder.join(WRITER_LOCK), OpenMode::Lock).map_err(io::Error::from)?;
        lock(&turn, LOCK_TIMEOUT)?;
        let mut all = self.read()?;
        let result = edit(&mut all)?;
        let text = serde_json::to_vec(&all).map_err(io::Error::from)?;
        let next: &Path = &self.folder.join(NEXT_FILE);
        private::write(next, &[&text], Durability::Deferred)?;
        fs::rename(next, self.path())?;
        Ok(result)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proposals_are_bounded_and_kept_once() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = ProposalFile::new(folder.path().join("state"));
        let add = |by: usize, at: usize| {
            let (reference, by) = (format!("oci://a.example/{at}"), by.to_string());
            file.add(Proposal { reference, reason: String::new(), by })
        };
        for by in 0..MAX_PROPOSALS / MAX_OF_ONE {
            for at in (0..MAX_OF_ONE).chain([0]) {
                add(by, at).expect("it is recorded");
            }
            assert!(matches!(add(by, MAX_OF_ONE), Err(ProposalError::Full(MAX_OF_ONE))));
        }
        assert!(matches!(add(100, 0), Err(ProposalError::Full(MAX_PROPOSALS))));
        assert_eq!(file.read().expect("the file").len(), MAX_PROPOSALS);
        assert_eq!(file.retain(|proposal| proposal.by != "0").expect("it is written"), MAX_OF_ONE);
        add(100, 0).expect("there is room");
    }
}
