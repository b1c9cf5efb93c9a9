//! Where a server lives while it is measured: its own home, XDG folders and plugin folder.
//! It starts nothing.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Context as _, Result};

/// The folder of all homes of this run. Removed when dropped.
pub struct Scratch {
    root: PathBuf,
    homes: AtomicU32,
}

impl Scratch {
    /// In the system's folder for temporary files (`TMPDIR`).
    pub fn new() -> Result<Self> {
        let root = std::env::temp_dir().join(format!("wharf-bench-{}", std::process::id()));
        fs::create_dir(&root).with_context(|| format!("make the folder {}", root.display()))?;
        Ok(Self { root, homes: AtomicU32::new(0) })
    }

    /// A new home: nothing in its plugin folder, nothing in its cache.
    pub fn home(&self) -> Result<Home> {
        let home = Home { root: self.root.join(self.homes.fetch_add(1, Ordering::Relaxed).to_string()) };
        for folder in ["plugins", "home", "config", "data", "cache", "state", "runtime"] {
            fs::create_dir_all(home.root.join(folder)).context("make a server's home")?;
        }
        Ok(home)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.root);
    }
}

/// Removed when dropped.
pub struct Home {
    root: PathBuf,
}

impl Home {
    pub fn plugins(&self) -> PathBuf {
        self.root.join("plugins")
    }

    /// Where the server's stderr goes.
    pub fn log(&self) -> PathBuf {
        self.root.join("log")
    }

    /// Gives the command this home, and nothing of the environment but `PATH`.
    pub fn furnish(&self, command: &mut Command) {
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

    /// A folder of its own that a plugin can be given, with one file in it.
    pub fn folder(&self, file: &str, content: &[u8]) -> Result<PathBuf> {
        let folder = self.root.join("given");
        fs::create_dir_all(&folder).and_then(|()| fs::write(folder.join(file), content)).context("make a folder")?;
        Ok(folder)
    }

    /// Writes a configuration file.
    pub fn settings(&self, text: &str) -> Result<PathBuf> {
        let file = self.root.join("wharf.toml");
        fs::write(&file, text).context("write the settings")?;
        Ok(file)
    }

    /// A file that is ready to be moved into the plugin folder.
    pub fn ready(&self, bytes: &[u8]) -> Result<Ready> {
        let aside = self.root.join("next");
        fs::write(&aside, bytes).context("write a component")?;
        Ok(Ready { aside, plugins: self.plugins() })
    }

    /// Puts a plugin in the folder.
    pub fn put(&self, name: &str, bytes: &[u8]) -> Result<()> {
        self.ready(bytes)?.replace(name)
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.root);
    }
}

/// A component on the plugin folder's file system, not yet in it.
pub struct Ready {
    aside: PathBuf,
    plugins: PathBuf,
}

impl Ready {
    /// Moves it over the plugin of that name: one system call.
    pub fn replace(self, name: &str) -> Result<()> {
        let plugin = self.plugins.join(format!("{name}.wasm"));
        fs::rename(&self.aside, &plugin).with_context(|| format!("move a component to {}", plugin.display()))
    }
}

/// The last lines of a log, for an error message.
pub fn tail(log: &Path) -> String {
    let text = fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(20)..].join("\n")
}
