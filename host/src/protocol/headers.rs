//! What a request says of itself in HTTP headers, held against what it says in its body.
//! It knows neither how headers are spelt on the wire nor what status a mismatch has.
//!
//! Source: MCP 2026-07-28, basic/transports/streamable-http, "Standard Headers" and
//! "Custom Headers".

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::value::RawValue;

use super::error::{self, ErrorObject};
use super::params::Params;
use crate::json::{self, Kind};

pub const VERSION: &str = "MCP-Protocol-Version";
pub const METHOD: &str = "Mcp-Method";
pub const NAME: &str = "Mcp-Name";
/// What the names of headers of a tool's own begin with.
pub const PARAM_PREFIX: &str = "Mcp-Param-";

/// The headers of one request, blanks around their values taken off.
#[derive(Debug, Clone, Default)]
pub struct Headers {
    pub version: Option<String>,
    pub method: Option<String>,
    pub name: Option<String>,
    /// By the rest of their names, in lower case.
    pub params: Vec<(String, String)>,
}

impl Headers {
    /// -32020 for a header that stands there more than once, or is not plain text: nobody
    /// could say what counts.
    pub fn unclear(name: &str) -> ErrorObject {
        error::header_mismatch(name, "stands there twice, or is not of visible ASCII characters")
    }

    /// -32020 if the standard headers are not there or say something else than the body.
    pub fn check(&self, method: &str, params: &Params<'_>) -> Result<(), ErrorObject> {
        match &self.method {
            None => return Err(error::header_mismatch(METHOD, "is missing")),
            Some(said) if said != method => return Err(error::header_mismatch(METHOD, "differs from the method")),
            Some(_) => {}
        }
        let member = match method {
            "tools/call" | "prompts/get" => "name",
            "resources/read" => "uri",
            _ => return Ok(()),
        };
        let [found] = params.members([member]).unwrap_or_default();
        // A body without it has an error of its own.
        let Some(wanted) = found.and_then(json::string) else { return Ok(()) };
        let said = self.name.as_deref().ok_or_else(|| error::header_mismatch(NAME, "is missing"))?;
        if decoded(NAME, said)? != wanted {
            return Err(error::header_mismatch(NAME, &format!("differs from params.{member}")));
        }
        Ok(())
    }

    /// -32020 if the header `name` does not say the same as the argument at `path` of
    /// `arguments`, the text of an object.
    pub fn check_param(&self, name: &str, path: &[String], arguments: &str) -> Result<(), ErrorObject> {
        let said = self.params.iter().find(|(said, _)| said.eq_ignore_ascii_case(name));
        let name = format!("{PARAM_PREFIX}{name}");
        match (said, argument(path, arguments)) {
            (None, None) => Ok(()),
            (None, Some(_)) => Err(error::header_mismatch(&name, "is missing")),
            (Some(_), None) => Err(error::header_mismatch(&name, "stands for an argument that is not there")),
            (Some((_, said)), Some(value)) if same(&decoded(&name, said)?, value) => Ok(()),
            (Some(_), Some(_)) => {
                let detail = format!("differs from params.arguments.{}", path.join("."));
                Err(error::header_mismatch(&name, &detail))
            }
        }
    }
}

/// The value at a path of names; `None` if it is absent or null.
fn argument<'a>(path: &[String], arguments: &'a str) -> Option<&'a RawValue> {
    let mut object = arguments;
    let mut found = None;
    for step in path {
        let (_, value) = json::entries(object).ok()?.into_iter().find(|(name, _)| name == step)?;
        object = value.get();
        found = Some(value);
    }
    found.filter(|value| Kind::of(value) != Kind::Null)
}

/// The value of a header, which is in base64 if it cannot stand there plainly.
fn decoded<'a>(name: &str, value: &'a str) -> Result<Cow<'a, str>, ErrorObject> {
    let Some(coded) = value.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?=")) else {
        return Ok(value.into());
    };
    let bytes = STANDARD.decode(coded).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    bytes.map(Cow::Owned).ok_or_else(|| error::header_mismatch(name, "is not base64 of UTF-8"))
}

/// Whether a header says the same as an argument: numbers by value, the rest by letter.
fn same(said: &str, value: &RawValue) -> bool {
    match Kind::of(value) {
        Kind::String => json::string(value).is_some_and(|text| text == said),
        Kind::Number => {
            let exact = (said.parse::<i128>(), value.get().parse::<i128>());
            match (exact, said.parse::<f64>(), value.get().parse::<f64>()) {
                // A float has not room for all integers.
                ((Ok(a), Ok(b)), ..) => a == b,
                (_, Ok(a), Ok(b)) => a == b && a.is_finite(),
                _ => false,
            }
        }
        _ => value.get() == said,
    }
}

#[cfg(test)]
mod tests;
