//! An in-process client: commands send requests to a real server, and so see what clients see.

use std::path::Path;
use std::sync::Arc;

use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use wharf_report::{ShowPath as _, warning};

use super::folder::is_component;
use super::options::Options;
use super::{absent, pins, serve};
use crate::audit::Audit;
use crate::catalog::{
    Catalog, Folder, FolderEvent, Member, NotServed, PluginSettings, Refusal, admit, load_hint, load_plugin, plugin_of,
};
use crate::config::Config;
use crate::json;
use crate::os::paths::folder_of;
use crate::plugin::{LoadError, Plugin, PluginId, Sandbox, read_component};
use crate::report::{self, Failure};
use crate::server::{Connection, Outgoing, Server};

/// A server whose catalog is complete, and a connection to it.
pub(super) struct Local {
    catalog: Arc<Catalog>,
    connection: Arc<Connection>,
    answers: mpsc::Receiver<Outgoing>,
    /// Files that are not served.
    pub(super) refusals: Vec<Refusal>,
}

impl Local {
    /// Loads a folder, or one file; refusals are reported on stderr.
    pub(super) async fn load(options: &Options, path: &Path) -> Result<Self, Failure> {
        let config = Arc::new(options.config()?);
        let catalog = Arc::new(Catalog::default());
        let server = Server::new(catalog.clone(), serve::settings(&config));
        let sandbox = options.sandbox(&config, &[path.to_owned()], Audit::default()).await?;
        let mut refusals = Vec::new();
        if is_component(path) && !path.is_dir() {
            let failed = |(reason, hint): Refused| Failure::new(format!("{reason}: {}", path.shown())).hint(hint);
            let id = id_of(path).map_err(failed)?;
            let settings = serve::plugin_settings(&config, &id);
            let naming = settings.naming;
            let plugin = load_admitted(&config, &sandbox, path, &id, &settings).await.map_err(failed)?;
            catalog.put(Member { provider: Arc::new(plugin), naming, pinned_surface: None });
            catalog.set_ready();
        } else {
            let (sender, mut events) = mpsc::unbounded_channel();
            let settings = config.clone();
            let mut folder = Folder::new(
                path.to_owned(),
                catalog.clone(),
                sandbox,
                move |id| serve::plugin_settings(&settings, id),
                sender,
            )
            .with_guard(pins::read_only_guard(&config))
            .with_program(config.program());
            folder
                .load_once()
                .await
                .map_err(|error| Failure::usage(format!("read the plugin folder: {error}: {}", path.shown())))?;
            drop(folder);
            absent::warnings(&config, path).iter().for_each(|text| warning(text));
            while let Some(event) = events.recv().await {
                match event {
                    FolderEvent::Refused(refusal) => {
                        report::refusal(&refusal);
                        refusals.push(refusal);
                    }
                    FolderEvent::Held(held) => {
                        let refusal = held.refusal();
                        report::refusal(&refusal);
                        refusals.push(refusal);
                    }
                    other => report::log(&other),
                }
            }
        }
        let (outbox, answers) = mpsc::channel(16);
        Ok(Self { catalog, connection: server.connect(outbox, "local"), answers, refusals })
    }

    /// The public name of a tool, given its name within the plugin.
    pub(super) fn public_name(&self, own: &str) -> Option<String> {
        let snapshot = self.catalog.snapshot();
        let entry = snapshot.tools.entries().iter().find(|entry| entry.item().tool.name == own)?;
        Some(entry.name.to_string())
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
            }),
        );
        let request = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
        self.connection.receive(request.as_bytes()).await;
        let failed = |reason: String| Failure::new(format!("get a response to {method}: {reason}"));
        let answer = self.answers.recv().await.ok_or_else(|| failed("the server sent none".into()))?;
        let answer: Answer = json::read(&answer.text).map_err(|error| failed(error.to_string()))?;
        match (answer.result, answer.error) {
            (Some(result), _) => Ok(result),
            (None, Some(error)) => Err(error.into_failure()),
            (None, None) => Err(failed("it has neither result nor error".into())),
        }
    }
}

#[derive(serde::Deserialize)]
struct Answer {
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
    fn into_failure(self) -> Failure {
        let names = self.data["availableTools"].as_array().map(|names| {
            let names: Vec<&str> = names.iter().filter_map(Value::as_str).take(5).collect();
            if names.is_empty() {
                "there are no tools".to_owned()
            } else {
                format!("similar tools: {}", names.join(", "))
            }
        });
        let missing = self.data["requiredCapabilities"].as_object();
        let client = missing.map(|capabilities| match capabilities.contains_key("elicitation") {
            true => "run wharf call on a terminal to answer the plugin's questions".to_owned(),
            false => "call it from an MCP client: wharf call answers forms only, not sampling or roots".to_owned(),
        });
        Failure::usage(format!("call the tool: {}", self.message)).hint(names.or(client))
    }
}

/// Why a file was refused, and a hint.
pub(super) type Refused = (String, Option<String>);

pub(super) fn refused(error: LoadError, path: &Path) -> Refused {
    (error.to_string(), load_hint(&error, path))
}

/// The plugin id that the file would have in a folder.
pub(super) fn id_of(path: &Path) -> Result<PluginId, Refused> {
    match plugin_of(path) {
        Some(Ok(id)) => Ok(id),
        Some(Err(reason)) => Err((reason, None)),
        None => Err(("derive a plugin name: the file name does not end in .wasm".into(), None)),
    }
}

/// Loads one file if it may run.
async fn load_admitted(
    config: &Arc<Config>,
    sandbox: &Arc<Sandbox>,
    path: &Path,
    id: &PluginId,
    settings: &PluginSettings,
) -> Result<Plugin, Refused> {
    let folder = folder_of(path).unwrap_or(Path::new("."));
    let denied = |denial| match denial {
        NotServed::Refused(error) => refused(error, path),
        NotServed::Held(held) => (held.1.refusal(), Some(held.1.hint(&config.program(), folder))),
    };
    let guard = Arc::new(pins::read_only_guard(config));
    let asked = load_plugin(sandbox, &guard, path, id, settings, None).await.map_err(denied)?;
    match admit(&guard, asked.into_iter().collect()).await.pop() {
        Some(admitted) => Ok(admitted.map_err(denied)?.plugin),
        None => Err(("load a version that is already serving".into(), None)),
    }
}

/// Loads one file, whether or not it may run.
pub(super) async fn load_file(
    sandbox: &Arc<Sandbox>,
    path: &Path,
    id: &PluginId,
    settings: PluginSettings,
) -> Result<Plugin, LoadError> {
    let component = read_component(path).await?;
    sandbox.load(id.clone(), component, settings.limits, settings.grants).await
}
