//! What one instance is sent: one request, and the handshake before it where the server needs one.

use std::sync::Arc;

use http::HeaderValue;
use serde_json::Value;
use wasmtime::Store;

use super::exchange::{Failed, Handler, Reply, Wanted, exchange};
use super::message::{self, Asked, STATELESS, WITH_HANDSHAKE};
use super::questions::INPUT_REQUIRED;
use super::reply::Answer;
use crate::plugin::abi::{CallContext, GuestError, InvalidInput};
use crate::plugin::fault::{CallError, Fault};
use crate::plugin::imports::state::GuestState;
use crate::plugin::instance::function::BoundInstance;
use crate::plugin::instance::invocation::Invocation;
use crate::plugin::policy::access::Access;
use crate::plugin::policy::redact::{Redactable, Redactor};
use crate::text::quote;

/// The request that is answered by the handshake alone.
pub(super) const INITIALIZE: &str = "initialize";
/// JSON-RPC's codes, and MCP's for a resource that is not there.
const METHOD_NOT_FOUND: i64 = -32601;
const INVALID_PARAMS: i64 = -32602;
const NO_RESOURCE: i64 = -32002;
const MISSING_CAPABILITY: i64 = -32021;

/// How a server is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Way {
    pub(super) path: &'static str,
    pub(super) has_handshake: bool,
}

/// A conversation with one instance.
pub(super) struct Conversation<R> {
    pub(super) handler: Handler,
    pub(super) way: Way,
    pub(super) asked: Asked,
    /// Maximum bytes of a result.
    pub(super) limit: u64,
    /// Reads the result of the request.
    pub(super) read: fn(&Value) -> Result<R, String>,
}

/// The outcome of a conversation.
pub(super) enum Said<R> {
    Answered(R),
    Failed(CallError),
    /// The server does not speak MCP at this path.
    NotMcp(u16),
}

impl<R: Redactable> Redactable for Said<R> {
    fn redact(&mut self, redactor: &Redactor) {
        match self {
            Self::Answered(result) => result.redact(redactor),
            Self::Failed(error) => error.redact(redactor),
            Self::NotMcp(_) => {}
        }
    }
}

impl<R> Said<R> {
    pub(super) fn result(self) -> Result<R, CallError> {
        match self {
            Self::Answered(result) => Ok(result),
            Self::Failed(error) => Err(error),
            Self::NotMcp(status) => Err(Fault::BadOutput(format!("no message of MCP: HTTP status {status}")).into()),
        }
    }
}

impl<R> From<Failed> for Said<R> {
    fn from(failed: Failed) -> Self {
        match failed {
            Failed::Fault(fault) => Self::Failed(fault.into()),
            Failed::NotMcp(status) => Self::NotMcp(status.as_u16()),
        }
    }
}

impl<R: Redactable + Send + 'static> Invocation for Conversation<R> {
    type Outcome = Said<R>;

    async fn run(
        self,
        store: &mut Store<GuestState>,
        instance: &BoundInstance,
        context: CallContext,
    ) -> wasmtime::Result<Said<R>> {
        let Self { handler, way: Way { path, has_handshake }, asked, limit, read } = self;
        let method = asked.method;
        let request = match has_handshake {
            false => asked.stateless(path, &context),
            true => match handshake(store, instance, &handler, path, limit).await? {
                Ok(agreed) if asked.method == INITIALIZE => return Ok(said(read, &agreed.result)),
                Ok(agreed) => asked.in_session(path, &context, &agreed.revision, agreed.session.as_ref()),
                Err(failed) => return Ok(failed.into()),
            },
        };
        let wanted = Wanted { id: Some(message::ID), limit, is_last: true };
        Ok(match exchange(store, instance, &handler, request, wanted).await? {
            Err(failed) => failed.into(),
            Ok(reply) => {
                if let Some(Answer::Error { code: MISSING_CAPABILITY, data, .. }) = &reply.answer {
                    deny(store.data(), data);
                }
                match result_of(reply, method, has_handshake) {
                    Ok(result) => said(read, &result),
                    Err(error) => Said::Failed(error),
                }
            }
        })
    }
}

fn said<R>(read: fn(&Value) -> Result<R, String>, result: &Value) -> Said<R> {
    read(result).map_or_else(|why| Said::Failed(bad(why)), Said::Answered)
}

/// What a handshake agreed on.
struct Agreed {
    revision: Arc<str>,
    /// The header field that names the session.
    session: Option<HeaderValue>,
    /// Of `initialize`.
    result: Value,
}

/// Initializes an instance.
async fn handshake(
    store: &mut Store<GuestState>,
    instance: &BoundInstance,
    handler: &Handler,
    path: &'static str,
    limit: u64,
) -> wasmtime::Result<Result<Agreed, Failed>> {
    let wanted = Wanted { id: Some(message::HANDSHAKE_ID), limit, is_last: false };
    let reply = match exchange(store, instance, handler, message::initialize(path), wanted).await? {
        Ok(reply) => reply,
        Err(failed) => return Ok(Err(failed)),
    };
    let session = reply.session.clone();
    let refused = |why: String| Ok(Err(Failed::Fault(Fault::BadOutput(why))));
    let Some(Answer::Result(result)) = reply.answer else {
        return refused("an error in place of the result of `initialize`".into());
    };
    let revision = result["protocolVersion"].as_str().map(Arc::<str>::from);
    let Some(revision) = revision.filter(|revision| WITH_HANDSHAKE.contains(&&**revision)) else {
        return refused("an unknown revision of MCP in the result of `initialize`".into());
    };
    let request = message::initialized(path, &revision, session.as_ref());
    let wanted = Wanted { id: None, limit, is_last: false };
    Ok(match exchange(store, instance, handler, request, wanted).await? {
        Err(failed) => Err(failed),
        Ok(reply) if !reply.status.is_success() => {
            return refused(format!("HTTP status {} for `notifications/initialized`", reply.status.as_u16()));
        }
        Ok(_) => Ok(Agreed { revision, session, result }),
    })
}

fn result_of(reply: Reply, method: &str, has_handshake: bool) -> Result<Value, CallError> {
    match reply.answer {
        Some(Answer::Result(result)) => match result["resultType"].as_str() {
            // Absent in revisions with a handshake.
            None | Some("complete") => Ok(result),
            Some(INPUT_REQUIRED) if !message::may_ask(method) => {
                Err(bad(format!("a question in the result of `{method}`")))
            }
            Some(INPUT_REQUIRED) if has_handshake => {
                Err(bad(format!("a question, as only servers of {STATELESS} ask")))
            }
            Some(INPUT_REQUIRED) => Ok(result),
            Some(kind) => Err(bad(format!("a result of the type '{}', which was not asked for", quote(kind, 60)))),
        },
        Some(Answer::Error { code, message, .. }) => Err(CallError::Guest(error(code, message, method))),
        None => Err(bad("no answer".into())),
    }
}

/// A server does not ask what its client cannot be asked, and says so; the grant may be what is missing.
fn deny(state: &GuestState, data: &Value) {
    for (capability, access) in
        [("elicitation", Access::Elicit), ("sampling", Access::Sample), ("roots", Access::Roots)]
    {
        if data["requiredCapabilities"][capability].is_object() && !state.granted.grants.allow(access) {
            state.deny(access, || (access.line(), access.word()));
        }
    }
}

/// A code means what it says only where the specification uses it: a tool that does not find a resource says so to the
/// model.
fn error(code: i64, message: String, method: &str) -> GuestError {
    let is_of_call = ["tools/call", "prompts/get"].contains(&method);
    match code {
        NO_RESOURCE | INVALID_PARAMS if method == "resources/read" => GuestError::NotFound,
        METHOD_NOT_FOUND if !is_of_call => GuestError::NotFound,
        INVALID_PARAMS => GuestError::InvalidInput(InvalidInput { path: String::new(), reason: message }),
        _ => GuestError::Failed(message),
    }
}

fn bad(why: String) -> CallError {
    Fault::BadOutput(why).into()
}
