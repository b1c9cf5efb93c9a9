//! What a worker is told before it runs anything.

use std::path::PathBuf;

use super::confined::Confined;
use crate::plugin::component::engine::EngineKind;
use crate::plugin::limits::Limits;
use crate::plugin::policy::grants::Grants;
use crate::plugin::surface::ListingWarning;
use crate::plugin::tape::kept::{Kept, records};

/// The first frame. The component and its native code are the next two.
pub(super) struct Setup {
    pub(super) plugin: String,
    /// Of the component.
    pub(super) digest: String,
    pub(super) confined: Confined,
    /// Folders that must not be granted: trees, and tops.
    pub(super) protected: (Vec<PathBuf>, Vec<PathBuf>),
    /// Threads that run the guest.
    pub(super) workers: u64,
    /// Bytes of memory of all its calls.
    pub(super) memory: u64,
    pub(super) engine: EngineKind,
}

/// Limits and grants under which it is called.
pub(super) struct Variant {
    pub(super) limits: Limits,
    pub(super) grants: Grants,
    /// Whether they are those of calls that may become tasks.
    pub(super) is_of_task: bool,
}

/// What it lists.
pub(super) struct Listing {
    /// As a surface is stored, with schemas as they were listed.
    pub(super) stored: String,
    pub(super) warnings: Vec<ListingWarning>,
    /// How it is spoken to; a text for people.
    pub(super) spoken: Option<String>,
    /// Alternative names of tools, by their names.
    pub(super) long_names: Vec<(String, String)>,
}

records! {
    Setup { plugin, digest, confined, protected, workers, memory, engine }
    Variant { limits, grants, is_of_task }
    Listing { stored, warnings, spoken, long_names }
}
