//! What a plugin may do beside computing: denied unless it is granted when it is loaded.
//!
//! Does not know how a grant is written, nor enforce one.

use std::collections::BTreeSet;

use super::abi::ClientFeatures;

/// The grants of one plugin, fixed when it is loaded.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Grants {
    /// To keep values in the host's store.
    pub keyvalue: Option<KeyvalueGrant>,
    /// To put questions to the user, forms and pages.
    pub elicit: bool,
    /// To ask the client's model.
    pub sample: bool,
    /// To ask which folders the user works in.
    pub roots: bool,
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

/// The kinds of access that are granted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Access {
    Keyvalue,
    Elicit,
    Sample,
    Roots,
}

impl Access {
    /// Its key among a plugin's grants.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Keyvalue => "keyvalue",
            Self::Elicit => "elicit",
            Self::Sample => "sample",
            Self::Roots => "roots",
        }
    }
}

impl Grants {
    /// Whether anything of that kind is granted.
    pub fn allow(&self, access: Access) -> bool {
        match access {
            Access::Keyvalue => self.keyvalue.is_some(),
            Access::Elicit => self.elicit,
            Access::Sample => self.sample,
            Access::Roots => self.roots,
        }
    }

    /// The kinds of which anything is granted.
    pub fn kinds(&self) -> BTreeSet<Access> {
        // Taken apart whole, so that no kind can be forgotten here.
        let Self { keyvalue, elicit, sample, roots, place: _ } = self;
        let kinds = [
            (Access::Keyvalue, keyvalue.is_some()),
            (Access::Elicit, *elicit),
            (Access::Sample, *sample),
            (Access::Roots, *roots),
        ];
        kinds.into_iter().filter(|(_, granted)| *granted).map(|(access, _)| access).collect()
    }

    /// Nothing; a person can still grant more at the same place.
    pub fn none(&self) -> Self {
        Self { place: self.place.clone(), ..Self::default() }
    }

    /// What of a client the plugin may know and ask for.
    pub(super) fn features(&self) -> ClientFeatures {
        let mut features = ClientFeatures::empty();
        if self.elicit {
            features |= ClientFeatures::ELICIT_FORM | ClientFeatures::ELICIT_URL;
        }
        if self.sample {
            features |= ClientFeatures::SAMPLE | ClientFeatures::SAMPLE_TOOLS | ClientFeatures::SAMPLE_CONTEXT;
        }
        if self.roots {
            features |= ClientFeatures::ROOTS;
        }
        features
    }
}
