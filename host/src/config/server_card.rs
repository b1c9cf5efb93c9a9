//! `[server.http] server-card`: whether anyone may read what the server is called and where it is. Experimental, as the
//! card is.
//!
//! Checks what the card requires of names and texts; `transport` writes it.
//! Source: SEP-2127; `schema.json` of its extension (modelcontextprotocol/ext-server-card) at 526201bb, which the SEP names.

use serde::{Deserialize, Serialize};

use super::address::{check_address, is_fetched};
use super::error::WrongValue;

/// Maximum characters of a title and of a description.
const MAX_TEXT: usize = 100;
/// Maximum characters of a name.
const MAX_NAME: usize = 200;

/// `[server.http.server-card]`.
#[derive(Clone, Debug, Default, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct ServerCardConfig {
    /// What clients are given as the address of this server; unset: the resource of `oauth`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

/// Checks what people are shown of the server, with a card or without.
///
/// # Errors
/// If one is empty or too long for a card.
pub(super) fn check_texts(title: Option<&str>, description: Option<&str>) -> Result<(), WrongValue> {
    for (key, text) in [("title", title), ("description", description)] {
        if text.is_some_and(|text| !is_text(text)) {
            let why = format!("must have 1 to {MAX_TEXT} characters in one line");
            return Err(WrongValue::at(&["server", key], why)
                .hint("omit it, or shorten it; a longer text for the model may be in instructions"));
        }
    }
    Ok(())
}

impl ServerCardConfig {
    /// Of a server with that address, name and description. The keys of errors are those of the whole file.
    ///
    /// # Errors
    /// If its address cannot be one, there is no description, or the name has another form.
    pub(super) fn check(&self, url: Option<&str>, name: &str, has_description: bool) -> Result<(), WrongValue> {
        let keys = ["server", "http", "server-card"];
        if let Some(url) = &self.url {
            check_address("url", url).map_err(|wrong| wrong.below(&keys))?;
        }
        let Some(url) = url else {
            return Err(WrongValue::at(&keys, "needs the address that clients are given")
                .hint("write server-card = { url = \"https://tools.example/mcp\" }"));
        };
        if !is_fetched(url) {
            return Err(WrongValue::at(&keys, format!("not an https URI: {url:?}"))
                .hint("http is for this machine only, and a card for everyone; write an address with https://"));
        }
        if !is_name(name) {
            let why = format!("a server card needs a domain of yours in reverse, one slash, and a name: {name:?}");
            return Err(
                WrongValue::at(&["server", "name"], why).hint(format!("write name = {:?}", suggested(url, name)))
            );
        }
        if !has_description {
            return Err(WrongValue::at(&keys, "needs a description of the server")
                .hint("write in [server]: description = \"what it is for, in one line\""));
        }
        Ok(())
    }
}

fn is_text(text: &str) -> bool {
    (1..=MAX_TEXT).contains(&text.chars().count()) && !text.contains(char::is_control)
}

/// Whether it is a namespace and a name, as `example.tools/wharf`. No label may be empty: the catalog has them in
/// reverse.
fn is_name(text: &str) -> bool {
    let Some((namespace, name)) = text.split_once('/') else { return false };
    let is_label = |label: &str| !label.is_empty() && label.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    text.len() <= MAX_NAME && namespace.split('.').all(is_label) && !name.is_empty() && name.chars().all(is_in_name)
}

fn is_in_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-')
}

/// A valid name for a server at that address.
fn suggested(url: &str, name: &str) -> String {
    let host = url.split("://").nth(1).unwrap_or_default().split(['/', ':']).next().unwrap_or_default();
    let namespace = host.split('.').rev().collect::<Vec<_>>().join(".");
    let last = name.rsplit('/').next().unwrap_or_default();
    let name: String = last.chars().map(|c| if is_in_name(c) { c } else { '-' }).collect();
    let suggested = format!("{namespace}/{name}");
    if is_name(&suggested) { suggested } else { "example.tools/wharf".to_owned() }
}
