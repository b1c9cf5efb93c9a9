//! MCP servers that are components: they export `wasi:http/incoming-handler`, or `handler` in 0.3, and speak MCP over
//! HTTP.
//!
//! The host is their client, without a network: each listing and each call is one request to a fresh instance, after a
//! handshake where the server is of a revision that has one. The only part of `plugin` that knows MCP.

mod answers;
mod conversation;
mod convert;
mod exchange;
mod message;
mod questions;
mod reply;

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use serde_json::Value;
use wasmtime::component::InstancePre;

use super::{Dialect, Entry, Found, reason};
use crate::json;
use crate::plugin::abi::{Completion, GuestError, PromptOutcome, ReadOutcome, Subject, ToolOutcome};
use crate::plugin::error::LoadError;
use crate::plugin::fault::{CallError, Fault};
use crate::plugin::imports::state::GuestState;
use crate::plugin::instance::call::{PreparedComponent, internal};
use crate::plugin::limits::Limits;
use crate::plugin::outcome::checked;
use crate::plugin::policy::redact::{Redactable, Redactor};
use crate::plugin::provider::Call;
use crate::plugin::surface::{FrozenTool, Listed, MAX_ENTRIES};
use crate::sync::lock;
use conversation::{Conversation, INITIALIZE, Said, Way};
use exchange::Handler;
use message::{Asked, NEWEST, STATELESS};

pub(super) const ENTRY: Entry = Entry { link: |_| Ok(()), find, completes: |_| false };

const INCOMING: &str = "wasi:http/incoming-handler@0.2.";
const HANDLER: &str = "wasi:http/handler@0.3.";

/// Where servers answer: the path of most of them, and of those that have no other.
const PATHS: [&str; 2] = ["/mcp", "/"];
/// Pages of one list.
const MAX_PAGES: usize = 32;

fn find(pre: &InstancePre<GuestState>, _: &[u8]) -> Found {
    let handler = match super::function_of(pre, INCOMING, "handle")? {
        Some(handler) => Some(Handler::Incoming(handler)),
        None => super::function_of(pre, HANDLER, "handle")?.map(Handler::Handle),
    };
    Ok(handler.map(|handler| Box::new(Server { handler, way: Mutex::new(None) }) as Box<dyn Dialect>))
}

struct Server {
    handler: Handler,
    /// Set by each listing, which comes before all calls.
    way: Mutex<Option<Way>>,
}

/// What a server says that it has.
#[derive(Debug, Default)]
struct Capabilities {
    tools: bool,
    resources: bool,
    prompts: bool,
    completions: bool,
}

impl Redactable for Capabilities {
    fn redact(&mut self, _: &Redactor) {}
}

fn capabilities(result: &Value) -> Result<Capabilities, String> {
    let has = |name: &str| result["capabilities"][name].is_object();
    Ok(Capabilities {
        tools: has("tools"),
        resources: has("resources"),
        prompts: has("prompts"),
        completions: has("completions"),
    })
}

/// The same of a server without a handshake.
fn discovered(result: &Value) -> Result<Capabilities, String> {
    let supported = result["supportedVersions"].as_array().map_or(&[][..], Vec::as_slice);
    match supported.iter().any(|version| version == STATELESS) {
        true => capabilities(result),
        false => Err("a list of revisions without the one that it answered in".into()),
    }
}

/// A page of a list, with the cursor of the next one.
struct Page<T> {
    items: Vec<T>,
    next: Option<String>,
}

impl<T: Redactable> Redactable for Page<T> {
    fn redact(&mut self, redactor: &Redactor) {
        let Self { items, next: _ } = self;
        items.redact(redactor);
    }
}

fn page<T>(result: &Value, list: &str, read: fn(&Value) -> Result<T, String>) -> Result<Page<T>, String> {
    Ok(Page { items: convert::list(result, list, read)?, next: result["nextCursor"].as_str().map(str::to_owned) })
}

type Read<R> = fn(&Value) -> Result<R, String>;

impl Server {
    fn conversation<R>(&self, prepared: &PreparedComponent, way: Way, asked: Asked, read: Read<R>) -> Conversation<R> {
        Conversation { handler: self.handler.clone(), way, asked, limit: prepared.limits.output, read }
    }

    fn way(&self) -> Result<Way, CallError> {
        // A surface is never served without a listing by this code.
        lock(&self.way).ok_or(CallError::Fault(Fault::Host))
    }

    /// Finds out how the server is spoken to, and what it has.
    async fn discover(&self, prepared: &Arc<PreparedComponent>, call: &Call) -> Result<(Way, Capabilities), LoadError> {
        let mut reasons = Vec::new();
        for path in PATHS {
            for has_handshake in [false, true] {
                let way = Way { path, has_handshake };
                let (method, read): (_, Read<Capabilities>) = match has_handshake {
                    false => ("server/discover", discovered),
                    true => (INITIALIZE, capabilities),
                };
                let conversation = self.conversation(prepared, way, Asked::new(method), read);
                reasons.push(match prepared.invoke(conversation, call.clone()).await {
                    Ok(Said::Answered(capabilities)) => return Ok((way, capabilities)),
                    Ok(Said::Failed(error @ CallError::Fault(_))) => (0, LoadError::not_mcp(&reason(error))),
                    Ok(Said::Failed(error)) => (1, LoadError::not_mcp(&reason(error))),
                    Ok(Said::NotMcp(status)) => (2, LoadError::not_mcp(&format!("HTTP status {status} at {path}"))),
                    Err(fault @ Fault::Trap(_)) => (0, LoadError::of_fault(fault)),
                    Err(fault) => return Err(LoadError::of_fault(fault)),
                });
            }
        }
        // A wrong answer says more than an error, and that more than a status: the server may not know the request.
        let first = reasons.into_iter().min_by_key(|(rank, _)| *rank);
        Err(first.map_or_else(|| LoadError::not_mcp("it was not asked"), |(_, reason)| reason))
    }

    /// All pages of a list; none if the server does not have it.
    async fn list_of<T: Redactable + Send + 'static>(
        &self,
        prepared: &Arc<PreparedComponent>,
        (way, call): (Way, &Call),
        method: &'static str,
        read: Read<Page<T>>,
    ) -> Result<Option<Vec<T>>, LoadError> {
        let (mut all, mut cursor) = (Vec::new(), None::<String>);
        for _ in 0..MAX_PAGES {
            let asked = match &cursor {
                Some(cursor) => Asked::new(method).with("cursor", &json::quote(cursor)),
                None => Asked::new(method),
            };
            let conversation = self.conversation(prepared, way, asked, read);
            let said = prepared.invoke(conversation, call.clone()).await;
            let page: Page<T> = match said.map(Said::result) {
                Ok(Ok(page)) => page,
                Ok(Err(CallError::Guest(GuestError::NotFound))) if cursor.is_none() => return Ok(None),
                // What is wrong with an answer is in words of the host.
                Ok(Err(CallError::Fault(Fault::BadOutput(why)))) => return Err(LoadError::listing_refused(&why)),
                Ok(Err(CallError::Fault(fault))) | Err(fault) => return Err(LoadError::of_fault(fault)),
                Ok(Err(error)) => return Err(LoadError::listing_refused(&reason(error))),
            };
            all.extend(page.items);
            cursor = page.next;
            if cursor.is_none() || all.len() > MAX_ENTRIES {
                return Ok(Some(all));
            }
        }
        Err(LoadError::ListingTooLarge { what: "pages", limit: MAX_PAGES })
    }

    async fn ask<R: Redactable + Send + 'static>(
        &self,
        prepared: &Arc<PreparedComponent>,
        (asked, call): (Asked, Call),
        read: Read<R>,
        check: impl FnOnce(&PreparedComponent, R) -> Result<R, Fault> + Send + 'static,
    ) -> Result<R, CallError> {
        let conversation = self.conversation(prepared, self.way()?, asked, read);
        checked::any(prepared, conversation, call, Said::result, check).await
    }
}

#[async_trait]
impl Dialect for Server {
    async fn list(&self, prepared: &Arc<PreparedComponent>) -> Result<Listed, LoadError> {
        let call = internal("list", Limits::LISTING);
        let (way, has) = self.discover(prepared, &call).await?;
        let mut listed = Listed { completions: has.completions, ..Listed::default() };
        let with = (way, &call);
        if has.tools {
            listed.tools = self.list_of(prepared, with, "tools/list", |all| page(all, "tools", convert::tool)).await?;
        }
        if has.resources {
            let of = |all: &Value| page(all, "resources", convert::resource);
            listed.resources = self.list_of(prepared, with, "resources/list", of).await?;
            let of = |all: &Value| page(all, "resourceTemplates", convert::template);
            listed.templates = self.list_of(prepared, with, "resources/templates/list", of).await?.unwrap_or_default();
        }
        if has.prompts {
            let of = |all: &Value| page(all, "prompts", convert::prompt);
            listed.prompts = self.list_of(prepared, with, "prompts/list", of).await?;
        }
        *lock(&self.way) = Some(way);
        Ok(listed)
    }

    fn spoken(&self) -> Option<String> {
        let Way { path, has_handshake } = (*lock(&self.way))?;
        Some(match has_handshake {
            false => format!("MCP {STATELESS} at {path}"),
            true => format!("MCP of {NEWEST} or older at {path}; it cannot ask"),
        })
    }

    async fn call_tool(
        &self,
        prepared: &Arc<PreparedComponent>,
        tool: &FrozenTool,
        arguments: Arc<str>,
        call: Call,
    ) -> Result<ToolOutcome, CallError> {
        let mut asked = Asked::new("tools/call").about("name", &tool.tool.name).with("arguments", &arguments);
        if !tool.mirrored.is_empty() {
            // What is no JSON does not pass the check of the arguments.
            let tree = json::tree(&arguments, json::MAX_DEPTH).unwrap_or_default();
            asked = asked.mirroring(&tool.mirrored, &tree);
        }
        let conversation = self.conversation(prepared, self.way()?, asked, convert::called);
        checked::tool(prepared, tool, arguments, conversation, call, Said::result).await
    }

    async fn read_resource(
        &self,
        prepared: &Arc<PreparedComponent>,
        uri: &str,
        call: Call,
    ) -> Result<ReadOutcome, CallError> {
        let asked = Asked::new("resources/read").about("uri", uri);
        self.ask(prepared, (asked, call), convert::read, checked::read).await
    }

    async fn get_prompt(
        &self,
        prepared: &Arc<PreparedComponent>,
        name: &str,
        arguments: Vec<(String, String)>,
        call: Call,
    ) -> Result<PromptOutcome, CallError> {
        let asked = Asked::new("prompts/get").about("name", name).with("arguments", &object(&arguments));
        self.ask(prepared, (asked, call), convert::got, checked::prompt).await
    }

    async fn complete(
        &self,
        prepared: &Arc<PreparedComponent>,
        subject: Subject,
        name: &str,
        value: &str,
        given: Vec<(String, String)>,
        call: Call,
    ) -> Result<Completion, CallError> {
        let of =
            |kind: &str, member: &str, name: &str| format!(r#"{{"type":"{kind}","{member}":{}}}"#, json::quote(name));
        let reference = match &subject {
            Subject::Prompt(name) => of("ref/prompt", "name", name),
            Subject::ResourceTemplate(uri) => of("ref/resource", "uri", uri),
        };
        let argument = format!(r#"{{"name":{},"value":{}}}"#, json::quote(name), json::quote(value));
        let mut asked = Asked::new("completion/complete").with("ref", &reference).with("argument", &argument);
        if !given.is_empty() {
            asked = asked.with("context", &format!(r#"{{"arguments":{}}}"#, object(&given)));
        }
        self.ask(prepared, (asked, call), convert::completed, checked::completion).await
    }
}

/// Texts by name, as a JSON object.
fn object(members: &[(String, String)]) -> String {
    let members: Vec<String> =
        members.iter().map(|(name, value)| format!("{}:{}", json::quote(name), json::quote(value))).collect();
    format!("{{{}}}", members.join(","))
}
