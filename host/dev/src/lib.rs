//! `wharf new`, `wharf build`, `wharf dev` and `wharf upgrade`: plugin projects, created, built with their
//! language's tools, rebuilt on change, and upgraded to this version of Wharf.
//!
//! They start compilers, which a server must not. [`Server`] is what they need from the server.

mod build;
mod child;
mod dev;
mod embedded;
mod files;
mod language;
mod lock;
mod name;
mod new;
mod os;
mod project;
mod section;
mod skill;
mod toolchains;
mod upgrade;
mod wrapper;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::Subcommand;
use tokio::process;
use wharf_report::{Failure, Screen};

use self::build::BuildOptions;
pub use self::build::{install, replace};
use self::dev::DevOptions;
use self::language::Language;
pub use self::name::PluginName;
pub use self::section::{with_custom_section, without_custom_section};
pub use self::skill::is_skill_name;
pub use self::toolchains::{State as ToolchainState, Toolchain, toolchains};

#[derive(Subcommand)]
pub enum Command {
    /// Create a new plugin project, or with --skill a folder of instructions for a model
    New {
        /// The plugin's name: 1 to 48 of a-z, 0-9 and -
        name: String,
        /// The language to write it in
        // Required, but checked by `new::chosen`, whose error lists the languages.
        #[arg(long, value_name = "LANG")]
        lang: Option<Language>,
        /// Folder to create [default: ./NAME]
        #[arg(long, value_name = "PATH")]
        dir: Option<PathBuf>,
        /// Commit the library with the project: leave wharf/ out of .gitignore
        #[arg(long)]
        vendor: bool,
        /// Create a skill, to be put into the folder skills of a plugin folder, and no plugin
        #[arg(long, conflicts_with_all = ["lang", "vendor"])]
        skill: bool,
    },
    /// Build a plugin project with its language's tools, and show what the plugin offers
    Build {
        /// The folder with plugin.toml
        #[arg(default_value = ".")]
        dir: PathBuf,
        #[command(flatten)]
        how: BuildOptions,
    },
    /// Rebuild a plugin whenever its sources change, and serve it over HTTP
    Dev {
        /// The folder with plugin.toml
        #[arg(default_value = ".")]
        dir: PathBuf,
        #[command(flatten)]
        how: DevOptions,
    },
    /// Replace a project's library, the folder wharf/, with that of this version of Wharf
    Upgrade {
        /// The folder with plugin.toml
        #[arg(default_value = ".")]
        dir: PathBuf,
        /// Discard changes that were made in the folder, or take an older version
        #[arg(long)]
        force: bool,
    },
}

/// A component that the server takes.
pub struct Described {
    /// What it offers, in a few lines.
    pub text: String,
    /// The component with what it lists.
    pub component: Vec<u8>,
    /// The skills that it carries, in one line; empty if there are none.
    pub carried: String,
    /// Whether clients get all that it lists.
    pub is_whole: bool,
}

/// The server that plugins are built for.
pub trait Server {
    /// Loads a component as the server would, without any grant. It is to be written to `out`, which errors name, and to
    /// carry the skills in the folder `skills`, if that is given and exists; otherwise those that it carries already.
    fn describe(
        &self,
        name: &PluginName,
        component: Arc<Vec<u8>>,
        skills: Option<&Path>,
        out: &Path,
    ) -> impl Future<Output = Result<Described, Failure>>;

    /// Checks the folder to serve.
    ///
    /// # Errors
    /// If it does not exist, or is not a folder.
    fn folder(&self, given: PathBuf) -> Result<PathBuf, Failure>;

    /// The command that serves a folder over HTTP at an address until its stdin ends, and logs each call. Every version of
    /// the plugin `trusted` runs without approval: nothing but its builds may be in the folder.
    ///
    /// # Errors
    /// If the server's program cannot be found.
    fn serve_command(
        &self,
        folder: &Path,
        address: &str,
        trusted: Option<&PluginName>,
    ) -> Result<process::Command, Failure>;

    /// The files and folders that the server writes to.
    ///
    /// # Errors
    /// If the configuration cannot be read.
    fn written(&self) -> Result<Vec<PathBuf>, Failure>;

    /// How clients connect to the server of that plugin at that address, each in a line with its command.
    ///
    /// # Errors
    /// If the configuration cannot be read.
    fn clients(&self, name: &PluginName, address: SocketAddr) -> Result<Vec<String>, Failure>;
}

/// Runs the command.
///
/// # Errors
/// Why it failed.
pub async fn run(command: Command, server: &impl Server, screen: &Screen) -> Result<ExitCode, Failure> {
    match command {
        Command::New { name, dir, skill: true, .. } => skill::run(&name, dir),
        Command::New { name, lang, dir, vendor, skill: false } => new::run(&name, new::chosen(lang)?, dir, vendor),
        Command::Build { dir, how } => build::run(server, &dir, &how, screen).await,
        Command::Dev { dir, how } => dev::run(server, &dir, how, screen).await,
        Command::Upgrade { dir, force } => upgrade::run(&dir, force),
    }
}
