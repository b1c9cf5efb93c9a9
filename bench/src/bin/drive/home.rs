//! A measured server's own environment: home, XDG folders and plugin folder.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Context as _, Result};

/// The folder of all homes of this run. Deleted when dropped.
pub struct Scratch {
    root: PathBuf,
    homes: AtomicU32,
}

impl Scratch {
    /// Created in the system's folder for temporary files (`TMPDIR`).
    pub fn new() -> Result<Self> {
        let root = std::env::temp_dir().join(format!("wharf-bench-{}", std::process::id()));
        fs::create_dir(&root).with_context(|| format!("create the folder {}", root.display()))?;
        Ok(Self { root, homes: AtomicU32::new(0) })
    }

    /// A new home with an empty plugin folder and an empty cache.
    pub fn home(&self) -> Result<Home> {
        let home = Home { root: self.root.join(self.homes.fetch_add(1, Ordering::Relaxed).to_string()) };
        for folder in ["plugins", "home", "config", "data", "cache", "state", "runtime"] {
            fs::create_dir_all(home.root.join(folder)).context("create a server's home")?;
        }
        Ok(home)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.root);
    }
}

/// Deleted when dropped.
pub struct Home {
    root: PathBuf,
}

impl Home {
    pub fn plugins(&self) -> PathBuf {
        self.root.join("plugins")
    }

    /// The file for the server's stderr.
    pub fn log(&self) -> PathBuf {
        self.root.join("log")
    }

    /// Sets the command's environment to this home, with nothing inherited but `PATH`.
    pub fn set_environment(&self, command: &mut Command) {
        command.env_clear().current_dir(self.root.join("home"));
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HOME", self.root.join("home"));
        for (variable, folder) in [
            ("XDG_CONFIG_HOME", "config"),
            ("XDG_DATA_HOME", "data"),
            ("XDG_CACHE_HOME", "cache"),
            ("XDG_STATE_HOME", "state"),
            ("XDG_RUNTIME_DIR", "runtime"),
        ] {
            command.env(variable, self.root.join(folder));
        }
        let roots = self.root.join("roots.pem");
        if roots.exists() {
            command.env("SSL_CERT_FILE", roots);
        }
    }

    /// Makes the server trust that certificate and no other.
    pub fn trust(&self, pem: &str) -> Result<()> {
        fs::write(self.root.join("roots.pem"), pem).context("write a certificate")
    }

    /// A folder to be granted to a plugin, with one file in it.
    pub fn folder(&self, file: &str, content: &[u8]) -> Result<PathBuf> {
        let folder = self.root.join("given");
        fs::create_dir_all(&folder).and_then(|()| fs::write(folder.join(file), content)).context("create a folder")?;
        Ok(folder)
    }

    /// Writes a configuration file.
    pub fn settings(&self, text: &str) -> Result<PathBuf> {
        let file = self.root.join("wharf.toml");
        fs::write(&file, text).context("write the settings")?;
        Ok(file)
    }

    /// Writes a file beside the configuration that others may not read.
    pub fn secret(&self, name: &str, text: &str) -> Result<()> {
        let mut options = fs::OpenOptions::new();
        options.write(true).create_new(true).mode(0o600);
        let mut file = options.open(self.root.join(name)).context("create a secret")?;
        file.write_all(text.as_bytes()).context("write a secret")
    }

    /// Writes a component that can be moved into the plugin folder.
    pub fn stage(&self, bytes: &[u8]) -> Result<Staged> {
        let file = self.root.join("next");
        fs::write(&file, bytes).context("write a component")?;
        Ok(Staged { file, plugins: self.plugins() })
    }

    /// Puts a plugin into the folder.
    pub fn put(&self, name: &str, bytes: &[u8]) -> Result<()> {
        self.stage(bytes)?.replace(name)
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.root);
    }
}

/// A component on the plugin folder's file system, not yet in the folder.
pub struct Staged {
    file: PathBuf,
    plugins: PathBuf,
}

impl Staged {
    /// Renames it over the plugin of that name, atomically.
    pub fn replace(self, name: &str) -> Result<()> {
        let plugin = self.plugins.join(format!("{name}.wasm"));
        fs::rename(&self.file, &plugin).with_context(|| format!("move a component to {}", plugin.display()))
    }
}

/// The last lines of a log, for an error message.
pub fn tail(log: &Path) -> String {
    let text = fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(20)..].join("\n")
}
