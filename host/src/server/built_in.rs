//! Tools of the server itself, as a provider of the catalog: their arguments are checked as those of plugins are.

use std::borrow::Cow;
use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value;

use crate::catalog::{Catalog, Member, Naming};
use crate::json::{self, Kind};
use crate::plugin::abi::{GuestError, Tool, ToolOutcome};
use crate::plugin::{Call, CallError, Digest, Fault, FrozenTool, PluginId, Provider, Surface, Violation};

/// The plugin id of the tools of `discovery`.
pub const DISCOVERY_ID: &str = "wharf";

/// Maximum bytes of arguments that are validated: a query of 1000 characters has at most 12,000
/// when all of them are escaped.
pub(super) const MAX_ARGUMENT_BYTES: usize = 16 << 10;
/// What calls the tools of one provider.
#[async_trait]
pub(super) trait BuiltIn: Send + Sync + 'static {
    /// Calls a tool with valid arguments.
    async fn call(&self, name: &str, arguments: Value, call: Call) -> Result<ToolOutcome, CallError>;
}

/// Adds tools to a catalog, under their unprefixed names. `id` is their plugin id.
pub(super) fn register(catalog: &Catalog, id: &str, tools: impl IntoIterator<Item = Tool>, calls: impl BuiltIn) {
    let frozen = |tool| FrozenTool::freeze(tool).expect("a built-in tool is valid");
    let provider = BuiltInProvider {
        id: PluginId::parse(id).expect("a valid name"),
        digest: Digest::of(id.as_bytes()),
        surface: Surface { tools: Some(tools.into_iter().map(frozen).collect()), ..Surface::default() },
        calls,
    };
    for warning in catalog.put(Member { provider: Arc::new(provider), naming: Naming::Plain, pinned_surface: None }) {
        tracing::warn!("{warning}");
    }
}

/// Validates the arguments of a built-in tool.
pub(super) fn check(tool: &FrozenTool, arguments: &str) -> Result<(), CallError> {
    let outline = outline(arguments).map_err(CallError::Input)?;
    tool.input.validate_text(&outline).map_err(CallError::Input)
}

/// Arguments to the depth that the built-in tools' schemas check: nested values are for another
/// tool.
pub(super) fn outline(arguments: &str) -> Result<Cow<'_, str>, Vec<Violation>> {
    if arguments.len() <= MAX_ARGUMENT_BYTES {
        return Ok(arguments.into());
    }
    let refused = |reason: String| vec![Violation { reason, ..Violation::default() }];
    let mut outline = String::from("{");
    for (name, value) in json::entries(arguments).map_err(|why| refused(why.to_string()))? {
        if outline.len() > 1 {
            outline.push(',');
        }
        json::write_str(&mut outline, &name);
        outline.push(':');
        outline.push_str(match Kind::of(value) {
            Kind::Object => "{}",
            Kind::Array => "[]",
            _ => value.get(),
        });
        if outline.len() > MAX_ARGUMENT_BYTES {
            return Err(refused(format!(
                "it has more than {MAX_ARGUMENT_BYTES} bytes, nested objects and arrays not counted"
            )));
        }
    }
    outline.push('}');
    Ok(outline.into())
}

struct BuiltInProvider<B> {
    id: PluginId,
    digest: Digest,
    surface: Surface,
    calls: B,
}

#[async_trait]
impl<B: BuiltIn> Provider for BuiltInProvider<B> {
    fn id(&self) -> &PluginId {
        &self.id
    }

    fn digest(&self) -> &Digest {
        &self.digest
    }

    fn is_host(&self) -> bool {
        true
    }

    fn surface(&self) -> &Surface {
        &self.surface
    }

    async fn call_tool(&self, name: &str, arguments: Arc<str>, call: Call) -> Result<ToolOutcome, CallError> {
        let tool = self.surface.tool(name).ok_or(CallError::Guest(GuestError::NotFound))?;
        let arguments = tool.taken(arguments);
        check(tool, &arguments)?;
        let arguments: Value = json::tree(&arguments, json::MAX_DEPTH).map_err(|_| CallError::Fault(Fault::Host))?;
        self.calls.call(name, arguments, call).await
    }
}
