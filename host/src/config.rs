//! The configuration file and its defaults.
//!
//! Never read from the current folder or the plugin folder: creating a file there must not grant
//! anything.

mod address;
mod audit;
mod base;
mod budgets;
mod command;
mod duration;
mod edit;
mod error;
mod exchange;
mod extra;
mod folders;
mod format;
mod grants;
mod http;
mod limits;
mod live;
mod metrics;
mod nodes;
mod oauth;
mod outbound;
mod page;
mod path;
mod personal;
mod private;
mod program;
mod record;
mod registries;
mod rights;
mod sandbox;
mod schemas;
mod secret;
mod server_card;
mod size;
mod source;
mod store;
mod tasks;
mod telemetry;
mod trust;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use audit::AuditConfig;
pub use base::{Base, base};
pub use budgets::BudgetConfig;
pub use command::CommandConfig;
pub use edit::{GrantWord, add_grants, remove_grants, set_tool_file, with_line_ends};
pub use error::ConfigError;
use error::WrongValue;
pub use exchange::ExchangeConfig;
pub use extra::ExtraConfig;
pub use folders::{FolderConfig, FolderModeConfig};
pub use grants::{GrantsConfig, KeyvalueConfig, KeyvalueLimits};
pub use http::{HttpConfig, TlsConfig, TokenConfig};
pub use limits::LimitsConfig;
pub use live::Live;
pub use metrics::MetricsConfig;
pub use nodes::NodesConfig;
pub use oauth::{IntrospectionConfig, IssuerConfig, OAuthConfig};
pub use outbound::HttpEntry;
pub use page::PageConfig;
pub use path::ConfigPath;
pub use record::{RecordConfig, Recording};
pub use registries::{PublisherKey, RegistryConfig, RequiredKeys};
pub use rights::RightsConfig;
pub use sandbox::SandboxConfig;
pub use schemas::SchemasConfig;
pub use secret::SecretEntry;
pub use server_card::ServerCardConfig;
pub use source::SecretConfig;
pub use store::StoreConfig;
pub use tasks::TasksConfig;
pub use telemetry::TelemetryConfig;
pub use trust::{SignaturesConfig, TrustConfig};
use wharf_report::{InvalidToml, ShowPath as _, from_toml_of, toml_place};

use crate::os::files::FileError;
use crate::os::private as trusted;
use crate::plugin::{Grants, Limits, Pages, PluginId};

/// Maximum bytes of the configuration file.
const MAX_SIZE: u64 = 1 << 20;
/// A file that was replaced is another one to the OS sandbox, unless its folder is allowed.
const DENIED: &str =
    "make it readable; if it is, restart the server: the OS sandbox allows only what was there at the start";
/// Minimum characters of a state key: 128 bits in hexadecimal.
const MIN_STATE_KEY: usize = 32;

/// The whole file. Every key is optional; an unknown one is an error.
#[derive(Clone, Debug, Default, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Config {
    pub server: ServerConfig,
    pub limits: LimitsConfig,
    /// Calls that go on without their request.
    pub tasks: TasksConfig,
    /// Where they are kept.
    pub store: StoreConfig,
    pub signatures: SignaturesConfig,
    pub audit: AuditConfig,
    pub metrics: MetricsConfig,
    pub page: PageConfig,
    pub telemetry: TelemetryConfig,
    /// Recordings of calls.
    pub record: RecordConfig,
    pub sandbox: SandboxConfig,
    /// Who may use what.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rights: Option<RightsConfig>,
    /// What may be spent in a time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budgets: Option<Vec<BudgetConfig>>,
    /// Where commands get plugins from, by host and path.
    pub registries: BTreeMap<String, RegistryConfig>,
    pub plugins: BTreeMap<String, PluginConfig>,
    /// The sources of the secrets that grants name.
    pub secrets: BTreeMap<String, SecretEntry>,
    /// The path that it was read from, or would have been.
    #[serde(skip)]
    pub file: Option<PathBuf>,
    /// It is for one command, and no server: hints do not say what to do with one.
    #[serde(skip)]
    pub of_command: bool,
}

/// `[server]`.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct ServerConfig {
    /// The server name in MCP's `serverInfo`.
    pub name: String,
    /// What people are shown in place of the name.
    pub title: Option<String>,
    /// What the server is for, for people.
    pub description: Option<String>,
    /// What a model should know of this server; sent to clients as `instructions`.
    pub instructions: Option<String>,
    /// Entries in one page of a list.
    pub page_size: usize,
    /// How long after the start lists wait at most for plugins that are being loaded.
    #[serde(with = "duration")]
    pub first_list: Duration,
    /// Offer two tools that find and call the others, for clients that list tools only once.
    pub discovery: bool,
    /// Let calls that take long become tasks.
    pub tasks: bool,
    /// Offer a tool by which a model may propose a plugin, for a person to look at.
    pub proposals: bool,
    /// How clients are shown the schemas of tools.
    pub schemas: SchemasConfig,
    /// The key shared by several processes that serve the same clients; otherwise each generates its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state_key: Option<SecretConfig>,
    /// Which versions of plugins run without approval; the default depends on the listen address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trust: Option<TrustConfig>,
    pub http: HttpConfig,
}

impl Default for ServerConfig {
    fn default() -> Self {
        Self {
            name: "wharf".into(),
            title: None,
            description: None,
            instructions: None,
            page_size: 1000,
            first_list: Duration::from_secs(3),
            discovery: false,
            tasks: true,
            proposals: false,
            schemas: SchemasConfig::default(),
            state_key: None,
            trust: None,
            http: HttpConfig::default(),
        }
    }
}

/// `[plugins.NAME]`; NAME is the stem of the plugin's file name.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct PluginConfig {
    /// Whether its tools are named `<plugin>_<tool>`.
    pub prefix: bool,
    /// The naming scheme of its tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub names: Option<NamesConfig>,
    /// The only digest that may run: `blake3:` and 64 hexadecimal digits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pin: Option<String>,
    /// What its pages may reach.
    pub pages: PagesConfig,
    /// Of a command-line program.
    pub command: CommandConfig,
    pub limits: LimitsConfig,
    pub tasks: TasksConfig,
    pub grants: GrantsConfig,
    /// What some callers have in addition. Not serialized: only the defaults are written, and this is empty.
    #[serde(skip_serializing)]
    pub extra: Vec<ExtraConfig>,
}

impl Default for PluginConfig {
    fn default() -> Self {
        Self {
            prefix: true,
            names: None,
            pin: None,
            pages: PagesConfig::default(),
            command: CommandConfig::default(),
            limits: LimitsConfig::default(),
            tasks: TasksConfig::default(),
            grants: GrantsConfig::default(),
            extra: Vec::new(),
        }
    }
}

/// The naming scheme of a plain component's tools.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum NamesConfig {
    /// `<package>_<interface>_<function>`, without the plugin's name.
    Wassette,
}

/// What the pages of a plugin, which chat clients show, may have of what they ask for.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum PagesConfig {
    /// All: any origin, camera, microphone, location, clipboard.
    Declared,
    /// The origins that the plugin's own grants cover.
    #[default]
    Granted,
    /// Nothing.
    None,
}

impl From<PagesConfig> for Pages {
    fn from(config: PagesConfig) -> Self {
        match config {
            PagesConfig::Declared => Self::Declared,
            PagesConfig::Granted => Self::Granted,
            PagesConfig::None => Self::None,
        }
    }
}

impl Config {
    /// Reads a file.
    ///
    /// # Errors
    /// If it cannot be read, other users can write it, it is not TOML, or has an unknown key or an invalid value.
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        Self::of_file(path, trusted::read_text(path, MAX_SIZE))
    }

    /// As [`Config::read`]. A missing file grants nothing: the defaults apply.
    ///
    /// # Errors
    /// As [`Config::read`].
    pub fn read_or_default(path: &Path) -> Result<Self, ConfigError> {
        match trusted::read_text(path, MAX_SIZE) {
            Err(FileError::System(error))
                if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) =>
            {
                Ok(Self { file: Some(path.to_owned()), ..Self::default() })
            }
            text => Self::of_file(path, text),
        }
    }

    /// The text of a file; a missing one is empty.
    ///
    /// # Errors
    /// As [`Config::read`], if it cannot be read.
    pub fn text(path: &Path) -> Result<String, ConfigError> {
        match trusted::read_text(path, MAX_SIZE) {
            Err(FileError::System(error)) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
            text => Self::readable(path, text),
        }
    }

    /// The configuration that a file would be with that text.
    ///
    /// # Errors
    /// As [`Config::read`], if it is not valid.
    pub fn with_text(path: &Path, text: String) -> Result<Self, ConfigError> {
        Self::of_file(path, Ok(text))
    }

    fn of_file(path: &Path, text: Result<String, FileError>) -> Result<Self, ConfigError> {
        let text = Self::readable(path, text)?;
        let config = Self::parse(&text)
            .map_err(|error| ConfigError { place: format!("{}: {}", path.shown(), error.place), ..error })?;
        Ok(Self { file: Some(path.to_owned()), ..config })
    }

    fn readable(path: &Path, text: Result<String, FileError>) -> Result<String, ConfigError> {
        let denied = |error: &FileError| matches!(error, FileError::System(error) if error.kind() == io::ErrorKind::PermissionDenied);
        text.map_err(|error| {
            let hint = trusted::repair(&error, path).or_else(|| denied(&error).then(|| DENIED.into()));
            let reason = format!("{}: {error}", path.shown());
            ConfigError { temporary: error.is_temporary(), ..ConfigError::new(reason, hint) }
        })
    }

    /// # Errors
    /// As [`Config::read`]; the place is given as line and column.
    pub fn parse(text: &str) -> Result<Self, ConfigError> {
        let config: Self = from_toml_of(text, &format::FORMAT)
            .map_err(|InvalidToml { place, reason, hint }| ConfigError::at(place, reason, hint))?;
        config.check().map_err(|WrongValue { keys, why, hint }| {
            let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
            let names: Vec<&str> = keys.iter().copied().filter(|key| key.parse::<usize>().is_err()).collect();
            ConfigError::at(toml_place(text, &keys), format!("{}: {why}", names.join(".")), hint)
        })?;
        Ok(config)
    }

    /// What the types do not check.
    fn check(&self) -> Result<(), WrongValue> {
        for (name, plugin) in &self.plugins {
            PluginId::parse(name).map_err(|error| {
                let stem = name.strip_suffix(".wasm").unwrap_or(name);
                let hint = match PluginId::of_file(stem) {
                    Ok(id) => format!("write [plugins.{id}]: that is the name of the plugin in '{stem}.wasm'"),
                    Err(_) => "use the plugin's file name without '.wasm'".into(),
                };
                WrongValue::at(&["plugins", name], error.to_string()).hint(hint)
            })?;
            if let Some(Err((why, hint))) = plugin.command.tool.as_deref().map(ConfigPath::parse) {
                return Err(WrongValue::at(&["plugins", name, "command", "tool"], why).hint(hint));
            }
            plugin.grants.check().map_err(|wrong| wrong.below(&["plugins", name, "grants"]))?;
            plugin.tasks.check().map_err(|wrong| wrong.below(&["plugins", name, "tasks"]))?;
            plugin.check_extra(self).map_err(|wrong| wrong.below(&["plugins", name, "extra"]))?;
        }
        self.tasks.check().map_err(|wrong| wrong.below(&["tasks"]))?;
        self.store.check().map_err(|wrong| wrong.below(&["store"]))?;
        if let Some(nodes) = &self.server.http.nodes {
            nodes.check(self.store.is_shared())?;
        }
        self.check_trust()?;
        self.check_registries()?;
        self.check_rights().map_err(|wrong| wrong.below(&["rights"]))?;
        self.check_budgets().map_err(|wrong| wrong.below(&["budgets"]))?;
        if self.server.page_size == 0 {
            let hint = "write it like this: page-size = 1000";
            return Err(WrongValue::at(&["server", "page-size"], "must be at least 1, found 0").hint(hint));
        }
        if let Some(key) = &self.server.state_key {
            key.check("state-key", "WHARF_STATE_KEY", "state-key").map_err(|wrong| wrong.below(&["server"]))?;
        }
        self.server.http.check().map_err(|wrong| wrong.below(&["server", "http"]))?;
        server_card::check_texts(self.server.title.as_deref(), self.server.description.as_deref())?;
        if let Some(card) = &self.server.http.server_card {
            let has_description = self.server.description.is_some();
            card.check(self.server.http.server_card_url(), &self.server.name, has_description)?;
        }
        self.metrics.check().map_err(|wrong| wrong.below(&["metrics"]))?;
        self.page.check().map_err(|wrong| wrong.below(&["page"]))?;
        self.telemetry.check().map_err(|wrong| wrong.below(&["telemetry"]))?;
        self.record.check().map_err(|wrong| wrong.below(&["record"]))?;
        self.check_secrets()?;
        self.check_exchanges()?;
        self.audit.check().map_err(|wrong| wrong.below(&["audit"]))
    }

    /// The key that seals state carried by clients, if one is set.
    ///
    /// # Errors
    /// If it is missing or too short.
    pub fn state_key(&self) -> Result<Option<[u8; 32]>, ConfigError> {
        let Some(key) = &self.server.state_key else { return Ok(None) };
        let secret = key.read(self, "server.state-key: the key", MIN_STATE_KEY)?;
        Ok(Some(blake3::derive_key("wharf state key v1", secret.as_bytes())))
    }

    /// The limits of one plugin.
    pub fn limits(&self, id: &PluginId) -> Limits {
        let mut limits = Limits::default();
        self.limits.apply(&mut limits);
        self.tasks.apply(&mut limits.tasks);
        if let Some(own) = self.plugins.get(id.as_ref()) {
            own.limits.apply(&mut limits);
            own.tasks.apply(&mut limits.tasks);
        }
        limits
    }

    /// The grants of one plugin, with what some callers have in addition.
    pub fn grants(&self, id: &PluginId) -> Grants {
        let own = self.plugins.get(id.as_ref());
        let file = self.file.as_ref().map_or_else(|| "wharf.toml".into(), |file| file.shown().to_string());
        let place = format!("under `[plugins.{id}.grants]` in {file}");
        let extras = own.map(|own| own.extras(self, &place)).unwrap_or_default();
        let command = format!("{} grant {id}", self.program());
        let grants = own.map(|own| &own.grants).unwrap_or(&GrantsConfig::default()).grants(self, place);
        let pages = own.map(|own| own.pages).unwrap_or_default().into();
        let program = own.map(|own| own.command.settings(|path| self.resolve(Path::new(path)))).unwrap_or_default();
        Grants { command, extras, pages, program, ..grants }
    }

    /// Whether the names of a plugin's tools are prefixed with its own.
    pub fn prefix(&self, id: &PluginId) -> bool {
        self.plugins.get(id.as_ref()).is_none_or(|own| own.prefix)
    }

    /// The naming scheme of a plugin's tools, if not the default.
    pub fn names(&self, id: &PluginId) -> Option<NamesConfig> {
        self.plugins.get(id.as_ref())?.names
    }

    /// The default configuration file.
    pub fn defaults() -> String {
        let limits = LimitsConfig::from(&Limits::default());
        let tasks = TasksConfig::from(&Limits::default().tasks);
        let shown = Self { limits, tasks, ..Self::default() };
        let values = toml::to_string(&shown).unwrap_or_default();
        format!(
            "{HEADER}{}\n{EXAMPLES}",
            values.replace("[registries]\n", "").replace("[plugins]\n", "").replace("[secrets]\n", "").trim_end()
        )
    }
}

const HEADER: &str = "\
# Wharf's defaults. Keep what you change; delete the rest.
# Read from --config FILE, otherwise from $XDG_CONFIG_HOME/wharf/wharf.toml.

";

const EXAMPLES: &str = "
# In [server], where several processes serve the same clients:
# state-key = { env = \"WHARF_STATE_KEY\" }  # or { file = \"state-key\" }; the same for all

# In [server.http], for clients over HTTP:
# address = \"127.0.0.1:8080\"  # listen here instead of stdin; or \"unix:/path\", or \"systemd\"
# tokens = [{ name = \"ci\", env = \"WHARF_TOKEN\" }, { name = \"me\", file = \"token\" }]
# oauth = { resource = \"https://tools.example/mcp\", issuers = [{ issuer = \"https://login.example\" }] }
# tls = { cert = \"cert.pem\", key = \"key.pem\" }
# nodes = { address = \"10.0.0.5:7420\" }  # where the other nodes of [store] send requests of sessions
# server-card = { url = \"https://tools.example/mcp\" }  # experimental: anyone may read where the server is

# In [store], where several machines share their tasks; otherwise they are in a file of the state folder:
# url = \"postgres://wharf@db.example/wharf\"  # or \"nats://wharf@nats.example/wharf\", or \"sqlite:PATH\"
# password = { env = \"STORE_PASSWORD\" }       # or { file = \"store-password\" }
# ca = \"ca.pem\"             # trust these certificates in place of the system's

# Sources of the secrets that grants name; never the secrets themselves:
# [secrets]
# weather = { env = \"WEATHER_TOKEN\" }  # or { file = \"weather-token\" }

# Which versions run without approval: \"default\", all but updates with grants that change their tool
# descriptions or imports; \"strict\", none (the default where other machines connect); \"dev\", all.
# trust = \"strict\"            # in [server]

# Trusted signers; a signature is NAME.wasm.minisig beside its file:
# [signatures]
# keys = [\"RW…\"]             # public keys of minisign
# required = true             # nothing unsigned is loaded

# Where wharf add gets plugins from, by host and path:
# [registries.\"ghcr.io/acme\"]
# keys = [\"acme.pub\"]      # keys of cosign (files) or minisign: each version must be signed by one
# mirror = \"registry.example/acme\"  # ask there in its place
# private = true              # its redirects and token servers may be at private addresses
# http = true                 # it has no TLS

# In [audit], what is recorded of calls and plugins:
# enabled = false             # or true: serve nothing without it
# path = \"audit.jsonl\"        # otherwise $XDG_STATE_HOME/wharf/audit.jsonl

# Where Prometheus asks for metrics:
# [metrics]
# address = \"127.0.0.1:9464\"
# token = { env = \"METRICS_TOKEN\" }  # or { file = \"metrics-token\" }; needed where other machines connect

# Where operators open the live page in a browser:
# [page]
# address = \"127.0.0.1:9480\"
# token = { env = \"PAGE_TOKEN\" }  # or { file = \"page-token\" }; otherwise drawn at each start

# Where traces and metrics are exported to:
# [telemetry]
# endpoint = \"http://127.0.0.1:4318\"
# token = { env = \"OTLP_TOKEN\" }  # or { file = \"otlp-token\" }

# Which calls are recorded, to be run again by wharf replay, wharf test and wharf shadow:
# [record]
# folder = \"recordings\"
# sample = 0.01               # one call of a hundred; otherwise all
# plugins = [\"example\"]       # otherwise all
# max-size = \"16 MiB\"         # of one recording
# keep = 1000                 # files; the oldest go
# keep-size = \"1 GiB\"

# For one plugin; its name is the file name without '.wasm':
# [plugins.example]
# prefix = true               # tools are named example_<tool>
# names = \"wassette\"        # a plain component's tools are <package>_<interface>_<function>
# pin = \"blake3:…\"           # only this version runs; wharf status shows it
# command = { tool = \"example.tool.json\", json = true }  # of a command-line program: docs/programs.md
# [plugins.example.limits]    # any of [limits]
# timeout = \"5s\"
# [plugins.example.grants]    # what it may access; nothing by default
# keyvalue = true             # keep values between calls, 1MiB in total; or { quota = \"4MiB\" }
# http = [\"https://api.example.com/v1\"]  # GET and HEAD below that URL; more in docs/configuration.md
# secrets = [\"weather\"]       # read these entries of [secrets]
# elicit = true               # ask the user, with forms and pages
# sample = true               # ask the client's model
# roots = true                # ask which folders the user works in
# fs = [{ host = \"./data\", guest = \"/data\", mode = \"write\", quota = \"64MiB\" }]  # or \"read\"
# env = { LANG = \"C\" }       # its environment
# config = { unit = \"metric\" }  # its wasi:config values
# change-lists = true         # change its tool descriptions at any time, while it holds grants
# [[plugins.example.extra]]   # what some callers have in addition
# when = { scope = \"notes:write\" }  # as in rules of [rights]: more in docs/rights.md
# grants = { http = [\"https://api.example.com/write\"] }
# limits = { timeout = \"2m\" }
";

#[cfg(test)]
mod tests;
