//! `_meta`: what a request says about itself, and what of it a plugin may see.
//! It does not decide the era of a message: see [`super::era`].

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::capability::ClientCapabilities;
use super::error::{self, ErrorObject};
use super::implementation::Implementation;
use super::level::Level;
use super::params;
use super::revision::Revision;
use crate::json::{self, Kind, MembersError};
use crate::jsonrpc::RequestId;

pub const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
pub const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
pub const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
pub const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
pub const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
pub const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";
const PROGRESS_TOKEN: &str = "progressToken";
const PATH: &str = "params._meta";

/// What to put in progress notifications: a string or an integer, echoed as it came.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ProgressToken(RequestId);

impl ProgressToken {
    pub(super) fn parse(raw: &RawValue, path: &str) -> Result<Self, ErrorObject> {
        match RequestId::parse(raw) {
            Ok(token) => Ok(Self(token)),
            Err(fault) => Err(error::invalid_params(path, &fault.to_string())),
        }
    }

    /// The JSON text, as it was received.
    pub fn as_json(&self) -> &str {
        self.0.as_json()
    }
}

/// The `_meta` that makes a request of 2026-07-28 stand by itself.
#[derive(Debug, Clone)]
pub struct Meta {
    /// As the client wrote it; [`Meta::revision`] says whether it is served.
    pub version: String,
    pub client_capabilities: ClientCapabilities,
    pub client: Option<Implementation>,
    /// No `notifications/message` may be sent without it.
    pub log_level: Option<Level>,
    pub progress_token: Option<ProgressToken>,
    /// What no specification reserves, as one JSON object: for the plugin.
    pub rest: String,
}

impl Meta {
    /// -32022 when the version named is none that is served by `_meta` alone. Apart
    /// from parsing, since over HTTP the headers are compared in between.
    pub fn revision(&self) -> Result<Revision, ErrorObject> {
        Revision::parse(&self.version)
            .filter(|revision| revision.is_modern())
            .ok_or_else(|| error::unsupported_version(&self.version))
    }

    /// Reads the `_meta` of a request that [`is_modern`].
    pub fn parse(params: Option<&RawValue>) -> Result<Self, ErrorObject> {
        let meta = object(params)?;
        let names = [PROTOCOL_VERSION, CLIENT_CAPABILITIES, CLIENT_INFO, LOG_LEVEL, PROGRESS_TOKEN];
        let [version, capabilities, client, level, token] = params::members(meta, names, PATH)?;
        let at = |key: &str| format!("{PATH}[\"{key}\"]");
        let version = params::string(version, &at(PROTOCOL_VERSION))?;
        let version = params::required(version, &at(PROTOCOL_VERSION))?.into_owned();
        let revision = Revision::parse(&version).unwrap_or(Revision::MODERN[0]);
        let capabilities = params::required(capabilities, &at(CLIENT_CAPABILITIES))?;
        let client_path = at(CLIENT_INFO);
        Ok(Self {
            version,
            client_capabilities: ClientCapabilities::parse(revision, capabilities, &at(CLIENT_CAPABILITIES))?,
            client: client.map(|raw| Implementation::parse(raw, &client_path)).transpose()?,
            log_level: level.map(|raw| parse_level(raw, &at(LOG_LEVEL))).transpose()?,
            progress_token: parse_token(token)?,
            rest: rest(revision, meta)?,
        })
    }
}

/// What a legacy request's `_meta` holds: its progress token, and the rest for the plugin.
pub fn parse_legacy(
    revision: Revision,
    params: Option<&RawValue>,
) -> Result<(Option<ProgressToken>, String), ErrorObject> {
    let Some(meta) = object(params)? else {
        return Ok((None, "{}".to_owned()));
    };
    let [token] = params::members(Some(meta), [PROGRESS_TOKEN], PATH)?;
    Ok((parse_token(token)?, rest(revision, Some(meta))?))
}

fn rest(revision: Revision, meta: Option<&RawValue>) -> Result<String, ErrorObject> {
    let Some(meta) = meta else {
        return Ok("{}".to_owned());
    };
    unreserved(revision, meta.get()).map_err(|fault| error::invalid_params(PATH, &format!("cannot be read: {fault}")))
}

/// Whether params claim to stand by themselves: the version is in `_meta`, of whatever
/// JSON type.
pub fn is_modern(params: Option<&RawValue>) -> Result<bool, ErrorObject> {
    let [version] = params::members(object(params)?, [PROTOCOL_VERSION], PATH)?;
    Ok(version.is_some())
}

/// `params._meta`, which is an object when it is there.
fn object(params: Option<&RawValue>) -> Result<Option<&RawValue>, ErrorObject> {
    let Some(params) = params.filter(|params| Kind::of(params) == Kind::Object) else {
        return Ok(None);
    };
    let [meta] = params::members(Some(params), ["_meta"], "params")?;
    params::object(meta, PATH)
}

pub(super) fn parse_level(raw: &RawValue, path: &str) -> Result<Level, ErrorObject> {
    let text = json::string(raw).unwrap_or(Cow::Borrowed(raw.get()));
    let level = Level::parse(&text).filter(|_| Kind::of(raw) == Kind::String);
    level.ok_or_else(|| error::invalid_log_level(path, &text))
}

fn parse_token(raw: Option<&RawValue>) -> Result<Option<ProgressToken>, ErrorObject> {
    raw.map(|raw| ProgressToken::parse(raw, &format!("{PATH}.{PROGRESS_TOKEN}"))).transpose()
}

/// The object without the keys that the specification keeps for itself: from a client,
/// what a plugin may see; from a plugin, what may go out beside the host's own keys.
pub fn unreserved(revision: Revision, object: &str) -> Result<String, MembersError> {
    json::filtered(object, |key| !is_reserved(revision, key))
}

/// Whether a key belongs to the specification. In 2025-06-18 any label `mcp` or
/// `modelcontextprotocol` with another one after it reserves the prefix; since 2025-11-25
/// only the second label does (basic, "_meta"). `traceparent` and its kin are reserved
/// for the meaning they have everywhere, so they pass.
pub fn is_reserved(revision: Revision, key: &str) -> bool {
    let Some((prefix, _)) = key.split_once('/') else {
        return key == PROGRESS_TOKEN;
    };
    let ours = |label: &str| matches!(label, "mcp" | "modelcontextprotocol");
    let labels: Vec<&str> = prefix.split('.').collect();
    let second = labels.get(1).is_some_and(|label| ours(label));
    let followed = labels.split_last().is_some_and(|(_, before)| before.iter().any(|l| ours(l)));
    // What this host says of a result is never a plugin's to say.
    let host = labels[0] == "wharf";
    host || second || (followed && revision <= Revision::V2025_06_18)
}
