//! What a plugin may do beside computing: denied unless it is granted when it is loaded.
//!
//! Does not know how a grant is written, nor enforce one.

/// The grants of one plugin, fixed when it is loaded.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Grants {
    /// To keep values in the host's store.
    pub keyvalue: Option<KeyvalueGrant>,
    /// Where a person can grant more; told in the log when something is denied.
    pub place: String,
}

/// How much a plugin may keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyvalueGrant {
    /// Bytes of all its keys, values and buckets' names together.
    pub quota: u64,
}

impl KeyvalueGrant {
    /// The quota of a grant that names none.
    pub const QUOTA: u64 = 1 << 20;
}
