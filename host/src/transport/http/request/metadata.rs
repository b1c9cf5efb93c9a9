//! The metadata document, by which clients find the authorization server. Anyone may read it.
//!
//! Source: RFC 9728; MCP 2026-07-28, basic/authorization, "Authorization Server Location".

use std::sync::Arc;

use bytes::Bytes;
use http::header::{self, HeaderMap, HeaderValue};
use http::{Method, StatusCode};
use serde::Serialize;

use super::challenge::unavailable;
use super::guard::preflight_of;
use super::oauth::OAuth;
use crate::transport::http::responses::{json, method_not_allowed};
use crate::transport::http::{Response, mcp};

const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";
/// Where clients of 2025-03-26 look.
const OF_THE_ISSUER: &str = "/.well-known/oauth-authorization-server";
const METHODS: &str = "GET, HEAD";

pub(super) struct Metadata {
    oauth: Arc<OAuth>,
    document: Bytes,
    paths: Vec<String>,
}

#[derive(Serialize)]
struct Document<'a> {
    resource: &'a str,
    authorization_servers: &'a [String],
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    scopes_supported: &'a [String],
    bearer_methods_supported: [&'static str; 1],
    #[serde(skip_serializing_if = "Option::is_none")]
    resource_name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    resource_documentation: Option<&'a str>,
}

impl Metadata {
    /// `sse`: clients may know the server by the path of HTTP+SSE too.
    pub(super) fn new(oauth: Arc<OAuth>, sse: bool) -> Self {
        let document = Document {
            resource: &oauth.resource,
            authorization_servers: &oauth.issuers,
            scopes_supported: &oauth.scopes,
            bearer_methods_supported: ["header"],
            resource_name: oauth.name.as_deref(),
            resource_documentation: oauth.documentation.as_deref(),
        };
        let document = serde_json::to_vec(&document).expect("texts are valid JSON").into();
        // Clients ask below the path that they know, then at the root.
        let (_, path) = parts(&oauth.resource);
        let known = [path, "", mcp::PATH].into_iter().chain(sse.then_some(mcp::EVENTS));
        let paths = known.map(|path| format!("{WELL_KNOWN}{path}")).collect();
        Self { oauth, document, paths }
    }

    /// Where the document of a resource is: its path comes last (RFC 9728, section 3).
    pub(super) fn url(resource: &str) -> String {
        let (origin, path) = parts(resource);
        format!("{origin}{WELL_KNOWN}{path}")
    }

    /// Whether it answers requests to that path.
    pub(super) fn has(&self, path: &str) -> bool {
        self.paths.iter().any(|known| known == path) || self.oauth.legacy_metadata && path == OF_THE_ISSUER
    }

    /// The response to a request whose path it [has](Self::has). Pages of all sites may read it: it holds
    /// no secret, and no credentials are sent.
    pub(super) async fn answer(&self, path: &str, method: &Method, headers: &HeaderMap) -> Response {
        let mut response = match *method {
            Method::GET | Method::HEAD if path == OF_THE_ISSUER => {
                match self.oauth.verifier.authorization_server_metadata().await {
                    Some(document) => document_response(document),
                    None => unavailable("the metadata of the authorization server cannot be fetched").into(),
                }
            }
            Method::GET | Method::HEAD => document_response(self.document.clone()),
            Method::OPTIONS => preflight_of(METHODS, headers),
            _ => method_not_allowed(METHODS),
        };
        response.headers_mut().insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
        response
    }
}

fn document_response(document: Bytes) -> Response {
    let mut response = json(StatusCode::OK, document);
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("public, max-age=600"));
    response
}

/// A canonical URI without and with only its path.
pub(super) fn parts(uri: &str) -> (&str, &str) {
    let authority = uri.find("://").map_or(0, |at| at + "://".len());
    let path = uri[authority..].find('/').map_or(uri.len(), |at| authority + at);
    uri.split_at(path)
}

#[cfg(test)]
mod tests {
    use super::Metadata;

    #[test]
    fn the_path_of_the_resource_comes_last() {
        for (resource, url) in [
            ("https://a.example", "https://a.example/.well-known/oauth-protected-resource"),
            ("https://a.example/mcp", "https://a.example/.well-known/oauth-protected-resource/mcp"),
            ("http://[::1]:8080/x/mcp", "http://[::1]:8080/.well-known/oauth-protected-resource/x/mcp"),
        ] {
            assert_eq!(Metadata::url(resource), url);
        }
    }
}
