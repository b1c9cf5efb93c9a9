//! Compares the MCP headers of an HTTP request with its body.
//! It knows neither the header syntax nor the status of a mismatch.
//!
//! Source: MCP 2026-07-28, basic/transports/streamable-http, "Standard Headers" and
//! "Custom Headers".

use std::borrow::Cow;
use std::collections::HashMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::value::RawValue;

use super::error::{self, ErrorObject};
use super::params::Params;
use crate::json::{self, Kind};
use crate::traces::TraceParent;

pub const VERSION: &str = "MCP-Protocol-Version";
pub const METHOD: &str = "Mcp-Method";
pub const NAME: &str = "Mcp-Name";
/// The prefix of headers that mirror a tool's arguments.
pub const PARAM_PREFIX: &str = "Mcp-Param-";

/// The MCP headers of one request, values trimmed.
#[derive(Debug, Clone, Default)]
pub struct Headers {
    pub version: Option<String>,
    pub method: Option<String>,
    pub name: Option<String>,
    /// By name without the prefix, in lower case.
    pub params: Vec<(String, String)>,
    /// The trace that the request belongs to.
    pub trace: Option<TraceParent>,
}

impl Headers {
    /// -32020 for a header that is repeated or not plain text, and so ambiguous.
    pub fn unclear(name: &str) -> ErrorObject {
        error::header_mismatch(name, "is repeated, or has other than visible ASCII characters")
    }

    /// -32020 if the standard headers are missing or do not match the body.
    pub fn check(&self, method: &str, params: &Params<'_>) -> Result<(), ErrorObject> {
        match &self.method {
            None => return Err(error::header_mismatch(METHOD, "is missing")),
            Some(header) if header != method => return Err(error::header_mismatch(METHOD, "differs from the method")),
            Some(_) => {}
        }
        let member = match method {
            "tools/call" | "prompts/get" => "name",
            "resources/read" => "uri",
            "tasks/get" | "tasks/update" | "tasks/cancel" => "taskId",
            _ => return Ok(()),
        };
        let [found] = params.members([member]).unwrap_or_default();
        // A body without it has its own error.
        let Some(wanted) = found.and_then(json::string) else { return Ok(()) };
        let header = self.name.as_deref().ok_or_else(|| error::header_mismatch(NAME, "is missing"))?;
        if decoded(NAME, header)? != wanted {
            return Err(error::header_mismatch(NAME, &format!("differs from params.{member}")));
        }
        Ok(())
    }

    /// -32020 if one of the headers that mirror arguments does not match: each with the path of its
    /// argument in `arguments`, a JSON object.
    pub fn check_params(&self, wanted: &[(&str, &[String])], arguments: &str) -> Result<(), ErrorObject> {
        let mut values = vec![None; wanted.len()];
        let all: Vec<usize> = (0..wanted.len()).collect();
        find(wanted, &all, 0, arguments, &mut values);
        let mut each = wanted.iter().zip(values);
        each.try_for_each(|((name, path), value)| self.check_param(name, path, value))
    }

    fn check_param(&self, name: &str, path: &[String], value: Option<&RawValue>) -> Result<(), ErrorObject> {
        let header = self.params.iter().find(|(header, _)| header.eq_ignore_ascii_case(name));
        let name = format!("{PARAM_PREFIX}{name}");
        match (header, value.filter(|value| Kind::of(value) != Kind::Null)) {
            (None, None) => Ok(()),
            (None, Some(_)) => Err(error::header_mismatch(&name, "is missing")),
            (Some(_), None) => Err(error::header_mismatch(&name, "mirrors an argument that is absent")),
            (Some((_, header)), Some(value)) if same(&decoded(&name, header)?, value) => Ok(()),
            (Some(_), Some(_)) => {
                let detail = format!("differs from params.arguments.{}", path.join("."));
                Err(error::header_mismatch(&name, &detail))
            }
        }
    }
}

/// Finds the values of the wanted paths below `object`, which is `depth` names deep. Each object is
/// read once.
fn find<'a>(
    wanted: &[(&str, &[String])],
    some: &[usize],
    depth: usize,
    object: &'a str,
    values: &mut [Option<&'a RawValue>],
) {
    let mut by_name: HashMap<&str, Vec<usize>> = HashMap::new();
    for index in some {
        if let Some(name) = wanted[*index].1.get(depth) {
            by_name.entry(name).or_default().push(*index);
        }
    }
    let Ok(members) = json::entries(object) else { return };
    for (name, value) in members {
        let Some(here) = by_name.remove(&*name) else { continue };
        let (found, below): (Vec<usize>, Vec<usize>) =
            here.into_iter().partition(|index| wanted[*index].1.len() == depth + 1);
        found.into_iter().for_each(|index| values[index] = Some(value));
        if !below.is_empty() {
            find(wanted, &below, depth + 1, value.get(), values);
        }
    }
}

/// The decoded value of a header: base64 if it is not plain ASCII.
fn decoded<'a>(name: &str, value: &'a str) -> Result<Cow<'a, str>, ErrorObject> {
    let Some(coded) = value.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?=")) else {
        return Ok(value.into());
    };
    let bytes = STANDARD.decode(coded).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    bytes.map(Cow::Owned).ok_or_else(|| error::header_mismatch(name, "is not base64 of UTF-8"))
}

/// Whether a header matches an argument: numbers by value, strings exactly.
fn same(header: &str, value: &RawValue) -> bool {
    match Kind::of(value) {
        Kind::String => json::string(value).is_some_and(|text| text == header),
        Kind::Number => {
            let exact = (header.parse::<i128>(), value.get().parse::<i128>());
            match (exact, header.parse::<f64>(), value.get().parse::<f64>()) {
                // A float cannot represent all integers.
                ((Ok(a), Ok(b)), ..) => a == b,
                (_, Ok(a), Ok(b)) => a == b && a.is_finite(),
                _ => false,
            }
        }
        _ => value.get() == header,
    }
}

#[cfg(test)]
mod tests;
