//! The capabilities of client and server. Grants of plugins are not checked here.

use std::fmt::Display;

use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::ask::Ask;
use super::error::ErrorObject;
use super::keys::TASKS;
use super::params;
use super::revision::Revision;

/// The declared capabilities of a client, interpreted for one revision. The text is not retained: it
/// may be megabytes.
#[derive(Debug, Clone, Default)]
pub struct ClientCapabilities {
    pub roots: bool,
    pub sampling: bool,
    /// Tools and tool choice in sampling (since 2025-11-25).
    pub sampling_tools: bool,
    /// `includeContext` other than none in sampling (since 2025-11-25).
    pub sampling_context: bool,
    pub elicitation_form: bool,
    pub elicitation_url: bool,
    /// Tasks of the extension (2026-07-28). Those of 2025-11-25 need no declaration.
    pub tasks: bool,
}

impl ClientCapabilities {
    /// Parses the capabilities at `path`. What `revision` does not have is ignored, even if the
    /// client sent it.
    pub fn parse(revision: Revision, raw: &RawValue, path: impl Display) -> Result<Self, ErrorObject> {
        let object = params::object(Some(raw), &path)?;
        let object = params::required(object, &path)?;
        let [roots, sampling, elicitation, extensions] =
            params::members(Some(object), ["roots", "sampling", "elicitation", "extensions"], &path)?;
        // Of older revisions they are no part: whatever is there is ignored.
        let extensions = extensions.filter(|_| revision.is_modern());
        let extensions = params::object(extensions, format_args!("{path}.extensions"))?;
        let [tasks] = params::members(extensions, [TASKS], format_args!("{path}.extensions"))?;
        let tasks = params::object(tasks, format_args!("{path}.extensions[\"{TASKS}\"]"))?;
        let roots = params::object(roots, format_args!("{path}.roots"))?;
        let sampling = params::object(sampling, format_args!("{path}.sampling"))?;
        let [tools, context] = params::members(sampling, ["tools", "context"], format_args!("{path}.sampling"))?;
        let tools = params::object(tools, format_args!("{path}.sampling.tools"))?;
        let context = params::object(context, format_args!("{path}.sampling.context"))?;
        let elicitation = params::object(elicitation, format_args!("{path}.elicitation"))?;
        let [form, url] = params::members(elicitation, ["form", "url"], format_args!("{path}.elicitation"))?;
        let form = params::object(form, format_args!("{path}.elicitation.form"))?;
        let url = params::object(url, format_args!("{path}.elicitation.url"))?;
        // `{}` means forms (2025-11-25 client/elicitation); before there was nothing else.
        let modes = revision.has_elicitation_url();
        let forms = form.is_some() || url.is_none() || !modes;
        Ok(Self {
            roots: roots.is_some(),
            sampling: sampling.is_some(),
            sampling_tools: tools.is_some() && revision.has_sampling_tools(),
            sampling_context: context.is_some() && revision.has_sampling_tools(),
            elicitation_form: elicitation.is_some() && forms && revision.has_elicitation(),
            elicitation_url: url.is_some() && modes,
            tasks: tasks.is_some(),
        })
    }

    /// With another one, where it is known by its name.
    #[must_use]
    pub fn with(mut self, ask: Ask) -> Self {
        *match ask {
            Ask::Roots => &mut self.roots,
            Ask::Sampling => &mut self.sampling,
            Ask::SamplingTools => &mut self.sampling_tools,
            Ask::SamplingContext => &mut self.sampling_context,
            Ask::ElicitationForm => &mut self.elicitation_form,
            Ask::ElicitationUrl => &mut self.elicitation_url,
        } = true;
        self
    }

    /// Whether the client declared the capability.
    pub fn allows(&self, ask: Ask) -> bool {
        match ask {
            Ask::Roots => self.roots,
            Ask::Sampling => self.sampling,
            Ask::SamplingTools => self.sampling_tools,
            Ask::SamplingContext => self.sampling_context,
            Ask::ElicitationForm => self.elicitation_form,
            Ask::ElicitationUrl => self.elicitation_url,
        }
    }
}

/// What this server offers. A feature that is false or `None` does not exist for the
/// client, and its methods are not found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ServerCapabilities {
    pub tools: bool,
    pub prompts: bool,
    pub resources: bool,
    /// Resources can be subscribed to.
    pub resources_subscribe: bool,
    /// `listChanged` of the three lists.
    pub list_changed: bool,
    pub logging: bool,
    pub completions: bool,
    /// Calls of tools can be tasks.
    pub tasks: bool,
    /// A client can list its tasks.
    pub task_list: bool,
    /// Settings by name; the same holds for `extensions`.
    pub experimental: Map<String, Value>,
    /// Since 2026-07-28; before, unknown capabilities are tolerated, and clients of MCP Apps
    /// look for this one.
    pub extensions: Map<String, Value>,
}

impl ServerCapabilities {
    pub fn to_json(&self, revision: Revision) -> Value {
        let mut all = Map::new();
        let list = |subscribe: bool| {
            let mut list = Map::new();
            if subscribe {
                list.insert("subscribe".to_owned(), true.into());
            }
            if self.list_changed {
                list.insert("listChanged".to_owned(), true.into());
            }
            Value::Object(list)
        };
        if self.tools {
            all.insert("tools".to_owned(), list(false));
        }
        if self.prompts {
            all.insert("prompts".to_owned(), list(false));
        }
        if self.resources {
            all.insert("resources".to_owned(), list(self.resources_subscribe));
        }
        if self.logging {
            all.insert("logging".to_owned(), json!({}));
        }
        if self.completions && revision.has_completions_capability() {
            all.insert("completions".to_owned(), json!({}));
        }
        if self.tasks && revision.has_core_tasks() {
            let calls = json!({ "tools": { "call": {} } });
            let mut tasks = json!({ "cancel": {}, "requests": calls });
            if self.task_list {
                tasks["list"] = json!({});
            }
            all.insert("tasks".to_owned(), tasks);
        }
        for (name, declared) in [("experimental", &self.experimental), ("extensions", &self.extensions)] {
            if !declared.is_empty() {
                all.insert(name.to_owned(), Value::Object(declared.clone()));
            }
        }
        Value::Object(all)
    }
}
