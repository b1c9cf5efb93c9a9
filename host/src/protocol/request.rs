//! Parses a method and its raw params to a typed request, or to an error response.
//! It does not check whether the subject exists.

mod notification;
mod parse;

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::capability::ClientCapabilities;
use super::implementation::Implementation;
use super::level::Level;
use super::revision::Revision;

pub use notification::ClientNotification;

/// Every request of a client, borrowed from the frame.
#[derive(Debug)]
pub enum ClientRequest<'a> {
    Initialize(Initialize),
    Ping,
    Discover,
    ListTools {
        cursor: Option<Cow<'a, str>>,
    },
    ListResources {
        cursor: Option<Cow<'a, str>>,
    },
    ListResourceTemplates {
        cursor: Option<Cow<'a, str>>,
    },
    ListPrompts {
        cursor: Option<Cow<'a, str>>,
    },
    CallTool(CallTool<'a>),
    ReadResource {
        uri: Cow<'a, str>,
        retry: Retry<'a>,
    },
    GetPrompt {
        name: Cow<'a, str>,
        arguments: Vec<(String, String)>,
        retry: Retry<'a>,
    },
    Subscribe {
        uri: Cow<'a, str>,
    },
    Unsubscribe {
        uri: Cow<'a, str>,
    },
    Complete(Complete<'a>),
    SetLevel {
        level: Level,
    },
    Listen(Filter),
    ListSkills {
        cursor: Option<Cow<'a, str>>,
    },
    /// The skill whose `SKILL.md` that is.
    GetSkill {
        uri: Cow<'a, str>,
    },
    ReadDirectory {
        uri: Cow<'a, str>,
        cursor: Option<Cow<'a, str>>,
    },
    /// Of `tasks/`.
    GetTask {
        id: Cow<'a, str>,
    },
    UpdateTask {
        id: Cow<'a, str>,
        /// An object of answers by key.
        answers: Option<&'a RawValue>,
    },
    CancelTask {
        id: Cow<'a, str>,
    },
    ListTasks {
        cursor: Option<Cow<'a, str>>,
    },
    TaskResult {
        id: Cow<'a, str>,
    },
    /// A method that no revision has, and a plugin may implement.
    Custom(Custom),
}

impl ClientRequest<'_> {
    /// Whether it runs a plugin.
    pub fn calls_a_plugin(&self) -> bool {
        matches!(
            self,
            Self::CallTool(_)
                | Self::ReadResource { .. }
                | Self::GetPrompt { .. }
                | Self::Complete(_)
                | Self::Custom(_)
        )
    }
}

/// The handshake of the legacy revisions.
#[derive(Debug)]
pub struct Initialize {
    /// As the client wrote it.
    pub requested: String,
    /// The negotiated revision: the requested one, or the counter-offer.
    pub revision: Revision,
    /// Interpreted for `revision`; none when absent.
    pub capabilities: ClientCapabilities,
    pub client: Option<Implementation>,
}

#[derive(Debug)]
pub struct CallTool<'a> {
    pub name: Cow<'a, str>,
    /// An object, verbatim; `None` when absent or null, which means `{}`.
    pub arguments: Option<&'a RawValue>,
    pub retry: Retry<'a>,
    /// The call is to become a task (2025-11-25 alone).
    pub task: Option<TaskParams>,
}

/// `params.task` of 2025-11-25.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskParams {
    /// Milliseconds for which the client wants the task to be kept.
    pub ttl: Option<u64>,
}

/// The members of a retry after an `InputRequiredResult` (2026-07-28 basic/patterns/mrtr); empty in
/// every other revision.
#[derive(Debug, Clone, Default)]
pub struct Retry<'a> {
    /// An object of answers by key, not parsed here.
    pub input_responses: Option<&'a RawValue>,
    /// The server's sealed text, untrusted since the client sends it.
    pub request_state: Option<Cow<'a, str>>,
}

#[derive(Debug)]
pub struct Complete<'a> {
    pub reference: Reference<'a>,
    pub argument: Cow<'a, str>,
    pub value: Cow<'a, str>,
    /// Arguments that have values already; empty where the revision has none.
    pub context: Vec<(String, String)>,
}

/// The prompt or resource template that an argument belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reference<'a> {
    Prompt {
        name: Cow<'a, str>,
    },
    /// A URI or a URI template.
    Resource {
        uri: Cow<'a, str>,
    },
}

impl Reference<'_> {
    /// The name or URI, verbatim.
    pub fn text(&self) -> &str {
        match self {
            Reference::Prompt { name: text } | Reference::Resource { uri: text } => text,
        }
    }

    pub fn into_owned(self) -> Reference<'static> {
        match self {
            Reference::Prompt { name } => Reference::Prompt { name: name.into_owned().into() },
            Reference::Resource { uri } => Reference::Resource { uri: uri.into_owned().into() },
        }
    }
}

/// The notifications that a `subscriptions/listen` stream wants.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Filter {
    pub tools_list_changed: bool,
    pub prompts_list_changed: bool,
    pub resources_list_changed: bool,
    pub resources: Vec<String>,
    /// Tasks whose status is wanted.
    pub tasks: Vec<String>,
}

/// A request for a plugin's own method.
#[derive(Debug)]
pub struct Custom {
    /// `<plugin>/<method>`.
    pub method: String,
    /// An object without `_meta`, members verbatim.
    pub params: String,
}

/// First segments of methods that some revision of the protocol uses, including server requests
/// and extensions of the specification.
const STANDARD: [&str; 15] = [
    "initialize",
    "ping",
    "server",
    "tools",
    "resources",
    "prompts",
    "completion",
    "logging",
    "subscriptions",
    "notifications",
    "tasks",
    "roots",
    "sampling",
    "elicitation",
    "skills",
];

/// Whether a method can be a plugin's: two segments, the first of which the protocol does not use.
/// JSON-RPC reserves the prefix `rpc.`; plugin ids have no dot.
fn is_custom(method: &str) -> bool {
    let plain = |segment: &str| {
        !segment.is_empty() && segment.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
    };
    let Some((first, second)) = method.split_once('/') else { return false };
    plain(first) && plain(second) && !STANDARD.iter().any(|standard| first.eq_ignore_ascii_case(standard))
}
