//! What a plugin may do beside computing: denied unless it is granted when it is loaded.
//!
//! Does not know how a grant is written, nor enforce one.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::access::Access;
use super::denial::Lack;
use super::outbound::grant::HttpGrant;
use super::secret::Secret;
use crate::os::stamp::FolderState;
use crate::plugin::abi::ClientFeatures;

/// The grants of one plugin, fixed when it is loaded.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Grants {
    /// To keep values in the host's store.
    pub keyvalue: Option<KeyvalueGrant>,
    /// To send HTTP requests; the first entry that covers one decides.
    pub http: Vec<HttpGrant>,
    /// Those that it may read, and those that its entries of `http` name.
    pub secrets: Vec<Secret>,
    /// To put questions to the user, forms and pages.
    pub elicit: bool,
    /// To ask the client's model.
    pub sample: bool,
    /// To ask which folders the user works in.
    pub roots: bool,
    /// Folders of the host, each with the path at which the plugin finds it.
    pub folders: Vec<FolderGrant>,
    /// What no such folder may hold, as it is configured now.
    pub private: Vec<PrivateFile>,
    /// Variables of its environment, by name and value.
    pub env: Vec<(String, String)>,
    /// What it finds in `wasi:config/store`, by key and value.
    pub config: Vec<(String, String)>,
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

/// A folder that a plugin may use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FolderGrant {
    /// Where it is.
    pub host: PathBuf,
    /// The absolute path at which the plugin finds it.
    pub guest: String,
    pub mode: FolderMode,
    /// Which folder it was when the configuration was read, if it was there: a folder that
    /// is made later, or may be read then, makes another grant of it.
    pub found: Option<FolderState>,
}

/// A file that is the host's own: its audit log, a key, a token, a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrivateFile {
    /// For people: "the audit log".
    pub what: String,
    /// It need not be there.
    pub path: PathBuf,
}

/// What a plugin may do with a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FolderMode {
    Read,
    /// Read and change. `quota` is what the folder may hold in all: the bytes of its files, and
    /// 4 KiB for each entry.
    Write {
        quota: u64,
    },
}

impl FolderGrant {
    /// The quota of a grant that names none.
    pub const QUOTA: u64 = 64 << 20;
}

impl Grants {
    /// Whether anything of that kind is granted.
    pub fn allow(&self, access: Access) -> bool {
        self.each().contains(&(access, true))
    }

    /// A secret's value, if it is there.
    pub fn secret(&self, name: &str) -> Option<&str> {
        self.secrets.iter().find(|secret| secret.name == name)?.expose()
    }

    /// What an entry lacks that cannot be filled in.
    pub(in crate::plugin) fn lack_of(&self, entry: &HttpGrant) -> Lack {
        let of = |name: &str| self.secrets.iter().find(|secret| secret.name == name).and_then(Secret::lack);
        entry.secrets().find_map(of).unwrap_or_else(|| {
            let told = String::from("its secrets make no header");
            Lack { logged: format!("{told}: {entry}"), told, hint: "put others in their place" }
        })
    }

    /// What the plugin finds in its configuration: what was written for it, and the secrets that
    /// it may read.
    pub(in crate::plugin) fn configured(&self) -> impl Iterator<Item = (String, String)> {
        let readable = self.secrets.iter().filter(|secret| secret.readable);
        let secrets = readable.filter_map(|secret| Some((secret.name.clone(), secret.expose()?.to_owned())));
        // A secret counts for more than a value of its name.
        self.config.iter().filter(|(name, _)| !self.is_readable(name)).cloned().chain(secrets)
    }

    fn is_readable(&self, name: &str) -> bool {
        self.secrets.iter().any(|secret| secret.readable && secret.name == name && secret.expose().is_some())
    }

    /// The kinds of which anything is granted.
    pub fn kinds(&self) -> BTreeSet<Access> {
        self.each().into_iter().filter(|(_, granted)| *granted).map(|(access, _)| access).collect()
    }

    /// Each kind, and whether anything of it is granted.
    fn each(&self) -> [(Access, bool); 9] {
        // Taken apart whole, so that no kind can be forgotten here.
        let Self { keyvalue, http, secrets, elicit, sample, roots, folders, private: _, env, config, place: _ } = self;
        [
            (Access::Keyvalue, keyvalue.is_some()),
            (Access::Http, !http.is_empty()),
            (Access::Fs, !folders.is_empty()),
            (Access::Env, !env.is_empty()),
            (Access::Config, !config.is_empty()),
            (Access::Secrets, secrets.iter().any(|secret| secret.readable)),
            (Access::Elicit, *elicit),
            (Access::Sample, *sample),
            (Access::Roots, *roots),
        ]
    }

    /// Nothing; a person can still grant more at the same place.
    pub fn none(&self) -> Self {
        Self { place: self.place.clone(), ..Self::default() }
    }

    /// What of a client the plugin may know and ask for.
    pub(in crate::plugin) fn features(&self) -> ClientFeatures {
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
