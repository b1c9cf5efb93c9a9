//! Tests a plugin without a host, in plain `cargo test`. It checks no schema and no grant:
//! those checks are the host's.
//!
//! ```
//! use wharf_plugin::*;
//!
//! struct Greeter;
//! impl Plugin for Greeter {
//!     fn tools(&self, tools: &mut Tools<'_>) {
//!         tools.add("greet", "Greets", |_, _: NoArguments| Ok("hello"));
//!     }
//! }
//! assert_eq!(testing::call(&Greeter, "greet", json!({})).unwrap().as_text(), "hello");
//! ```

pub(crate) mod keyvalue;

use std::cell::RefCell;
use std::collections::VecDeque;

use serde_json::{Value, json};

use crate::abi::{host, http as raw_http, types as raw};
use crate::{Call, Error, Plugin, Result, ToolResult, http};

type Server = Box<dyn Fn(&http::Request) -> http::Response>;

thread_local! {
    static MESSAGES: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
    static SERVER: RefCell<Option<Server>> = const { RefCell::new(None) };
}

/// Calls a tool for a client that supports no questions.
///
/// ```
/// # use wharf_plugin::*;
/// # struct Empty;
/// # impl Plugin for Empty {}
/// assert!(testing::call(&Empty, "nothing", json!({})).is_err());
/// ```
pub fn call<P: Plugin>(plugin: &P, tool: &str, arguments: Value) -> Result<ToolResult> {
    crate::tools::run(plugin, tool, &arguments.to_string(), &Call::new(context(raw::ClientFeatures::empty())))
}

/// The tools as a host gets them, each as JSON: `name`, `title`, `description`,
/// `inputSchema`, `outputSchema`, `readOnly`, `_meta`.
///
/// ```
/// # use wharf_plugin::*;
/// # struct Ping;
/// # impl Plugin for Ping {
/// #     fn tools(&self, tools: &mut Tools<'_>) { tools.add("ping", "Answers", |_, _: NoArguments| Ok("pong")); }
/// # }
/// let tools = testing::tools(&Ping).unwrap();
/// assert_eq!(tools[0]["inputSchema"]["type"], "object");
/// ```
pub fn tools<P: Plugin>(plugin: &P) -> Result<Vec<Value>> {
    let mut tools = crate::Tools::listing();
    plugin.tools(&mut tools);
    let parse = |text: &String| serde_json::from_str::<Value>(text).unwrap_or_default();
    let listed = tools.into_list()?;
    let tools = listed.iter().map(|tool| {
        json!({
            "name": tool.name,
            "title": tool.title,
            "description": tool.description,
            "inputSchema": parse(&tool.input_schema),
            "outputSchema": tool.output_schema.as_ref().map(parse),
            "readOnly": tool.annotations.and_then(|annotations| annotations.read_only),
            "_meta": tool.meta.as_ref().map(parse),
        })
    });
    Ok(tools.collect())
}

/// The prompts as a host gets them, each as JSON: `name`, `title`, `description`, `arguments`.
///
/// ```
/// # use wharf_plugin::*;
/// # struct Empty;
/// # impl Plugin for Empty {}
/// assert!(testing::prompts(&Empty).unwrap().is_empty());
/// ```
pub fn prompts<P: Plugin>(plugin: &P) -> Result<Vec<Value>> {
    let mut prompts = crate::Prompts::listing();
    plugin.prompts(&mut prompts);
    let listed = prompts.into_list()?;
    let prompts = listed.iter().map(|prompt| {
        let arguments = prompt.arguments.iter().map(|argument| {
            json!({ "name": argument.name, "description": argument.description, "required": argument.required })
        });
        json!({
            "name": prompt.name,
            "title": prompt.title,
            "description": prompt.description,
            "arguments": arguments.collect::<Vec<_>>(),
        })
    });
    Ok(prompts.collect())
}

/// Makes a prompt, and returns the texts of its messages.
///
/// ```
/// # use wharf_plugin::*;
/// # struct Empty;
/// # impl Plugin for Empty {}
/// assert!(testing::prompt(&Empty, "poem", &[("theme", "rain")]).is_err());
/// ```
pub fn prompt<P: Plugin>(plugin: &P, name: &str, arguments: &[(&str, &str)]) -> Result<Vec<String>> {
    let arguments = arguments.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
    let call = Call::new(context(raw::ClientFeatures::empty()));
    let made = crate::prompts::run(plugin, name, arguments, &call)?;
    let texts = made.0.messages.into_iter().filter_map(|message| match message.content {
        raw::Content::Text(text) => Some(text.text),
        _ => None,
    });
    Ok(texts.collect())
}

/// Reads a resource.
///
/// ```
/// # use wharf_plugin::*;
/// # struct Empty;
/// # impl Plugin for Empty {}
/// assert!(testing::read(&Empty, "note://1").is_err());
/// ```
pub fn read<P: Plugin>(plugin: &P, uri: &str) -> Result<crate::ReadResult> {
    match crate::page::read(plugin, uri) {
        Some(page) => Ok(page),
        None => plugin.read_resource(uri, &Call::new(context(raw::ClientFeatures::empty()))),
    }
}

/// Calls an extension method.
///
/// ```
/// # use wharf_plugin::*;
/// # struct Empty;
/// # impl Plugin for Empty {}
/// assert!(testing::method(&Empty, "status", json!({})).is_err());
/// ```
pub fn method<P: Plugin>(plugin: &P, name: &str, params: Value) -> Result<Value> {
    let call = Call::new(context(raw::ClientFeatures::empty()));
    Ok(serde_json::from_str(&crate::extensions::run(plugin, name, &params.to_string(), &call)?)?)
}

/// The plugin's extensions, as the host gets them: `experimental` and `extensions`, each with
/// its settings by name, and the names of its `methods`.
///
/// ```
/// # use wharf_plugin::*;
/// # struct Notes;
/// # impl Plugin for Notes {
/// #     fn extensions(&self, extensions: &mut Extensions<'_>) {
/// extensions.experimental("fastSync", &json!({ "since": 2 }));
/// #     }
/// # }
/// assert_eq!(testing::extensions(&Notes).unwrap()["experimental"]["fastSync"]["since"], 2);
/// ```
pub fn extensions<P: Plugin>(plugin: &P) -> Result<Value> {
    let offer = crate::extensions::offer(plugin)?;
    let settings = |list: &[crate::abi::extensions::Capability]| -> Value {
        let parse = |text: &String| serde_json::from_str::<Value>(text).unwrap_or_default();
        list.iter().map(|capability| (capability.name.clone(), parse(&capability.settings))).collect()
    };
    Ok(json!({
        "experimental": settings(&offer.experimental),
        "extensions": settings(&offer.extensions),
        "methods": offer.methods,
    }))
}

/// The log messages and notifications since the last call of this function, one line each:
/// log messages as `info: text`, progress as `progress: 1 of 2 text`, and so on.
///
/// ```
/// use wharf_plugin::{log, testing};
/// log::info("ready");
/// assert_eq!(testing::messages(), ["info: ready"]);
/// ```
pub fn messages() -> Vec<String> {
    MESSAGES.take()
}

/// Answers the plugin's HTTP requests on this thread.
///
/// ```
/// use wharf_plugin::{http, testing};
/// testing::serve(|_| http::Response::new(200, "fine"));
/// assert_eq!(http::get("https://example.org/").unwrap().text(), "fine");
/// ```
pub fn serve(server: impl Fn(&http::Request) -> http::Response + 'static) {
    SERVER.set(Some(Box::new(server)));
}

/// Revokes the grant `keyvalue` for plugins on this thread; with it, values are stored
/// in memory.
///
/// ```
/// use wharf_plugin::{Store, testing};
/// testing::deny_store();
/// assert!(Store::open().is_err());
/// ```
pub fn deny_store() {
    keyvalue::deny();
}

/// Answers to the questions of one call, in the order of asking.
///
/// ```
/// # use wharf_plugin::*;
/// # struct Both;
/// # impl Plugin for Both {
/// #     fn tools(&self, tools: &mut Tools<'_>) {
/// tools.add("both", "Asks twice", |ask, _: NoArguments| {
///     Ok(format!("{} {}", ask.confirm("Sure?")?, ask.confirm("Really?")?))
/// });
/// #     }
/// # }
/// let script = testing::Script::new().accept(json!({})).decline();
/// assert_eq!(script.call(&Both, "both", json!({})).unwrap().as_text(), "true false");
/// ```
#[derive(Default)]
pub struct Script {
    replies: VecDeque<raw::Reply>,
}

impl Script {
    /// A script without answers.
    ///
    /// ```
    /// wharf_plugin::testing::Script::new();
    /// ```
    pub fn new() -> Self {
        Self::default()
    }

    /// The user accepts, with this content.
    ///
    /// ```
    /// wharf_plugin::testing::Script::new().accept(wharf_plugin::json!({ "seats": 4 }));
    /// ```
    pub fn accept(self, content: Value) -> Self {
        let content = Some(content.to_string());
        self.reply(raw::Reply::Elicited(raw::Elicited { action: raw::ElicitAction::Accept, content }))
    }

    /// The user declines.
    ///
    /// ```
    /// wharf_plugin::testing::Script::new().decline();
    /// ```
    pub fn decline(self) -> Self {
        self.reply(raw::Reply::Elicited(raw::Elicited { action: raw::ElicitAction::Decline, content: None }))
    }

    /// The model returns this text.
    ///
    /// ```
    /// wharf_plugin::testing::Script::new().model("rain");
    /// ```
    pub fn model(self, text: &str) -> Self {
        self.reply(raw::Reply::Sampled(raw::Sampled {
            role: raw::Role::Assistant,
            content: vec![crate::sampling::text_block(text.into())],
            model: "test".into(),
            stop_reason: Some("endTurn".into()),
        }))
    }

    /// The client works in these folders.
    ///
    /// ```
    /// wharf_plugin::testing::Script::new().roots(&["file:///home/ada"]);
    /// ```
    pub fn roots(self, uris: &[&str]) -> Self {
        let roots = uris.iter().map(|uri| raw::Root { uri: uri.to_string(), name: None });
        let roots = roots.collect();
        self.reply(raw::Reply::Roots(roots))
    }

    /// The client refuses the question.
    ///
    /// ```
    /// wharf_plugin::testing::Script::new().unavailable("busy");
    /// ```
    pub fn unavailable(self, why: &str) -> Self {
        self.reply(raw::Reply::Unavailable(why.into()))
    }

    /// Calls a tool in as many rounds as its questions need. A question without
    /// an answer here is an error.
    ///
    /// ```
    /// # use wharf_plugin::*;
    /// # struct Empty;
    /// # impl Plugin for Empty {}
    /// assert!(testing::Script::new().call(&Empty, "nothing", json!({})).is_err());
    /// ```
    pub fn call<P: Plugin>(mut self, plugin: &P, tool: &str, arguments: Value) -> Result<ToolResult> {
        let arguments = arguments.to_string();
        let mut context = context(raw::ClientFeatures::all());
        loop {
            let call = Call::new(context.clone());
            let error = match crate::tools::run(plugin, tool, &arguments, &call) {
                Ok(result) => return Ok(result),
                Err(error) => error,
            };
            let crate::error::Cause::Asked(asked) = error.0 else {
                return Err(error);
            };
            context.answers.clear();
            context.state = asked.state;
            for question in asked.questions {
                let Some(reply) = self.replies.pop_front() else {
                    return Err(Error::failed(format!("no answer in the script for {:?}", question.ask)));
                };
                context.answers.push(raw::Answer { key: question.key, reply });
            }
        }
    }

    fn reply(mut self, reply: raw::Reply) -> Self {
        self.replies.push_back(reply);
        self
    }
}

fn context(client: raw::ClientFeatures) -> raw::CallContext {
    raw::CallContext { id: "test".into(), client, time_left_ms: 30_000, answers: Vec::new(), state: None, meta: None }
}

pub(crate) fn exchange(request: &raw_http::Request) -> Result<raw_http::Response, raw_http::Error> {
    SERVER.with_borrow(|server| match server {
        Some(server) => Ok(server(&http::Request::from_raw(request)).into_raw()),
        None => Err(raw_http::Error::Denied("a test without `testing::serve` has no network".into())),
    })
}

/// The host's functions, which only record here.
pub(crate) mod record {
    use super::{MESSAGES, host};

    fn record(line: String) {
        MESSAGES.with_borrow_mut(|messages| messages.push(line));
    }

    fn name(level: host::LogLevel) -> String {
        format!("{level:?}").rsplit(':').next().unwrap_or_default().to_lowercase()
    }

    pub(crate) fn log(level: host::LogLevel, message: &str) {
        record(format!("{}: {message}", name(level)));
    }

    pub(crate) fn log_data(level: host::LogLevel, logger: &str, data: &str) {
        record(format!("{}: {logger}: {data}", name(level)));
    }

    pub(crate) fn progress(progress: f64, total: Option<f64>, message: Option<&str>) {
        let total = total.map(|total| format!(" of {total}")).unwrap_or_default();
        record(format!("progress: {progress}{total} {}", message.unwrap_or_default()).trim_end().to_owned());
    }

    pub(crate) fn list_changed(listing: host::Listing) {
        record(format!("list changed: {listing:?}"));
    }

    pub(crate) fn resource_updated(uri: &str) {
        record(format!("resource updated: {uri}"));
    }

    pub(crate) fn cancelled() -> bool {
        false
    }
}
