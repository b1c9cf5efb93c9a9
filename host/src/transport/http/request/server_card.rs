//! The server's card and the catalog that names it, by which clients that know only a domain find the server.
//! Experimental: the extension may still change.
//!
//! Both are public by design, and say nothing about plugins: what they offer depends on who asks.
//! Source: SEP-2127; its extension in modelcontextprotocol/ext-server-card, `schema.json` at 526201bb, which the SEP
//! names, and `docs/discovery.md` at 8924e086 (2026-07-24). The catalog: Agent-Card/ai-catalog,
//! `specification/ai-catalog.md`, version 1.0.

use bytes::Bytes;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::{Method, StatusCode};
use serde::Serialize;
use serde_json::{Value, json};

use super::metadata::parts;
use crate::protocol::revision::Revision;
use crate::server::Server;
use crate::transport::http::responses::{empty, method_not_allowed, with_type};
use crate::transport::http::{Response, mcp};

/// Where the catalog of a domain is.
const CATALOG: &str = "/.well-known/ai-catalog.json";
/// What follows the address of the MCP endpoint.
const CARD: &str = "/server-card";
const SCHEMA: &str = "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json";
const CARD_TYPE: &str = "application/mcp-server-card+json";
const CATALOG_TYPE: &str = "application/ai-catalog+json";
const CATALOG_VERSION: &str = "1.0";

/// What the extension requires of every answer, so that pages of all sites may read it.
const CORS: [(HeaderName, &str); 4] = [
    (header::ACCESS_CONTROL_ALLOW_ORIGIN, "*"),
    (header::ACCESS_CONTROL_ALLOW_METHODS, "GET"),
    (header::ACCESS_CONTROL_ALLOW_HEADERS, "Content-Type, If-None-Match"),
    (header::ACCESS_CONTROL_EXPOSE_HEADERS, "ETag"),
];

pub(super) struct ServerCard {
    card: Document,
    catalog: Document,
    /// Where the card is: below the endpoint, by its path here and by that of the address.
    paths: [String; 2],
}

struct Document {
    body: Bytes,
    content_type: &'static str,
    tag: HeaderValue,
}

#[derive(Serialize)]
struct Card<'a> {
    #[serde(rename = "$schema")]
    schema: &'static str,
    name: &'a str,
    version: &'a str,
    description: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'a str>,
    remotes: [Remote<'a>; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Remote<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    url: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    headers: Option<[Value; 1]>,
    supported_protocol_versions: Vec<&'static str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Catalog {
    spec_version: &'static str,
    entries: [Entry; 1],
}

#[derive(Serialize)]
struct Entry {
    identifier: String,
    #[serde(rename = "type")]
    content_type: &'static str,
    url: String,
}

impl ServerCard {
    /// `url` is what clients are given as the address. `needs_token`: a static one, which nothing else tells them of;
    /// those of OAuth they find by its metadata. `None` if the server has no description, or a name without a
    /// namespace: the configuration requires both.
    pub(super) fn new(server: &Server, url: &str, needs_token: bool) -> Option<Self> {
        let own = server.implementation();
        let (namespace, name) = own.name.split_once('/')?;
        let card = Card {
            schema: SCHEMA,
            name: &own.name,
            version: &own.version,
            description: own.description.as_deref()?,
            title: own.title.as_deref(),
            remotes: [Remote {
                kind: "streamable-http",
                url,
                headers: needs_token.then(|| [authorization()]),
                supported_protocol_versions: Revision::all().map(Revision::as_str).collect(),
            }],
        };
        // The domain in the identifier is not in reverse.
        let publisher = namespace.split('.').rev().collect::<Vec<_>>().join(".");
        let entry = Entry {
            identifier: format!("urn:air:{publisher}:mcp:{name}"),
            content_type: CARD_TYPE,
            url: format!("{url}{CARD}"),
        };
        let (_, path) = parts(url);
        Some(Self {
            card: Document::new(&card, CARD_TYPE),
            catalog: Document::new(&Catalog { spec_version: CATALOG_VERSION, entries: [entry] }, CATALOG_TYPE),
            paths: [mcp::PATH, path].map(|path| format!("{path}{CARD}")),
        })
    }

    /// Whether it answers requests to that path.
    pub(super) fn has(&self, path: &str) -> bool {
        self.document(path).is_some()
    }

    /// The response to a request whose path it [has](Self::has), whatever it accepts.
    pub(super) fn answer(&self, path: &str, method: &Method, headers: &HeaderMap) -> Response {
        let mut response = match (self.document(path), method) {
            (Some(document), &Method::GET | &Method::HEAD) => document.answer(headers),
            (_, &Method::OPTIONS) => empty(StatusCode::NO_CONTENT),
            _ => method_not_allowed("GET, HEAD"),
        };
        for (name, value) in CORS {
            response.headers_mut().insert(name, HeaderValue::from_static(value));
        }
        response
    }

    fn document(&self, path: &str) -> Option<&Document> {
        match path {
            CATALOG => Some(&self.catalog),
            _ => self.paths.iter().any(|known| known == path).then_some(&self.card),
        }
    }
}

impl Document {
    fn new(value: &impl Serialize, content_type: &'static str) -> Self {
        let body = serde_json::to_vec(value).expect("texts are valid JSON");
        let tag = format!("\"{}\"", &blake3::hash(&body).to_hex()[..32]);
        Self { body: body.into(), content_type, tag: tag.try_into().expect("digits and quotes") }
    }

    fn answer(&self, headers: &HeaderMap) -> Response {
        let mut response = if self.is_known(headers) {
            empty(StatusCode::NOT_MODIFIED)
        } else {
            with_type(StatusCode::OK, self.content_type, self.body.clone())
        };
        let answer = response.headers_mut();
        answer.insert(header::ETAG, self.tag.clone());
        answer.insert(header::CACHE_CONTROL, HeaderValue::from_static("public, max-age=3600"));
        response
    }

    /// Whether the client has it (RFC 9110, section 13.1.2). No tag of this server has a comma.
    fn is_known(&self, headers: &HeaderMap) -> bool {
        let lists = headers.get_all(header::IF_NONE_MATCH).iter().filter_map(|list| list.to_str().ok());
        let mut tags = lists.flat_map(|list| list.split(',')).map(str::trim);
        tags.any(|tag| tag == "*" || self.tag == *tag.strip_prefix("W/").unwrap_or(tag))
    }
}

/// The header that a client must send.
fn authorization() -> Value {
    json!({
        "name": "Authorization",
        "description": "A token from the operator of the server",
        "isRequired": true,
        "isSecret": true,
        "value": "Bearer {token}",
        "variables": { "token": { "description": "The token", "isRequired": true, "isSecret": true } },
    })
}
