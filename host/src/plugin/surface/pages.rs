//! Pages that chat clients show: what tools and resources say of them in `_meta.ui`.
//!
//! Source: MCP Apps (extension `io.modelcontextprotocol/ui`), 2026-01-26.

use serde_json::Value;

use super::{ListingWarning, Surface};
use crate::json;
use crate::plugin::abi::ResourceDescription;
use crate::plugin::id::PluginId;
use crate::plugin::policy::pages::PageReach;
use crate::text::quote;

/// The media type of a page.
const PAGE_MEDIA_TYPE: &str = "text/html;profile=mcp-app";

const SCHEME: &str = "ui://";
/// Who may be shown a tool.
const VISIBILITY: [&str; 2] = ["model", "app"];
const PERMISSIONS: [&str; 4] = ["camera", "microphone", "geolocation", "clipboardWrite"];
/// Maximum origins of one directive: they become a header field.
const MAX_ORIGINS: usize = 64;
/// Maximum bytes of an origin: a name of 253 bytes, its scheme and port.
const MAX_ORIGIN: usize = 280;

/// What a tool's `_meta.ui` says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolUi {
    /// The page for its results.
    pub page: Option<String>,
    /// Only pages call it; models are not to be shown it.
    pub app_only: bool,
    /// What is wrong with it.
    wrong: Option<String>,
}

impl ToolUi {
    /// Of a tool's `_meta`, which was checked.
    pub(super) fn of(meta: Option<&str>) -> Self {
        let read = |meta: &str| json::tree(meta, json::MAX_DEPTH).ok();
        let Some(meta) = meta.filter(|meta| meta.contains("\"ui")).and_then(read) else { return Self::default() };
        let ui = &meta["ui"];
        // The older key is for clients that know only that.
        let page = if ui["resourceUri"].is_null() { &meta["ui/resourceUri"] } else { &ui["resourceUri"] };
        let names = || ui["visibility"].as_array().into_iter().flatten();
        let unknown = names().find(|name| !name.as_str().is_some_and(|name| VISIBILITY.contains(&name)));
        let wrong = if !page.is_null() && !page.as_str().is_some_and(|page| page.starts_with(SCHEME)) {
            Some(format!("its page is not a URI that begins with {SCHEME}: {}", quote(&page.to_string(), 80)))
        } else if !ui["visibility"].is_null() && !ui["visibility"].is_array() {
            Some("its visibility is not a list".into())
        } else {
            unknown.map(|name| format!("its visibility is neither model nor app: {}", quote(&name.to_string(), 80)))
        };
        Self {
            page: page.as_str().map(str::to_owned),
            app_only: names().any(|name| name == "app") && names().all(|name| name != "model"),
            wrong,
        }
    }
}

impl Surface {
    /// The listed pages.
    pub(in crate::plugin) fn listed_pages(&self) -> impl Iterator<Item = &ResourceDescription> {
        let is_page = |resource: &&ResourceDescription| {
            resource.uri.starts_with(SCHEME) || resource.mime_type.as_deref() == Some(PAGE_MEDIA_TYPE)
        };
        self.resources.iter().flatten().filter(is_page)
    }

    /// What is wrong with what it says of pages, though it is served.
    pub(in crate::plugin) fn page_warnings(&self, id: &PluginId, reach: PageReach<'_>) -> Vec<ListingWarning> {
        let mut warnings = Vec::new();
        let mut warn = |kind: &'static str, name: &str, why| {
            warnings.push(ListingWarning::Page { kind: kind.into(), name: quote(name, 80), why });
        };
        for tool in self.tools.iter().flatten() {
            let wrong = tool.ui.wrong.clone().or_else(|| self.wrong_with(tool.ui.page.as_deref()?));
            if let Some(why) = wrong {
                warn("tool", &tool.tool.name, why);
            }
        }
        for page in self.listed_pages() {
            let own = own_pages(id) + "/";
            if !page.uri.starts_with(&own) {
                warn("page", &page.uri, format!("another plugin may have it: its URI does not begin with {own}"));
            }
            if page.mime_type.as_deref() != Some(PAGE_MEDIA_TYPE) {
                warn("page", &page.uri, format!("clients do not show it: its media type is not {PAGE_MEDIA_TYPE}"));
            }
            let meta = page.meta.as_deref().and_then(|meta| json::tree(meta, json::MAX_DEPTH).ok()).unwrap_or_default();
            let Some(ui) = meta["ui"].as_object() else { continue };
            let asked = ui.get("permissions").and_then(Value::as_object);
            let unknown = asked.and_then(|asked| asked.keys().find(|name| !PERMISSIONS.contains(&name.as_str())));
            if let Some(name) = unknown {
                warn("page", &page.uri, format!("it asks for a permission that is not known: {}", quote(name, 80)));
            }
            let beyond = reach.removed(ui);
            if !beyond.is_empty() {
                let beyond = quote(&beyond.join(", "), 200);
                warn(
                    "page",
                    &page.uri,
                    format!("it asks for what the plugin is not granted, and does not get it: {beyond}"),
                );
            }
        }
        warnings
    }

    fn wrong_with(&self, page: &str) -> Option<String> {
        let is_listed = self.resources.iter().flatten().any(|resource| resource.uri == page);
        let is_known = is_listed || self.templates.iter().any(|template| template.uri.matches(page));
        (!is_known).then(|| format!("its page is not among the plugin's resources: {}", quote(page, 80)))
    }
}

/// The scheme and authority that belong to a plugin of that name.
pub fn own_pages(id: &PluginId) -> String {
    format!("{SCHEME}{id}")
}

/// Checks `_meta` of a resource, or of its contents. Clients paste what it says into a header field.
///
/// # Errors
/// What is wrong, after "its meta".
pub(in crate::plugin) fn check(meta: &str) -> Result<(), String> {
    let unreadable = |why: json::MembersError| format!("is unreadable: {why}");
    let [ui] = json::members(meta, ["ui"]).map_err(unreadable)?;
    let Some(ui) = ui else { return Ok(()) };
    let ui = json::tree(ui.get(), json::MAX_DEPTH).map_err(|why| format!("is unreadable: {why}"))?;
    let domain = &ui["domain"];
    if !domain.is_null() && !domain.as_str().is_some_and(is_plain) {
        return Err(format!("names a domain that is none: {}", quote(&domain.to_string(), 80)));
    }
    let csp = match &ui["csp"] {
        Value::Null => return Ok(()),
        Value::Object(csp) => csp,
        _ => return Err("has a csp that is not an object".into()),
    };
    for (directive, origins) in csp {
        let named = quote(directive, 80);
        let Some(origins) = origins.as_array() else {
            return Err(format!("has in its csp no list of origins: {named}"));
        };
        if origins.len() > MAX_ORIGINS {
            return Err(format!("has in its csp more than {MAX_ORIGINS} origins: {named}"));
        }
        if let Some(other) = origins.iter().find(|origin| !origin.as_str().is_some_and(is_origin)) {
            return Err(format!(
                "has in its csp an entry that is no origin: {named}: {}",
                quote(&other.to_string(), 80)
            ));
        }
    }
    Ok(())
}

/// `https://api.example.org`, `https://*.example.org`, `wss://[::1]:8443`: nothing that means something else in a policy.
fn is_origin(text: &str) -> bool {
    let Some((scheme, authority)) = text.split_once("://") else { return false };
    let is_known = matches!(scheme, "https" | "http" | "wss" | "ws");
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
        _ => (authority, None),
    };
    let is_port =
        |port: &str| port.bytes().all(|byte| byte.is_ascii_digit()) && port.parse::<u16>().is_ok_and(|port| port > 0);
    is_known && text.len() <= MAX_ORIGIN && port.is_none_or(is_port) && is_host(host)
}

fn is_host(host: &str) -> bool {
    if let Some(address) = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        return address.parse::<std::net::Ipv6Addr>().is_ok();
    }
    let is_label = |label: &str| {
        !label.is_empty() && label.len() <= 63 && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    host.strip_prefix("*.").unwrap_or(host).split('.').all(is_label)
}

/// Of letters, digits and what separates them in names of hosts.
fn is_plain(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= MAX_ORIGIN
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b':' | b'/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins_are_told_from_what_else_a_policy_may_say() {
        for origin in [
            "https://example.org",
            "https://api.example.org:8443",
            "http://localhost:3000",
            "wss://live.example.org",
            "https://*.example.org",
            "https://192.0.2.1",
            "http://[2001:db8::1]:8080",
        ] {
            assert!(is_origin(origin), "{origin}");
        }
        for other in [
            "",
            "*",
            "https:",
            "https://",
            "https://*",
            "https://*.",
            "example.org",
            "https://example.org/",
            "https://example.org/path",
            "https://a b",
            "https://example.org;script-src *",
            "https://example.org,https://example.com",
            "'self'",
            "'unsafe-eval'",
            "https://'none'",
            "data:",
            "blob:",
            "javascript://x",
            "https://user@example.org",
            "https://example.org:0",
            "https://example.org:+80",
            "https://example.org:65536",
            "https://exa*mple.org",
            "https://*.*.example.org",
            "https://example.org\n",
            "https://exämple.org",
        ] {
            assert!(!is_origin(other), "{other}");
        }
        assert!(!is_origin(&format!("https://{}org", "a.".repeat(MAX_ORIGIN / 2))));
    }

    #[test]
    fn policies_that_could_say_more_are_refused() {
        let with = |csp: &str| check(&format!(r#"{{"ui":{{"csp":{csp}}}}}"#));
        assert_eq!(with(r#"{"connectDomains":["https://a.example"],"frameDomains":[]}"#), Ok(()));
        assert_eq!(check(r#"{"ui":{"prefersBorder":true},"csp":7}"#), Ok(()));
        assert_eq!(check(r#"{"example.org/ui":1}"#), Ok(()));
        let why = with(r#"{"connectDomains":["https://a.example; script-src *"]}"#).expect_err("it says more");
        assert_eq!(
            why,
            r#"has in its csp an entry that is no origin: connectDomains: "https://a.example; script-src *""#
        );
        for csp in ["7", r#"{"connectDomains":"https://a.example"}"#, r#"{"connectDomains":[null]}"#] {
            assert!(with(csp).is_err(), "{csp}");
        }
        let many = |count| format!("[{}]", vec!["\"https://a.example\""; count].join(","));
        assert!(with(&format!(r#"{{"resourceDomains":{}}}"#, many(MAX_ORIGINS))).is_ok());
        assert!(with(&format!(r#"{{"resourceDomains":{}}}"#, many(MAX_ORIGINS + 1))).is_err());
        assert!(check(r#"{"ui":{"domain":"a904.example.org"}}"#).is_ok());
        assert!(check(r#"{"ui":{"domain":"a;b"}}"#).is_err());
    }

    #[test]
    fn only_a_tool_for_apps_alone_is_hidden_from_models() {
        let of = |meta: &str| ToolUi::of(Some(meta));
        assert!(of(r#"{"ui":{"visibility":["app"]}}"#).app_only);
        for meta in [r#"{"ui":{"visibility":["model","app"]}}"#, r#"{"ui":{"visibility":[]}}"#, r#"{"ui":7}"#, "{}"] {
            assert!(!of(meta).app_only, "{meta}");
        }
        assert_eq!(of(r#"{"ui/resourceUri":"ui://a/b"}"#).page.as_deref(), Some("ui://a/b"));
        for (meta, wrong) in [
            (r#"{"ui":{"resourceUri":"https://a/b"}}"#, true),
            (r#"{"ui":{"resourceUri":7}}"#, true),
            (r#"{"ui":{"visibility":["apps"]}}"#, true),
            (r#"{"ui":{"visibility":"app"}}"#, true),
            (r#"{"ui":{"resourceUri":"ui://a/b","visibility":["model"]}}"#, false),
        ] {
            assert_eq!(of(meta).wrong.is_some(), wrong, "{meta}");
        }
    }
}
