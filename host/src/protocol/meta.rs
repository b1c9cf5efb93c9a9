//! `_meta`: a request's self-description, and the part that plugins may see.
//! It does not decide the era of a message: see [`super::era`].

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use serde_json::value::RawValue;

use super::capability::ClientCapabilities;
use super::error::{self, ErrorObject};
use super::implementation::Implementation;
use super::keys::{CLIENT_CAPABILITIES, CLIENT_INFO, COST, LOG_LEVEL, PROTOCOL_VERSION};
use super::level::Level;
use super::params::{self, Params};
use super::revision::Revision;
use crate::json::{self, Kind, MembersError, Object};
use crate::jsonrpc::RequestId;

const PROGRESS_TOKEN: &str = "progressToken";
const PATH: &str = "params._meta";

/// The token for progress notifications: a string or an integer, echoed verbatim.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ProgressToken(RequestId);

impl ProgressToken {
    pub(super) fn parse(raw: &RawValue, path: impl fmt::Display) -> Result<Self, ErrorObject> {
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

/// The `_meta` that makes a request of 2026-07-28 stateless.
#[derive(Debug, Clone)]
pub struct Meta {
    /// Verbatim; [`Meta::revision`] decides whether it is served.
    pub version: String,
    pub client_capabilities: Arc<ClientCapabilities>,
    pub client: Option<Implementation>,
    /// No `notifications/message` may be sent without it.
    pub log_level: Option<Level>,
    pub progress_token: Option<ProgressToken>,
    /// The keys that no specification reserves, as a JSON object for the plugin; and [`COST`].
    pub rest: String,
}

impl Meta {
    /// -32022 when the version is not one that is served statelessly. Separate from parsing, since
    /// over HTTP the headers are compared in between.
    pub fn revision(&self) -> Result<Revision, ErrorObject> {
        Revision::parse(&self.version)
            .filter(|revision| revision.is_modern())
            .ok_or_else(|| error::unsupported_version(&self.version))
    }

    /// Parses the `_meta` of a request; `None` if it is not stateless. The version key makes it so,
    /// of whatever JSON type.
    pub fn parse(params: &Params<'_>) -> Result<Option<Self>, ErrorObject> {
        let Some(meta) = object(params)? else { return Ok(None) };
        let [Some(version)] = members(&meta, [PROTOCOL_VERSION])? else { return Ok(None) };
        let names = [CLIENT_CAPABILITIES, CLIENT_INFO, LOG_LEVEL, PROGRESS_TOKEN];
        let [capabilities, client, level, token] = members(&meta, names)?;
        let version = params::string(Some(version), At(PROTOCOL_VERSION))?;
        let version = params::required(version, At(PROTOCOL_VERSION))?.into_owned();
        let revision = Revision::parse(&version).unwrap_or(Revision::MODERN[0]);
        let capabilities = params::required(capabilities, At(CLIENT_CAPABILITIES))?;
        Ok(Some(Self {
            version,
            client_capabilities: ClientCapabilities::parse(revision, capabilities, At(CLIENT_CAPABILITIES))?.into(),
            client: client.map(|raw| Implementation::parse(raw, At(CLIENT_INFO))).transpose()?,
            log_level: level.map(|raw| parse_level(raw, At(LOG_LEVEL))).transpose()?,
            progress_token: parse_token(token)?,
            rest: rest(revision, &meta)?,
        }))
    }
}

/// Caches the last `_meta`: most clients send the same in each request.
#[derive(Debug, Default)]
pub struct LastMeta(Option<(Box<str>, Arc<Meta>)>);

impl LastMeta {
    /// Maximum bytes; a longer text is parsed each time.
    const KEPT: usize = 4 << 10;

    /// As [`Meta::parse`].
    pub fn read(&mut self, params: &Params<'_>) -> Result<Option<Arc<Meta>>, ErrorObject> {
        let [raw] = params.members(["_meta"])?;
        let text = raw.map(RawValue::get);
        if let Some((known, meta)) = &self.0
            && text == Some(known)
        {
            return Ok(Some(meta.clone()));
        }
        let meta = Meta::parse(params)?.map(Arc::new);
        if let (Some(text), Some(meta)) = (text.filter(|text| text.len() <= Self::KEPT), &meta) {
            self.0 = Some((text.into(), meta.clone()));
        }
        Ok(meta)
    }
}

/// What a legacy request's `_meta` holds: its progress token, and the rest for the plugin.
pub fn parse_legacy(revision: Revision, params: &Params<'_>) -> Result<(Option<ProgressToken>, String), ErrorObject> {
    let Some(meta) = object(params)? else {
        return Ok((None, "{}".to_owned()));
    };
    let [token] = members(&meta, [PROGRESS_TOKEN])?;
    Ok((parse_token(token)?, rest(revision, &meta)?))
}

/// Whether params claim to be stateless, see [`Meta::parse`].
pub fn is_modern(params: Option<&RawValue>) -> Result<bool, ErrorObject> {
    // Without this substring, escaped or not, there is no such key.
    let text = params.map_or("", RawValue::get).as_bytes();
    if memchr::memmem::find(text, b"_meta").is_none() && memchr::memchr(b'\\', text).is_none() {
        return Ok(false);
    }
    let Some(meta) = object(&Params::read(params))? else { return Ok(false) };
    let [version] = members(&meta, [PROTOCOL_VERSION])?;
    Ok(version.is_some())
}

/// `params._meta`, which must be an object if present.
fn object<'a>(params: &Params<'a>) -> Result<Option<Object<'a>>, ErrorObject> {
    let [meta] = params.members(["_meta"])?;
    let meta = params::object(meta, PATH)?;
    meta.map(|meta| Object::read(meta.get()).map_err(|fault| params::unreadable(PATH, &fault))).transpose()
}

fn members<'a, const N: usize>(
    meta: &Object<'a>,
    names: [&'static str; N],
) -> Result<[Option<&'a RawValue>; N], ErrorObject> {
    meta.members(names).map_err(|fault| params::unreadable(PATH, &fault))
}

/// The path of a key of `_meta`.
#[derive(Clone, Copy)]
struct At(&'static str);

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PATH}[\"{}\"]", self.0)
    }
}

pub(super) fn parse_level(raw: &RawValue, path: impl fmt::Display) -> Result<Level, ErrorObject> {
    let text = json::string(raw).unwrap_or(Cow::Borrowed(raw.get()));
    let level = Level::parse(&text).filter(|_| Kind::of(raw) == Kind::String);
    level.ok_or_else(|| error::invalid_log_level(&path.to_string(), &text))
}

fn parse_token(raw: Option<&RawValue>) -> Result<Option<ProgressToken>, ErrorObject> {
    raw.map(|raw| ProgressToken::parse(raw, format_args!("{PATH}.{PROGRESS_TOKEN}"))).transpose()
}

/// The object without the keys that the specification reserves: of a client, what a plugin may see;
/// of a plugin, what may be sent beside the host's own keys.
pub fn unreserved(revision: Revision, object: &str) -> Result<Object<'_>, MembersError> {
    Object::read(object).map(|object| object.filtered(|key| !is_reserved(revision, key)))
}

fn rest(revision: Revision, meta: &Object<'_>) -> Result<String, ErrorObject> {
    let rest = meta.filtered(|key| key == COST || !is_reserved(revision, key));
    json::to_text(&rest).map_err(|fault| error::unwritable(&fault))
}

/// Whether a key belongs to the specification. In 2025-06-18 any label `mcp` or
/// `modelcontextprotocol` with another one after it reserves the prefix; since 2025-11-25
/// only the second label does (basic, "_meta"). `traceparent` and similar keys are reserved
/// for their standard meaning, so they pass.
pub fn is_reserved(revision: Revision, key: &str) -> bool {
    // The common case.
    if key.starts_with("io.modelcontextprotocol/") {
        return true;
    }
    let Some((prefix, _)) = key.split_once('/') else {
        return key == PROGRESS_TOKEN;
    };
    let ours = |label: &str| matches!(label, "mcp" | "modelcontextprotocol");
    let labels = || prefix.split('.');
    let second = labels().nth(1).is_some_and(ours);
    let followed = || prefix.rsplit('.').skip(1).any(ours);
    // The host's own keys on results cannot be set by plugins.
    let host = labels().next() == Some("wharf");
    host || second || (revision <= Revision::V2025_06_18 && followed())
}
