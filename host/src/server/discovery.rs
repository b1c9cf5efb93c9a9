//! Two built-in tools for clients that list tools only once: one searches for tools, one calls any
//! of them.
//!
//! A call is only redirected here; it is then handled like every other call.

use std::cmp::Reverse;
use std::sync::{Arc, Weak};

use async_trait::async_trait;
use serde::Serialize;
use serde_json::Value;
use tokio::sync::Semaphore;

use super::built_in::{self, BuiltIn, DISCOVERY_ID, check};
use super::permissions::is_listed;
use super::refusal::Refusal;
use super::wire::text;
use crate::catalog::{Catalog, Entry, Snapshot};
use crate::json::{self, Raw};
use crate::plugin::abi::{GuestError, Tool, ToolAnnotations, ToolOutcome, ToolResult};
use crate::plugin::{Call, CallError, Fault, FrozenTool};
use crate::protocol::{ErrorObject, error};
use crate::rights::Permissions;

const FIND: &str = "find_tools";
const CALL: &str = "call_tool";

/// Default number of results.
const FOUND: usize = 10;
/// Maximum concurrent searches.
const MAX_SEARCHES: usize = 2;
/// Maximum words of a query that are used.
const MAX_WORDS: usize = 32;

const FIND_INPUT: &str = r#"{"type":"object","properties":{"query":{"type":"string","maxLength":1000,"description":"Words to search for in names, titles and descriptions. Without it, all tools match."},"limit":{"type":"integer","minimum":1,"maximum":50,"default":10,"description":"Maximum number of tools to return."}},"additionalProperties":false}"#;
const FIND_OUTPUT: &str = r#"{"type":"object","properties":{"tools":{"type":"array","items":{"type":"object","properties":{"name":{"type":"string"},"title":{"type":"string"},"description":{"type":"string"},"inputSchema":{"type":"object"}},"required":["name","inputSchema"]}}},"required":["tools"]}"#;
const CALL_INPUT: &str = r#"{"type":"object","properties":{"name":{"type":"string","description":"The tool's name, as returned by find_tools."},"arguments":{"type":"object","description":"The tool's arguments, matching its inputSchema."}},"required":["name"],"additionalProperties":false}"#;

/// Adds both tools to a catalog, under their unprefixed names.
pub(super) fn register(catalog: &Arc<Catalog>) {
    let discovery = Discovery { catalog: Arc::downgrade(catalog), searching: Semaphore::new(MAX_SEARCHES) };
    built_in::register(catalog, DISCOVERY_ID, tools(), discovery);
}

/// The target of a redirected call: a tool's public name and its arguments; `None` for other tools.
pub(super) fn redirection(entry: &Entry<FrozenTool>, arguments: &str) -> Result<Option<(String, Arc<str>)>, Refusal> {
    if !entry.provider.is_host() || entry.item().tool.name != CALL {
        return Ok(None);
    }
    let arguments = entry.item().taken(arguments.into());
    check(entry.item(), &arguments)?;
    redirected(entry, &arguments).map_err(Refusal::from)
}

fn redirected(entry: &Entry<FrozenTool>, arguments: &str) -> Result<Option<(String, Arc<str>)>, ErrorObject> {
    let unreadable = |why: json::MembersError| error::invalid_params("params.arguments", &why.to_string());
    let [name, inside] = json::members(arguments, ["name", "arguments"]).map_err(unreadable)?;
    let name = name.and_then(json::string).unwrap_or_default();
    if name == entry.name.as_str() {
        return Err(error::invalid_params("params.arguments.name", "must be a tool other than this one"));
    }
    Ok(Some((name.into_owned(), inside.map_or("{}", |inside| inside.get()).into())))
}

fn tools() -> [Tool; 2] {
    let tool = |name: &str, description: &str, input: &str, output: Option<&str>, annotations| Tool {
        description: Some(description.into()),
        output_schema: output.map(str::to_owned),
        annotations,
        ..Tool::new(name, input)
    };
    let reading =
        ToolAnnotations { read_only: Some(true), destructive: None, idempotent: None, open_world: Some(false) };
    [
        tool(
            FIND,
            "Finds tools of this server, including those added since its tools were last listed. \
             Call a tool that was found with call_tool.",
            FIND_INPUT,
            Some(FIND_OUTPUT),
            Some(reading),
        ),
        tool(CALL, "Calls a tool of this server by name, and returns that tool's result.", CALL_INPUT, None, None),
    ]
}

struct Discovery {
    /// A weak reference: the catalog holds this provider.
    catalog: Weak<Catalog>,
    searching: Semaphore,
}

#[async_trait]
impl BuiltIn for Discovery {
    async fn call(&self, name: &str, arguments: Value, call: Call) -> Result<ToolOutcome, CallError> {
        let (FIND, Some(catalog)) = (name, self.catalog.upgrade()) else {
            return Err(CallError::Guest(GuestError::NotFound));
        };
        let _permit = self.searching.acquire().await.map_err(|_| Fault::Host)?;
        let query = arguments["query"].as_str().unwrap_or_default().to_owned();
        let limit = arguments["limit"].as_f64().map_or(FOUND, |limit| limit as usize);
        // A folder may hold megabytes of descriptions.
        let found =
            tokio::task::spawn_blocking(move || find(&catalog.snapshot(), &call.permissions, &query, limit)).await;
        let structured = found.map_err(|_| CallError::Fault(Fault::Host))??;
        let result = ToolResult { content: Vec::new(), structured: Some(structured), is_error: false, meta: None };
        Ok(ToolOutcome::Complete(result))
    }
}

/// The tools that match the most words, names before other texts, otherwise in list order.
fn find(snapshot: &Snapshot, permissions: &Permissions, query: &str, limit: usize) -> Result<String, CallError> {
    let query = query.to_lowercase();
    let words: Vec<&str> = query.split_whitespace().take(MAX_WORDS).collect();
    let is_found = |entry: &&Entry<FrozenTool>| {
        !entry.provider.is_host() && !entry.item().ui.app_only && is_listed(permissions, entry)
    };
    let others = snapshot.tools.entries().iter().filter(is_found);
    let mut found: Vec<(usize, usize, &Entry<FrozenTool>)> = others
        .filter_map(|entry| {
            let tool = &entry.item().tool;
            let name = entry.name.as_str().to_lowercase();
            let texts = [tool.title.as_deref(), tool.description.as_deref()]
                .map(|text| text.unwrap_or_default().to_lowercase());
            let in_name = words.iter().filter(|word| name.contains(**word)).count();
            let somewhere = |word: &&&str| name.contains(**word) || texts.iter().any(|text| text.contains(**word));
            let anywhere = words.iter().filter(somewhere).count();
            (anywhere > 0 || words.is_empty()).then_some((in_name, anywhere, entry))
        })
        .collect();
    // A stable sort: ties keep the list order.
    found.sort_by_key(|(in_name, anywhere, _)| Reverse((*in_name, *anywhere)));
    let tools = found.iter().take(limit).map(|(_, _, entry)| {
        let tool = &entry.item().tool;
        FoundTool {
            name: entry.name.as_str(),
            title: tool.title.as_deref(),
            description: tool.description.as_deref(),
            input_schema: Raw(&tool.input_schema),
        }
    });
    text(&Found { tools: tools.collect() }).map_err(|_| CallError::Fault(Fault::Host))
}

#[derive(Serialize)]
struct Found<'a> {
    tools: Vec<FoundTool<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FoundTool<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
    input_schema: Raw<'a>,
}

#[cfg(test)]
mod tests {
    use super::super::built_in::{MAX_ARGUMENT_BYTES, outline};
    use super::*;

    #[test]
    fn arguments_of_other_tools_are_not_validated() {
        let many = format!(r#"{{"v":[{}0]}}"#, "0,".repeat(100_000));
        let call = format!(r#"{{"name":"echo","arguments":{many}}}"#);
        assert_eq!(outline(&call).expect("short"), r#"{"name":"echo","arguments":{}}"#);
        let [find, call_tool] = tools().map(|tool| FrozenTool::freeze(tool).expect("a tool"));
        assert!(check(&call_tool, &call).is_ok());
        for bad in [
            format!(r#"{{"name":"echo","arguments":{many},"more":{many}}}"#),
            format!(r#"{{"name":"echo","arguments":[{many}]}}"#),
            format!(r#"{{"name":"{}"}}"#, "x".repeat(MAX_ARGUMENT_BYTES)),
            format!("[{many}]"),
        ] {
            assert!(matches!(check(&call_tool, &bad), Err(CallError::Input(_))), "{}", &bad[..40]);
        }
        let query = |letter: &str| format!(r#"{{"query":"{}"}}"#, letter.repeat(1000));
        assert!(check(&find, &query("\\ud83d\\ude00")).is_ok());
        assert!(check(&find, &query("ab")).is_err());
    }
}
