//! Proposals: plugins that a model named, for a person to look at. Nothing is fetched for one.

use std::path::PathBuf;
use std::{fmt, io};

use serde::{Deserialize, Serialize};

use crate::os::private::Durability;
use crate::shared_state::SharedState;
use crate::store::Document;

/// The entry of a store for several nodes.
pub const KEY: &str = "proposals";
const MAX_SIZE: u64 = 1 << 20;
/// Proposals in all, and of one principal.
const MAX_PROPOSALS: usize = 64;
const MAX_OF_ONE: usize = 8;

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

/// Where they are.
impl fmt::Display for Proposals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// A file, or an entry of the store.
#[derive(Debug, Clone)]
pub struct Proposals(SharedState);

impl Proposals {
    pub fn in_folder(folder: PathBuf) -> Self {
        // Lost in a crash, it is proposed again.
        Self(SharedState::in_file(folder, "proposals.json", MAX_SIZE, Durability::Deferred))
    }

    /// Those of all nodes.
    pub fn in_store(document: Document) -> Self {
        Self(SharedState::in_store(document))
    }

    /// A missing file has none. Blocks the calling thread.
    ///
    /// # Errors
    /// If others can write the file, or it is damaged.
    pub fn read(&self) -> io::Result<Vec<Proposal>> {
        self.0.read()
    }

    /// Replaces all. Blocks the calling thread.
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn replace(&self, all: &[Proposal]) -> io::Result<()> {
        self.0.edit(|before: &mut Vec<Proposal>| {
            all.clone_into(before);
            Ok(())
        })
    }

    /// Records one. The same of the same principal is recorded once. Blocks the calling thread.
    ///
    /// # Errors
    /// If there are too many, or the file cannot be written.
    pub fn add(&self, proposal: Proposal) -> Result<(), ProposalError> {
        self.0.edit(|all: &mut Vec<Proposal>| {
            if all.iter().any(|known| known.reference == proposal.reference && known.by == proposal.by) {
                return Ok(());
            }
            let own = all.iter().filter(|known| known.by == proposal.by).count();
            if all.len() >= MAX_PROPOSALS || own >= MAX_OF_ONE {
                return Err(ProposalError::Full(if own >= MAX_OF_ONE { own } else { all.len() }));
            }
            all.push(proposal.clone());
            Ok(())
        })
    }

    /// Removes those that `keep` does not hold for; returns how many.
    ///
    /// # Errors
    /// If the file cannot be read or written.
    pub fn retain(&self, mut keep: impl FnMut(&Proposal) -> bool) -> Result<usize, ProposalError> {
        self.0.edit(|all: &mut Vec<Proposal>| {
            let before = all.len();
            all.retain(&mut keep);
            Ok(before - all.len())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proposals_are_bounded_and_kept_once() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = Proposals::in_folder(folder.path().join("state"));
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
