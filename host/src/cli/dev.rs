//! Commands for plugin authors: those of `wharf_dev`, with the server's part of them, and `wharf embed`;
//! `wharf import-policy` for migration; and what packages are made with.

mod embed;
mod import_policy;
mod shell;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::Subcommand;
use clap_complete::Shell;
use tokio::process;
use wharf_dev::{Described, PluginName, Server, Toolchain, ToolchainState, with_custom_section};
use wharf_report::{ShowPath as _, shell_word, warning};

use super::finding::Finding;
use super::folder::served_folder;
use super::options::Options;
use super::os_sandbox::granted_folders;
use super::skills::{found_in, refusal};
use super::summary::{OFFERS_NOTHING, carried, is_whole, offers, remarks};
use super::wiring::plugin_settings;
use crate::audit::{self, Audit};
use crate::catalog::{PluginSettings, load_hint};
use crate::config::{self, SchemasConfig};
use crate::os::process::this_program;
use crate::plugin::{Digest, FolderMode, Plugin, PluginId, Provider as _, check_size};
use crate::report::{Failure, NAME, Screen};
use crate::skills::{self, Tree};

/// Log filter: loaded plugins, plugin logs without WebAssembly's frames, and each call.
const LOG_FILTER: &str = "info,guest=debug,guest::frames=off,call=debug";

/// The official inspector. Version 1 has other options.
const INSPECTOR: &str = "npx -y @modelcontextprotocol/inspector@2";

#[derive(Subcommand)]
pub(super) enum Command {
    #[command(flatten)]
    Project(wharf_dev::Command),
    /// Write into components what they list: servers list them before they are compiled
    ///
    /// `wharf build` does that. Sign and approve a component afterwards: its bytes change.
    Embed {
        /// The files
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
        /// A folder of skills, which the components carry from now on, instead of those that they carry
        #[arg(long, value_name = "DIR")]
        skills: Option<PathBuf>,
        /// Remove the skills that the components carry
        #[arg(long, conflicts_with = "skills")]
        without_skills: bool,
    },
    /// Convert a Wassette policy file to grants for the configuration file
    ImportPolicy {
        /// policy.yaml
        file: PathBuf,
        /// The plugin to grant them to [default: NAME of a file called NAME.policy.yaml]
        #[arg(long, value_name = "PLUGIN")]
        name: Option<String>,
    },
    /// Print a script with which a shell completes commands and options
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Write manual pages, one for each command; for packages
    #[command(hide = true)]
    ManPages {
        /// The folder to write them to; created if it is missing
        dir: PathBuf,
    },
}

/// `whole` is the command line with all commands.
pub(super) async fn run(
    options: &Options,
    command: Command,
    whole: fn() -> clap::Command,
    screen: &Screen,
) -> Result<ExitCode, Failure> {
    match command {
        Command::Project(command) => wharf_dev::run(command, options, screen).await,
        Command::Embed { files, skills, without_skills } => {
            embed::run(options, &files, skills.as_deref(), without_skills, screen).await
        }
        Command::ImportPolicy { file, name } => import_policy::run(options, &file, name.as_deref()).await,
        Command::Completions { shell } => shell::completions(&whole(), shell),
        Command::ManPages { dir } => shell::man_pages(whole(), &dir),
    }
}

/// The grants that a policy of Wassette would be, in lines of the configuration.
pub(super) async fn grants_of_policy(options: &Options, id: &PluginId, text: &str) -> Option<Vec<String>> {
    import_policy::grants_of(options, id, text).await
}

impl Server for Options {
    async fn describe(
        &self,
        name: &PluginName,
        component: Arc<Vec<u8>>,
        skills: Option<&Path>,
        out: &Path,
    ) -> Result<Described, Failure> {
        let component = match skills.map(packed_skills).transpose()?.flatten() {
            Some(section) => Arc::new(with_custom_section(&component, skills::SECTION, &section)),
            None => component,
        };
        let id = PluginId::parse(name.as_ref()).map_err(|error| Failure::usage(error.to_string()))?;
        let mut config = self.config()?;
        // What is embedded does not depend on the server of this machine.
        config.server.schemas = SchemasConfig::default();
        let sandbox = self.sandbox(&config, &[out.to_owned()], Audit::default()).await?;
        let PluginSettings { limits, grants, .. } = plugin_settings(&config, &id);
        let loaded = sandbox.load(id, component.clone(), limits, grants.none()).await;
        let plugin =
            loaded.map_err(|error| Failure::new(format!("{error}: {}", out.shown())).hint(load_hint(&error, out)))?;
        // Resources and prompts may be listed later, or with grants.
        if plugin.surface().is_empty() && !plugin.surface().has_other_lists() {
            plugin.warnings().iter().for_each(|dropped| warning(&dropped.to_string()));
            let hint = if plugin.warnings().is_empty() {
                "add a tool, a resource or a prompt"
            } else {
                "change what the warning names"
            };
            return Err(Failure::new(format!(
                "build a plugin that clients can use: it {OFFERS_NOTHING}: {}",
                out.shown()
            ))
            .hint(hint.to_owned()));
        }
        let (section, listing) = plugin.surface().section();
        let with_listing = with_custom_section(&component, section, listing.as_bytes());
        check_size(with_listing.len() as u64).map_err(|error| {
            Failure::new(format!("write into the component what it lists: {error}: {}", out.shown()))
                .hint("without that it is served as well, and listed once it is compiled".to_owned())
        })?;
        sandbox.reuse_code(*plugin.digest(), Digest::of(&with_listing)).await;
        let carried = carried(&plugin);
        Ok(Described { text: describe(&plugin), component: with_listing, carried, is_whole: is_whole(&plugin) })
    }

    fn folder(&self, given: PathBuf) -> Result<PathBuf, Failure> {
        served_folder(self, Some(given))
    }

    fn written(&self) -> Result<Vec<PathBuf>, Failure> {
        let config = self.config()?;
        let log = config.audit();
        let log = log.iter().flat_map(|audit| audit::places(&audit.path, audit.files));
        let granted = granted_folders(&config).filter(|folder| folder.mode != FolderMode::Read);
        let granted = granted.map(|folder| folder.host);
        Ok(self.own_folders(config::base().as_ref()).into_iter().chain(log).chain(granted).collect())
    }

    fn clients(&self, name: &PluginName, address: SocketAddr) -> Result<Vec<String>, Failure> {
        let http = self.config()?.server.http;
        let scheme = if http.tls.is_some() { "https" } else { "http" };
        let token = if http.tokens.is_empty() { "" } else { " --header 'Authorization: Bearer TOKEN'" };
        let (name, url) = (name.as_ref(), format!("{scheme}://{address}/mcp"));
        let mut clients = vec![format!("add it to Claude Code: claude mcp add --transport http {name} {url}{token}")];
        // Node trusts no certificate that was made for development.
        if http.tls.is_none() {
            clients.push(format!("or try it in the MCP inspector: {INSPECTOR} --server-url {url}{token}"));
        }
        Ok(clients)
    }

    fn serve_command(
        &self,
        folder: &Path,
        address: &str,
        trusted: Option<&PluginName>,
    ) -> Result<process::Command, Failure> {
        let program = this_program().map_err(|error| Failure::new(format!("start the server: {error}")))?;
        let mut command = process::Command::new(program);
        command.arg("serve").arg(folder).args(["--http", address, "--for-dev"]);
        if let Some(trusted) = trusted {
            command.args(["--trust", trusted.as_ref()]);
        }
        command.args(["--log", self.log.as_deref().unwrap_or(LOG_FILTER)]);
        for (option, path) in [("--config", &self.config), ("--cache", &self.cache)] {
            if let Some(path) = path {
                command.arg(option).arg(path);
            }
        }
        Ok(command)
    }
}

/// The skills in a folder, as a component carries them. `None`: there are none.
fn packed_skills(folder: &Path) -> Result<Option<Vec<u8>>, Failure> {
    if !folder.is_dir() {
        return Ok(None);
    }
    let (found, errors) = found_in(folder);
    let trees = found.into_iter().map(|skill| skill.version.map(|version| version.tree));
    let trees: Vec<Arc<Tree>> = trees.collect::<Result<_, _>>().map_err(refusal)?;
    if let Some(error) = errors.into_iter().next() {
        return Err(refusal(error));
    }
    if trees.is_empty() {
        return Ok(None);
    }
    let packed = skills::pack(&trees).map_err(|why| Failure::new(format!("{why}: {}", folder.shown())))?;
    Ok(Some(packed))
}

/// The toolchains of `wharf build`, for `wharf doctor`.
pub(super) async fn findings() -> Vec<Finding> {
    let finding = |Toolchain { languages, state }| match state {
        ToolchainState::Ready { program, version } => {
            Finding::good("toolchain", format!("{languages}: {}, version {version}", program.shown()))
        }
        ToolchainState::Outdated { program, version, needed } => Finding::missing(
            "toolchain",
            format!("{languages}: {} has version {version}", program.shown()),
            format!("to build plugins in it, install {needed} or newer, and put its folder first in PATH"),
        ),
        ToolchainState::Unknown { program, argument } => Finding::missing(
            "toolchain",
            format!("{languages}: {} does not print its version", program.shown()),
            format!("look at what this says: {} {argument}", shell_word(&program)),
        ),
        ToolchainState::Missing(install) => Finding::missing(
            "toolchain",
            format!("{languages}: not complete on this machine"),
            format!("to build plugins in it: {install}"),
        ),
    };
    wharf_dev::toolchains().await.into_iter().map(finding).collect()
}

/// What the plugin offers, in a few lines.
fn describe(plugin: &Plugin) -> String {
    let mut text = format!("built {NAME}{}{NAME:#}", plugin.id());
    for (what, names) in offers(plugin) {
        text += &format!("\n  {what:<9} {names}");
    }
    for warning in remarks(plugin) {
        text += &format!("\n  warning   {warning}");
    }
    text
}

#[cfg(test)]
mod tests {
    use wharf_dev::PluginName;

    use crate::plugin::PluginId;

    #[test]
    fn project_names_and_plugin_ids_have_the_same_rule() {
        let long = "x".repeat(48);
        let longer = format!("{long}x");
        for name in ["a", "a-b", "0", "a--b-", &long, "", "-a", "a_b", "A", "a b", "../a", "\u{fc}", "a\n", &longer] {
            let (named, id) = (PluginName::parse(name), PluginId::parse(name));
            assert_eq!(named.is_ok(), id.is_ok(), "{name:?}");
            let parsed = id
                .err()
                .map(|error| error.to_string().replace("parse the plugin name, which must", "the plugin name must"));
            assert_eq!(named.err(), parsed);
        }
    }

    #[test]
    fn skills_are_created_with_names_that_are_served() {
        let long = "x".repeat(64);
        let longer = format!("{long}x");
        for name in ["a", "a-b", "0", "", "-a", "a-", "a--b", "a_b", "A", "a b", "\u{fc}", &long, &longer] {
            assert_eq!(wharf_dev::is_skill_name(name), crate::skills::is_skill_name(name), "{name:?}");
        }
    }
}
