//! `initialize` and `server/discover`: the server's identity and capabilities.
//!
//! Both are answered at once, even while plugins compile: a client that probes for the newer era
//! times out and silently falls back to the older one.

use serde_json::json;

use super::{custom, skills};
use crate::protocol::keys::TASKS;
use crate::protocol::result::Caching;
use crate::protocol::{Revision, ServerCapabilities, discover, initialize};
use crate::rights::Permissions;
use crate::server::Server;
use crate::server::response::Response;
use crate::server::scope::Scope;

/// The extension of pages that chat clients show.
const MCP_APPS: &str = "io.modelcontextprotocol/ui";

pub(in crate::server) fn initialize(server: &Server, revision: Revision, permissions: &Permissions) -> String {
    let instructions = server.settings.instructions.as_deref();
    initialize::result(revision, &server.implementation, &capabilities(server, revision, permissions), instructions)
}

pub(in crate::server) fn discover(server: &Server, scope: &Scope) -> Response {
    let instructions = server.settings.instructions.as_deref();
    discover::result(
        scope.revision,
        &server.implementation,
        &capabilities(server, scope.revision, &scope.permissions),
        instructions,
        Caching::NONE,
    )
}

/// The lists are always declared, whatever plugins are loaded: a client that connects to an empty
/// folder must list again after the first plugin is added. So are pages: a client that does not know
/// whether there are any shows none that are loaded later. Completions are declared only if a
/// plugin has them, skills only if there are some, or a folder for them.
fn capabilities(server: &Server, revision: Revision, permissions: &Permissions) -> ServerCapabilities {
    let snapshot = server.catalog.snapshot();
    let mut extensions = custom::declared(&snapshot.extensions.extensions, permissions);
    skills::declare(&server.catalog, revision, &mut extensions);
    // A plugin may have declared it with settings.
    extensions.entry(MCP_APPS).or_insert_with(|| json!({}));
    if server.tasks.is_some() && revision.is_modern() {
        extensions.insert(TASKS.to_owned(), json!({}));
    }
    ServerCapabilities {
        tools: true,
        prompts: true,
        resources: true,
        resources_subscribe: true,
        list_changed: true,
        logging: true,
        completions: server.offers_completions(permissions),
        experimental: custom::declared(&snapshot.extensions.experimental, permissions),
        tasks: server.tasks.is_some(),
        task_list: server.settings.tasks.lists,
        extensions,
    }
}
