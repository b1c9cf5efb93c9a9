//! What a plugin may do besides computing: denied unless granted when it is loaded.
//!
//! Neither parses nor enforces grants.

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};

use wharf_report::{ShowPath as _, shell_text};

use super::access::Access;
use super::command::CommandSettings;
use super::denial::GrantProblem;
use super::extra::Extras;
use super::outbound::grant::HttpGrant;
use super::pages::{PageReach, Pages};
use super::secret::Secret;
use super::template::SecretTemplate;
use crate::os::stamp::FolderState;
use crate::plugin::abi::ClientFeatures;

/// The grants of one plugin, fixed when it is loaded.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Grants {
    /// To keep values in the host's store.
    pub keyvalue: Option<KeyvalueGrant>,
    /// To send HTTP requests; the first entry that covers one decides.
    pub http: Vec<HttpGrant>,
    /// Secrets that it may read, and those that its `http` entries and `env` name.
    pub secrets: Vec<Secret>,
    /// To elicit input from the user, by forms and URLs.
    pub elicit: bool,
    /// To sample the client's model.
    pub sample: bool,
    /// To list the client's roots.
    pub roots: bool,
    /// Folders of the host with their paths in the guest.
    pub folders: Vec<FolderGrant>,
    /// Files that no such folder may contain, under the current configuration.
    pub private: Vec<PrivateFile>,
    /// Environment variables, by name and value.
    pub env: Vec<(String, SecretTemplate)>,
    /// Entries of `wasi:config/store`, by key and value.
    pub config: Vec<(String, String)>,
    /// What its pages may reach.
    pub pages: Pages,
    /// How its tool is described and its output read, if it is a command-line program.
    pub program: CommandSettings,
    /// Where to grant more; part of the hint that is logged with a denial.
    pub place: String,
    /// The command that grants more, without the grant; empty if there is none.
    pub command: String,
    /// What some callers have in addition.
    pub extras: Extras,
}

/// How much a plugin may store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyvalueGrant {
    /// Bytes of all its keys, values and bucket names together, or of those of one user.
    pub quota: u64,
    /// Set if each user has values of their own: bytes of all users together.
    pub per_subject: Option<u64>,
}

impl KeyvalueGrant {
    /// The default quota.
    pub const QUOTA: u64 = 1 << 20;
    /// The default for all users together.
    pub const TOTAL: u64 = 1 << 30;
}

/// A folder that a plugin may use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FolderGrant {
    /// Its path on the host.
    pub host: PathBuf,
    /// Its absolute path in the guest.
    pub guest: String,
    pub mode: FolderMode,
    /// Set if each user has a folder of their own in it: bytes of all together.
    pub per_subject: Option<u64>,
    /// Identity of the folder when the configuration was read, if it existed. A folder that is
    /// created or becomes readable later changes the grant.
    pub found: Option<FolderState>,
}

/// A private file of the host: the audit log, a key, a token, a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrivateFile {
    /// For people: "the audit log".
    pub what: String,
    /// It need not exist.
    pub path: PathBuf,
    /// It is a folder, of which all is private.
    pub is_folder: bool,
}

/// What a plugin may do with a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FolderMode {
    Read,
    /// Read and write. `quota` limits the whole folder: the bytes of its files, and 4 KiB for each
    /// entry.
    Write {
        quota: u64,
    },
}

impl FolderGrant {
    /// The default quota.
    pub const QUOTA: u64 = 64 << 20;
    /// The default for all users together.
    pub const TOTAL: u64 = 1 << 30;

    /// What can be changed with it besides the person's own files, in plain words; `None`: nothing.
    pub fn reach(&self) -> Option<&'static str> {
        let concerns = |system: &&str| self.host.starts_with(system) || Path::new(system).starts_with(&self.host);
        let is_system = self.mode != FolderMode::Read && SYSTEM.iter().any(concerns);
        is_system.then_some("this system, and so of what runs on it")
    }
}

/// Folders whose files decide what a system runs: of Linux, macOS and Windows.
const SYSTEM: [&str; 17] = [
    "/Applications",
    "/Library",
    "/System",
    "/bin",
    "/boot",
    "/dev",
    "/etc",
    "/lib",
    "/lib64",
    "/proc",
    "/sbin",
    "/sys",
    "/usr",
    "C:\\Program Files",
    "C:\\Program Files (x86)",
    "C:\\ProgramData",
    "C:\\Windows",
];

/// As an entry of the configuration.
impl fmt::Display for FolderGrant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, guest, mode, per_subject, .. } = self;
        write!(f, "{{ host = {:?}, guest = {guest:?}", host.to_string_lossy())?;
        match mode {
            FolderMode::Read => {}
            FolderMode::Write { quota: Self::QUOTA } => f.write_str(", mode = \"write\"")?,
            FolderMode::Write { quota } => write!(f, ", mode = \"write\", quota = {quota}")?,
        }
        match per_subject {
            None => {}
            Some(Self::TOTAL) => f.write_str(", per = \"subject\"")?,
            Some(total) => write!(f, ", per = \"subject\", total = {total}")?,
        }
        f.write_str(" }")
    }
}

impl Grants {
    /// What all callers have, and then what some have in addition.
    pub fn parts(&self) -> impl Iterator<Item = &Self> {
        std::iter::once(self).chain(self.extras.all().iter().map(|extra| &extra.grants))
    }

    /// The files that no granted folder may contain.
    pub fn private_files(&self) -> &[PrivateFile] {
        // Each part with folders has all of them.
        self.parts().map(|part| part.private.as_slice()).find(|files| !files.is_empty()).unwrap_or_default()
    }

    /// The secrets of all callers, each once.
    pub(in crate::plugin) fn all_secrets(&self) -> Vec<Secret> {
        self.all_secrets_with(&[])
    }

    /// The same with those of one caller in place of what each has of their own.
    pub(in crate::plugin) fn all_secrets_with(&self, own: &[Secret]) -> Vec<Secret> {
        let mut all = own.to_vec();
        for secret in self.parts().flat_map(|part| &part.secrets) {
            if all.iter().all(|known| known.name != secret.name) {
                all.push(secret.clone());
            }
        }
        all
    }

    /// Whether a secret could not be read now, so that the grants have to be read again.
    pub fn is_unread(&self) -> bool {
        self.parts().any(|part| part.secrets.iter().any(Secret::is_unread))
    }

    /// Whether a part of them is each caller's own.
    pub(in crate::plugin) fn are_personal(&self) -> bool {
        self.secrets.iter().any(Secret::is_personal) || self.folders.iter().any(|folder| folder.per_subject.is_some())
    }

    /// Whether callers have different ones, or values of their own.
    pub(in crate::plugin) fn differ_by_caller(&self) -> bool {
        !self.extras.all().is_empty()
            || self.are_personal()
            || self.secrets.iter().any(Secret::is_exchanged)
            || self.keyvalue.is_some_and(|grant| grant.per_subject.is_some())
    }

    /// Whether anything of that kind is granted to all callers.
    pub fn allow(&self, access: Access) -> bool {
        self.each().contains(&(access, true))
    }

    /// A secret's value, if it is available.
    pub fn secret(&self, name: &str) -> Option<&str> {
        self.secrets.iter().find(|secret| secret.name == name)?.expose()
    }

    /// Why the header fields of an `http` entry cannot be filled in.
    pub(in crate::plugin) fn problem_of(&self, entry: &HttpGrant) -> GrantProblem {
        let of = |name: &str| self.secrets.iter().find(|secret| secret.name == name).and_then(Secret::problem);
        entry.secrets().find_map(of).unwrap_or_else(|| {
            let message = String::from("its secrets do not form a valid header");
            GrantProblem { logged: format!("{message}: {entry}"), message, hint: "replace them".into() }
        })
    }

    /// The environment variables whose secrets are available.
    pub(in crate::plugin) fn environment(&self) -> impl Iterator<Item = (String, String)> {
        let filled = |template: &SecretTemplate| template.fill(|name| self.secret(name));
        self.env.iter().filter_map(move |(name, template)| Some((name.clone(), filled(template)?)))
    }

    /// Why secrets of environment variables are not available.
    pub(in crate::plugin) fn problems_of_environment(&self) -> impl Iterator<Item = GrantProblem> {
        let is_needed =
            |secret: &&Secret| self.env.iter().any(|(_, value)| value.secrets().any(|name| name == secret.name));
        self.secrets.iter().filter(is_needed).filter_map(Secret::problem)
    }

    /// The entries of the plugin's `wasi:config/store`: its `config`, and the secrets that
    /// it may read.
    pub(in crate::plugin) fn configured(&self) -> impl Iterator<Item = (String, String)> {
        let readable = self.secrets.iter().filter(|secret| secret.readable);
        let secrets = readable.filter_map(|secret| Some((secret.name.clone(), secret.expose()?.to_owned())));
        // A secret overrides a value of the same name.
        self.config.iter().filter(|(name, _)| !self.is_readable(name)).cloned().chain(secrets)
    }

    fn is_readable(&self, name: &str) -> bool {
        self.secrets.iter().any(|secret| secret.readable && secret.name == name && secret.expose().is_some())
    }

    /// The kinds that are granted, if only to some callers.
    pub fn kinds(&self) -> BTreeSet<Access> {
        self.parts().flat_map(Self::each).filter(|(_, granted)| *granted).map(|(access, _)| access).collect()
    }

    /// Each grant as a person reads it, also those to some callers only: without quotas, and without the values of
    /// secrets, variables and settings.
    pub fn texts(&self) -> BTreeSet<String> {
        self.parts().flat_map(Self::own_texts).collect()
    }

    /// The same of what all callers have.
    pub fn own_texts(&self) -> BTreeSet<String> {
        let variable = |(name, value): &(String, SecretTemplate)| {
            let secrets: Vec<&str> = value.secrets().collect();
            if secrets.is_empty() { format!("env {name}") } else { format!("env {name}, from {}", secrets.join(", ")) }
        };
        let folder = |grant: &FolderGrant| {
            let mode = if grant.mode == FolderMode::Read { "read" } else { "write" };
            let own = if grant.per_subject.is_some() { ", a folder of each user's own" } else { "" };
            format!("fs {}, {mode}, from {}{own}", grant.guest, grant.host.shown())
        };
        let whole = [Access::Keyvalue, Access::Elicit, Access::Sample, Access::Roots];
        let mut texts: BTreeSet<String> =
            whole.into_iter().filter(|access| self.allow(*access)).map(|access| access.name().to_owned()).collect();
        texts.extend(self.http.iter().map(|entry| format!("http {entry}")));
        texts.extend(self.folders.iter().map(folder));
        texts.extend(self.env.iter().map(variable));
        texts.extend(self.config.iter().map(|(name, _)| format!("config {name}")));
        if self.pages == Pages::Declared {
            texts.insert("pages as declared".to_owned());
        }
        let readable = self.secrets.iter().filter(|secret| secret.readable);
        texts.extend(readable.map(|secret| format!("secrets {}", secret.name)));
        texts
    }

    /// What its pages may reach. They are the same for all callers, so what only some have is no part of it.
    pub(in crate::plugin) fn page_reach(&self) -> PageReach<'_> {
        match self.pages {
            Pages::Declared => PageReach::Declared,
            Pages::Granted => PageReach::Granted(&self.http),
            Pages::None => PageReach::None,
        }
    }

    /// Each kind, and whether anything of it is granted.
    fn each(&self) -> [(Access, bool); 9] {
        // Destructured in full, so that no kind can be forgotten here.
        let Self {
            keyvalue,
            http,
            secrets,
            elicit,
            sample,
            roots,
            folders,
            private: _,
            env,
            config,
            pages: _,
            program: _,
            place: _,
            command: _,
            extras: _,
        } = self;
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

    /// No grants, with the same settings of a command, and the same hint where to add some.
    pub fn none(&self) -> Self {
        let program = self.program.clone();
        Self { program, place: self.place.clone(), command: self.command.clone(), ..Self::default() }
    }

    /// How to add a missing grant: a line for the configuration, and the word for the command.
    pub fn remedy(&self, line: &str, word: &str) -> String {
        let mut remedy = format!("put `{line}` {}", self.place);
        if !self.command.is_empty() {
            remedy += &format!(", or run: {} {}", self.command, shell_text(word));
        }
        remedy
    }

    /// Whether the plugin may change that folder.
    pub(in crate::plugin) fn may_change(&self, guest: &str) -> bool {
        self.folders.iter().any(|folder| folder.guest == guest && folder.mode != FolderMode::Read)
    }

    /// How to let the plugin change a folder that it may only read: the line with all its folders, and the word for the
    /// command.
    pub(in crate::plugin) fn remedy_of_change(&self, guest: &str) -> (String, String) {
        let (mut entries, mut word) = (Vec::new(), String::new());
        for folder in &self.folders {
            if folder.guest == guest {
                let mode = FolderMode::Write { quota: FolderGrant::QUOTA };
                let changed = FolderGrant { mode, ..folder.clone() }.to_string();
                // A short word says nothing of each user's own.
                word = match folder.per_subject {
                    None => format!("write={}:{guest}", folder.host.to_string_lossy()),
                    Some(_) => format!("fs={changed}"),
                };
                entries.push(changed);
            } else {
                entries.push(folder.to_string());
            }
        }
        (format!("fs = [{}]", entries.join(", ")), word)
    }

    /// The client features that the plugin may see and use.
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
