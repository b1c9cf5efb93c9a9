//! An in-process client: commands send requests to a real server, and so see what clients see.

mod unknown;

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use wharf_report::{ShowPath as _, shell_word, warning};

use super::absent::{self, Absent};
use super::folder::{is_file, near_path};
use super::load_file::{Refused, id_of, load_admitted};
use super::options::Options;
use super::survey::choice_in;
use super::{suspected, wiring};
use crate::audit::Audit;
use crate::catalog::{
    Catalog, Entry, Folder, FolderEvent, FolderWarning, Held, Member, RefusedFile, Snapshot, plugin_of,
};
use crate::config::Config;
use crate::identity::Identity;
use crate::json;
use crate::os::paths::folder_of;
use crate::pins::Reason;
use crate::plugin::abi::Prompt;
use crate::plugin::{FrozenTool, PluginId, Provider};
use crate::report::{self, Failure, Screen};
use crate::server::{Connection, Outgoing, Server};

/// A server whose catalog is complete, and a connection to it.
pub(super) struct Local {
    catalog: Arc<Catalog>,
    connection: Arc<Connection>,
    answers: mpsc::Receiver<Outgoing>,
    path: PathBuf,
    /// The command for hints, with its configuration.
    pub(super) program: String,
    pub(super) config: Arc<Config>,
    /// Where progress is shown.
    screen: Screen,
    /// Settings of plugins that are not there.
    absent: Vec<Absent>,
    /// Files that are not served, for any reason but the next.
    refusals: Vec<RefusedFile>,
    /// Of a folder, the versions that are held.
    held: Vec<Held>,
    /// Other events of the folder.
    events: Vec<FolderEvent>,
}

/// Characters of a bar of progress.
const BAR: usize = 20;
/// Names in a hint, or in a line of progress.
const SUGGESTIONS: usize = 5;

impl Local {
    /// Loads a folder, or one file. What the plugins of a folder print while they are listed is not shown.
    pub(super) async fn load(options: &Options, path: &Path, screen: &Screen) -> Result<Self, Failure> {
        if !path.exists() {
            let hint = match (near_path(path), unbuilt(path)) {
                (_, Some(project)) => {
                    Some(format!("build it first: {} build {}", options.program(), shell_word(project)))
                }
                (near @ Some(_), None) => near,
                (None, None) => (!is_file(path)).then(|| {
                    "name the folder of the plugins, or a .wasm file, first: wharf call DIR TOOL, wharf list DIR"
                        .to_owned()
                }),
            };
            return Err(
                Failure::usage(format!("read the plugins: no such file or folder: {}", path.shown())).hint(hint)
            );
        }
        let config = Arc::new(Config { of_command: true, ..options.config()? });
        let catalog = Arc::new(Catalog::default());
        let server = Server::new(catalog.clone(), wiring::server_settings(&config)?);
        let sandbox = options.sandbox(&config, &[path.to_owned()], Audit::default()).await?;
        let (mut refusals, mut absent, mut rest, mut held) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        if !path.is_dir() {
            let failed = |(reason, hint): Refused| Failure::new(format!("{reason}: {}", path.shown())).hint(hint);
            let id = id_of(&config, path).map_err(failed)?;
            let settings = wiring::plugin_settings(&config, &id);
            let naming = settings.naming;
            let loading = load_admitted(&config, &sandbox, path, &id, &settings);
            let plugin = screen.timed(&format!("loading {id}"), loading).await.map_err(failed)?;
            let warnings = catalog.put(Member { provider: Arc::new(plugin), naming, pinned_surface: None });
            rest.extend(warnings.into_iter().map(|warning| FolderEvent::Warned(FolderWarning::Name(warning))));
            catalog.set_ready();
        } else {
            screen.mute_guests(true);
            let (sender, mut events) = mpsc::unbounded_channel();
            let settings = config.clone();
            let mut folder = Folder::new(
                path.to_owned(),
                catalog.clone(),
                sandbox,
                move |id| wiring::plugin_settings(&settings, id),
                sender,
            )
            .with_guard(wiring::read_only_guard(&config)?)
            .with_program(config.program());
            let mut seen = Vec::new();
            let what = || {
                while let Ok(event) = events.try_recv() {
                    seen.push(event);
                }
                loading(&seen)
            };
            screen
                .timed_as(what, folder.load_once())
                .await
                .map_err(|error| Failure::usage(format!("read the plugin folder: {error}: {}", path.shown())))?;
            drop(folder);
            absent = choice_in(&config, path)
                .map_or_else(|_| Vec::new(), |files| absent::warnings(&config, path, files.names()));
            while let Ok(event) = events.try_recv() {
                seen.push(event);
            }
            for event in seen {
                match event {
                    FolderEvent::Refused(refusal) => refusals.push(refusal),
                    FolderEvent::Held(version) => held.push(version),
                    // For the plugin's author, not its user.
                    FolderEvent::Warned(FolderWarning::Listing(_, warning)) if warning.is_of_functions() => {}
                    other => rest.push(other),
                }
            }
            // As the folder lists them, and not as they were loaded.
            refusals.sort_by(|one: &RefusedFile, other| one.path.cmp(&other.path));
            held.sort_by(|one: &Held, other| one.path.cmp(&other.path));
            screen.mute_guests(false);
        }
        let (outbox, answers) = mpsc::channel(16);
        let connection = server.connect(outbox, &Arc::new(Identity::local()));
        let (path, program, screen) = (path.to_owned(), config.program(), screen.clone());
        Ok(Self { catalog, connection, answers, path, program, config, screen, absent, refusals, held, events: rest })
    }

    /// Reports on stderr which files are not served, settings without effect, and other events.
    pub(super) fn report(&self) {
        self.absent.iter().for_each(|absent| warning(&absent.text));
        self.refusals.iter().for_each(report::refusal);
        self.held.iter().for_each(report::held);
        self.events.iter().for_each(report::log);
    }

    /// Whether every file of the folder is served.
    pub(super) fn serves_all(&self) -> bool {
        self.refusals.is_empty() && self.held.is_empty()
    }

    /// The files of plugins whose versions may be approved during `call`.
    pub(super) fn waiting(&self) -> Vec<(PluginId, PathBuf)> {
        let waits = |held: &&Held| {
            !held.decision.plugin.is_skill() && held.decision.outcome.as_ref().is_err_and(Reason::needs_approval)
        };
        let waiting = self.held.iter().filter(waits);
        waiting.map(|held| (held.decision.plugin.clone(), held.path.clone())).collect()
    }

    /// Reports refused files of one plugin, and settings that may be meant for it.
    fn report_of(&self, id: &PluginId) {
        let meant = |absent: &&Absent| absent.meant == id.as_ref();
        self.absent.iter().filter(meant).for_each(|absent| warning(&absent.text));
        self.refusals.iter().filter(|refusal| is_of(refusal, id)).for_each(report::refusal);
        self.held.iter().filter(|held| held.decision.plugin == *id).for_each(report::held);
    }

    /// Whether a plugin may ask the user.
    pub(super) fn may_ask(&self, id: &PluginId) -> bool {
        self.config.grants(id).elicit
    }

    /// What is served.
    pub(super) fn snapshot(&self) -> Arc<Snapshot> {
        self.catalog.snapshot()
    }

    /// A tool by its public name; of a single file also by its name within the plugin.
    pub(super) fn tool(&self, name: &str) -> Result<Entry<FrozenTool>, Failure> {
        let snapshot = self.catalog.snapshot();
        let found = tool_of(&snapshot, &self.path, name);
        self.found(found, "tool", name, snapshot.tools.names())
    }

    /// The public name of a tool or prompt, or the URI of a resource or template, by which the lists have it.
    pub(super) fn public_name(&self, name: &str) -> Result<String, Failure> {
        let snapshot = self.catalog.snapshot();
        if snapshot.resources.get(name).is_some() || snapshot.templates.get(name).is_some() {
            return Ok(name.to_owned());
        }
        let public = tool_of(&snapshot, &self.path, name).map(|tool| tool.name.to_string());
        if let Some(public) = public.or_else(|| Some(prompt_of(&snapshot, &self.path, name)?.name.to_string())) {
            return Ok(public);
        }
        let lists = snapshot.resources.names().chain(snapshot.templates.names());
        Err(self.unknown("entry", name, snapshot.tools.names().chain(snapshot.prompts.names()).chain(lists)))
    }

    /// A prompt, as [`Self::tool`].
    pub(super) fn prompt(&self, name: &str) -> Result<Entry<Prompt>, Failure> {
        let snapshot = self.catalog.snapshot();
        let found = prompt_of(&snapshot, &self.path, name);
        self.found(found, "prompt", name, snapshot.prompts.names())
    }

    fn found<'n, T>(
        &self,
        entry: Option<&Entry<T>>,
        kind: &str,
        name: &str,
        names: impl Iterator<Item = &'n str>,
    ) -> Result<Entry<T>, Failure> {
        let entry = entry.ok_or_else(|| self.unknown(kind, name, names))?;
        self.report_of(entry.provider.id());
        Ok(entry.clone())
    }

    /// Fails unless a plugin serves the URI: it is listed, or fits a template.
    pub(super) fn expect_resource(&self, uri: &str) -> Result<Arc<dyn Provider>, Failure> {
        let snapshot = self.catalog.snapshot();
        match snapshot.provider_of(uri) {
            Some(provider) => {
                self.report_of(provider.id());
                Ok(provider.clone())
            }
            None if snapshot.templates.get(uri).is_some() => Err(Failure::usage(format!("read a template: {uri}"))
                .hint("write a value in place of each name in braces".to_owned())),
            None => Err(self.unknown("resource", uri, snapshot.resources.names().chain(snapshot.templates.names()))),
        }
    }

    /// The result of one request in the newest revision, sent with these client capabilities.
    pub(super) async fn request(
        &mut self,
        method: &str,
        mut params: serde_json::Map<String, Value>,
        capabilities: Value,
    ) -> Result<Box<RawValue>, Failure> {
        params.insert(
            "_meta".into(),
            json!({
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": capabilities,
                "progressToken": 1,
            }),
        );
        let request = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
        self.connection.receive(request.as_bytes()).await;
        let waiting = RefCell::new("waiting for the plugin".to_owned());
        let failed = |reason: String| Failure::new(format!("get a response to {method}: {reason}"));
        let Self { answers, screen, .. } = self;
        let answered = async {
            loop {
                let received = answers.recv().await.ok_or_else(|| failed("the server sent none".into()))?;
                let message: Received = json::read(&received.text).map_err(|error| failed(error.to_string()))?;
                match message.method.as_deref() {
                    None => return Ok(message),
                    Some("notifications/progress") => {
                        let step = progress(&message.params);
                        screen.show_progress(&step);
                        waiting.replace(step);
                    }
                    // What the plugin logs is in the host's log.
                    Some(_) => {}
                }
            }
        };
        let answer = screen.timed_as(|| waiting.borrow().clone(), answered).await?;
        self.screen.end_progress();
        match (answer.result, answer.error) {
            (Some(result), _) => Ok(result),
            (None, Some(error)) => Err(error.into_failure(method)),
            (None, None) => Err(failed("it has neither result nor error".into())),
        }
    }
}

/// The project that builds a missing file into its `dist`.
fn unbuilt(missing: &Path) -> Option<&Path> {
    let dist =
        folder_of(missing).filter(|dist| is_file(missing) && dist.file_name().is_some_and(|name| name == "dist"))?;
    let project = folder_of(dist).unwrap_or(Path::new("."));
    project.join("plugin.toml").is_file().then_some(project)
}

/// Whether a file has the name of that plugin.
fn is_of(refusal: &RefusedFile, id: &PluginId) -> bool {
    plugin_of(&refusal.path).is_some_and(|named| named.is_ok_and(|named| named == *id))
}

/// A tool by its public name; if `path` is a single file, also by its name within the plugin.
pub(super) fn tool_of<'s>(snapshot: &'s Snapshot, path: &Path, name: &str) -> Option<&'s Entry<FrozenTool>> {
    let own = |entry: &&Entry<FrozenTool>| is_file(path) && entry.item().tool.name == name;
    snapshot.tools.get(name).or_else(|| snapshot.tools.entries().iter().find(own))
}

/// A prompt, as [`tool_of`].
pub(super) fn prompt_of<'s>(snapshot: &'s Snapshot, path: &Path, name: &str) -> Option<&'s Entry<Prompt>> {
    let own = |entry: &&Entry<Prompt>| is_file(path) && entry.item().name == name;
    snapshot.prompts.get(name).or_else(|| snapshot.prompts.entries().iter().find(own))
}

/// A response or a notification.
#[derive(serde::Deserialize)]
struct Received {
    method: Option<String>,
    #[serde(default)]
    params: Value,
    result: Option<Box<RawValue>>,
    error: Option<ErrorAnswer>,
}

#[derive(serde::Deserialize)]
struct ErrorAnswer {
    message: String,
    #[serde(default)]
    data: Value,
}

impl ErrorAnswer {
    fn into_failure(self, method: &str) -> Failure {
        let what = match method {
            "tools/call" => "call the tool",
            "resources/read" => "read the resource",
            "prompts/get" => "get the prompt",
            method => method,
        };
        let missing = self.data["requiredCapabilities"].as_object();
        // For who is at the shell, and has no other client.
        let (why, client) = match missing.map(|missing| missing.contains_key("elicitation")) {
            Some(true) => (
                "it asks a question, and nobody can answer".to_owned(),
                Some("run this on a terminal, or answer with --answer yes or --answer NAME=VALUE"),
            ),
            Some(false) => {
                ("it asks its client for what this command cannot do".to_owned(), Some(suspected::OTHER_CLIENT))
            }
            None => (argument(&self.message), None),
        };
        let what = format!("{what}: {why}");
        let failure = if self.data["reason"] == "plugin_fault" { Failure::new(what) } else { Failure::usage(what) };
        failure.hint(client.map(str::to_owned))
    }
}

/// The message of invalid parameters, with the names of arguments as they are typed.
fn argument(message: &str) -> String {
    match message.strip_prefix("Invalid params: params.arguments.") {
        Some(rest) => format!("the argument {rest}"),
        None => message.to_owned(),
    }
}

/// Which plugins of a folder are still loaded, by its events so far.
fn loading(events: &[FolderEvent]) -> String {
    let mut left: Vec<&PluginId> = Vec::new();
    for event in events {
        let done = match event {
            FolderEvent::Loading(id) => {
                left.push(id);
                continue;
            }
            FolderEvent::Loaded { id, .. } => Some(id.clone()),
            FolderEvent::Held(held) => Some(held.decision.plugin.clone()),
            FolderEvent::Refused(refusal) => plugin_of(&refusal.path).and_then(Result::ok),
            _ => None,
        };
        left.retain(|id| Some(*id) != done.as_ref());
    }
    let named: Vec<&str> = left.iter().take(SUGGESTIONS).map(|id| id.as_ref()).collect();
    match left.len() - named.len() {
        _ if named.is_empty() => "loading the plugins".to_owned(),
        0 => format!("loading {}", named.join(", ")),
        more => format!("loading {} and {more} more", named.join(", ")),
    }
}

/// A step of a call on one line: `[####      ] 2/5 copying`.
fn progress(params: &Value) -> String {
    let message = params["message"].as_str().unwrap_or_default();
    let done = params["progress"].as_f64().unwrap_or_default();
    match params["total"].as_f64().filter(|total| *total > 0.0) {
        Some(total) => {
            let filled = ((done / total).clamp(0.0, 1.0) * BAR as f64) as usize;
            format!("[{:<BAR$}] {done}/{total} {message}", "#".repeat(filled))
        }
        None => format!("{done} {message}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plugins_that_are_still_loaded_are_named_up_to_a_few() {
        let begun = |name: &str| FolderEvent::Loading(PluginId::parse(name).expect("an id"));
        let refused = |name: &str| {
            let (path, reason) = (PathBuf::from(format!("plugins/{name}.wasm")), "be one".to_owned());
            FolderEvent::Refused(RefusedFile { path, reason, hint: None, still_serving: false })
        };
        assert_eq!(loading(&[FolderEvent::Found(2)]), "loading the plugins");
        assert_eq!(loading(&[begun("a"), begun("b"), refused("a")]), "loading b");
        assert_eq!(loading(&[begun("a"), refused("a")]), "loading the plugins");
        let many: Vec<FolderEvent> = ["a", "b", "c", "d", "e", "f", "g"].map(begun).into();
        assert_eq!(loading(&many), "loading a, b, c, d, e and 2 more");
    }
}
