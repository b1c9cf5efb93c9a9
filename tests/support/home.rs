//! A temporary home for one host: its plugin folder, its XDG folders, and functions to install guests.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// The beginning of every home's settings.
const MAY_ASK: &str = include_str!("../grants.toml");
/// A debug host that compiles on a busy machine may take longer than the default.
const PATIENT: &str = "first-list = \"30s\"\n";

/// Under `[limits]`.
const PROCESSES: &str = "isolation = \"process\"\n";

/// Removed with its content when dropped.
pub struct Home {
    root: TempDir,
    has_processes: bool,
}

impl Home {
    /// A home with an empty plugin folder.
    pub fn new() -> Self {
        let root = TempDir::with_prefix("wharf-it-").expect("a temporary folder");
        let home = Self { root, has_processes: false };
        for folder in ["served/plugins", "home", "config/wharf", "data", "state", "runtime"] {
            fs::create_dir_all(home.path(folder)).expect("a folder in it");
        }
        home.configure("");
        home
    }

    /// The same, with each plugin in a process of its own.
    pub fn with_processes(self) -> Self {
        let home = Self { has_processes: true, ..self };
        home.configure("");
        home
    }

    /// A home whose plugin folder holds these guests under their own names.
    pub fn with(guests: &[&str]) -> Self {
        let home = Self::new();
        for guest in guests {
            home.put(guest, guest);
        }
        home
    }

    pub fn path(&self, below: &str) -> PathBuf {
        self.root.path().join(below)
    }

    pub fn plugins(&self) -> PathBuf {
        self.path("served/plugins")
    }

    /// The file of the plugin of that name.
    pub fn plugin(&self, name: &str) -> PathBuf {
        self.plugins().join(format!("{name}.wasm"))
    }

    /// Atomically puts a guest into the folder as the plugin `name`.
    pub fn put(&self, guest: &str, name: &str) {
        self.put_file(&component(guest), name);
    }

    /// As [`Home::put`], for any file.
    pub fn put_file(&self, file: &Path, name: &str) {
        let bytes = fs::read(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        self.put_bytes(&bytes, name);
    }

    /// As [`Home::put`], for any bytes.
    pub fn put_bytes(&self, bytes: &[u8], name: &str) {
        let aside = self.path(&format!("{name}.part"));
        fs::write(&aside, bytes).expect("a file beside the folder");
        fs::rename(aside, self.plugin(name)).expect("a rename into the folder");
    }

    pub fn remove(&self, name: &str) {
        fs::remove_file(self.plugin(name)).expect("the plugin's file");
    }

    /// The folder `shared`, with a file and links that lead out of it, and the folder `outside` with a secret.
    #[cfg(unix)]
    pub fn folder_with_links(&self) -> (PathBuf, PathBuf) {
        use std::os::unix::fs::symlink;

        let (shared, outside) = (self.path("shared"), self.path("outside"));
        fs::create_dir_all(shared.join("sub")).expect("a folder");
        fs::create_dir(&outside).expect("a folder");
        fs::write(outside.join("secret"), "secret").expect("a file");
        fs::write(shared.join("here"), "hello").expect("a file");
        symlink("../outside/secret", shared.join("relative")).expect("a link");
        symlink(outside.join("secret"), shared.join("absolute")).expect("a link");
        symlink(&outside, shared.join("folder")).expect("a link");
        symlink("/proc/self/root", shared.join("root")).expect("a link");
        (shared, outside)
    }

    /// Writes `wharf.toml`, preceded by grants for the plugins `asker`, `everything` and `survey` to ask
    /// questions. Lists wait for all plugins, unless `toml` says how long.
    pub fn configure(&self, toml: &str) {
        let toml = match toml.split_once("[server]\n") {
            _ if toml.contains("first-list") => format!("{MAY_ASK}{toml}"),
            Some((before, after)) => format!("{MAY_ASK}{before}[server]\n{PATIENT}{after}"),
            None => format!("[server]\n{PATIENT}{MAY_ASK}{toml}"),
        };
        let toml = match toml.split_once("[limits]\n") {
            _ if !self.has_processes => toml,
            Some((before, after)) => format!("{before}[limits]\n{PROCESSES}{after}"),
            None => format!("{toml}\n[limits]\n{PROCESSES}"),
        };
        fs::write(self.path("config/wharf/wharf.toml"), toml).expect("the settings file");
    }

    /// The complete environment of a host in this home. The cache of compiled components is shared between
    /// homes, so that a guest is compiled once.
    pub fn environment(&self) -> Vec<(&'static str, PathBuf)> {
        let cache = scratch("xdg-cache");
        vec![
            ("PATH", std::env::var_os("PATH").unwrap_or_default().into()),
            ("HOME", self.path("home")),
            ("XDG_CONFIG_HOME", self.path("config")),
            ("XDG_DATA_HOME", self.path("data")),
            ("XDG_STATE_HOME", self.path("state")),
            ("XDG_RUNTIME_DIR", self.path("runtime")),
            ("XDG_CACHE_HOME", cache),
        ]
    }
}

/// The names in a folder, sorted.
pub fn names_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").file_name());
    let mut names: Vec<String> = entries.map(|name| name.into_string().expect("UTF-8")).collect();
    names.sort();
    names
}

/// A folder of that name in cargo's target folder, created on first use.
pub fn scratch(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::create_dir_all(&folder).expect("a folder in the target folder");
    folder
}

/// The repository's root.
pub fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the host crate lives in a workspace")
}

/// The file of a guest built by `plugins/build.sh`.
///
/// `WHARF_TEST_COMPONENTS` sets another folder.
pub fn component(guest: &str) -> PathBuf {
    let folder = std::env::var_os("WHARF_TEST_COMPONENTS")
        .map_or_else(|| repository().join("target/guests/components"), PathBuf::from);
    let file = folder.join(format!("{guest}.wasm"));
    assert!(file.is_file(), "no {}: build the guests first, with plugins/build.sh", file.display());
    file
}
