//! MCP Apps: a tool with its own page.

use wharf_plugin::*;

pub(crate) const PAGE: &str = "ui://everything/clock";

pub(crate) fn add(tools: &mut Tools) {
    let ui = json!({ "resourceUri": PAGE, "visibility": ["model", "app"] });
    tools
        .add("test_app", "Tells the time, on a page where there is one.", |_, _: NoArguments| Ok("noon"))
        .meta(&json!({ "ui": ui, "ui/resourceUri": PAGE }));
}

pub(crate) fn listed() -> Resource {
    Resource::new(PAGE, "Clock").mime_type(MIME_TYPE).meta(&json!({ "ui": { "prefersBorder": true } }))
}

pub(crate) fn read() -> ReadResult {
    let csp = json!({ "connectDomains": ["https://time.example.org"], "resourceDomains": [] });
    let page = ResourceContents::text(PAGE, "<!doctype html>\n<title>Clock</title>\n<p>noon");
    page.mime_type(MIME_TYPE).meta(&json!({ "ui": { "csp": csp, "prefersBorder": true } })).into()
}

const MIME_TYPE: &str = "text/html;profile=mcp-app";
