//! How far a copy is, for those who wait for it.

use std::fmt;

use crate::sync::{Mutex, lock};

/// What is being done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Step {
    /// Whether something else is in the new place.
    #[default]
    Compare,
    Copy,
    /// Whether the old place was written to meanwhile.
    Check,
}

#[derive(Debug, Clone, Copy, Default)]
struct Done {
    step: Step,
    entries: u64,
    /// Of how many, if they were counted.
    of: Option<u64>,
}

/// As text it is for people.
#[derive(Debug, Default)]
pub struct Progress(Mutex<Done>);

impl Progress {
    pub(super) fn begin(&self, step: Step, of: Option<u64>) {
        *lock(&self.0) = Done { step, entries: 0, of };
    }

    /// One more entry is done.
    pub(super) fn count(&self) {
        lock(&self.0).entries += 1;
    }

    pub(super) fn entries(&self) -> u64 {
        lock(&self.0).entries
    }
}

impl fmt::Display for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Done { step, entries, of } = *lock(&self.0);
        let step = match step {
            Step::Compare => "looking for what is in the new place",
            Step::Copy => "copying",
            Step::Check => "looking for what was written meanwhile",
        };
        write!(f, "{step}: {entries}")?;
        match of {
            Some(of) => write!(f, " of {of} entries"),
            None => write!(f, " entries"),
        }
    }
}
