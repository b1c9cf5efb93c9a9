//! The built-in tool by which a model proposes a plugin, for a person to look at: it only writes that down.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value;
use wharf_report::ShowPath as _;

use super::discovery::check;
use crate::catalog::{Catalog, Member, Naming};
use crate::json;
use crate::plugin::abi::{Content, GuestError, TextContent, Tool, ToolAnnotations, ToolOutcome, ToolResult};
use crate::plugin::{Call, CallError, Digest, Fault, FrozenTool, PluginId, Provider, Surface};
use crate::proposals::{Proposal, ProposalError, ProposalFile};
use crate::registry::{Reference, url};

/// Its plugin id.
pub const ID: &str = "proposals";
const PROPOSE: &str = "propose_plugin";

const INPUT: &str = r#"{"type":"object","properties":{"reference":{"type":"string","maxLength":512,"description":"Where the plugin is: oci://HOST/PATH:TAG or https://…"},"reason":{"type":"string","maxLength":1000,"description":"What it is needed for."}},"required":["reference","reason"],"additionalProperties":false}"#;

/// Adds the tool to a catalog.
pub(super) fn register(catalog: &Arc<Catalog>, file: ProposalFile) {
    let tool = Tool {
        description: Some(
            "Proposes a plugin that this server does not have, for the person who runs it to look at. Nothing is \
             fetched or added by this."
                .into(),
        ),
        annotations: Some(ToolAnnotations {
            read_only: Some(false),
            destructive: Some(false),
            idempotent: Some(true),
            open_world: Some(false),
        }),
        ..Tool::new(PROPOSE, INPUT)
    };
    let tool = FrozenTool::freeze(tool).expect("a built-in tool is valid");
    let proposing = Proposing {
        id: PluginId::parse(ID).expect("a valid name"),
        digest: Digest::of(ID.as_bytes()),
        surface: Surface { tools: Some(vec![tool]), ..Surface::default() },
        file,
    };
    for warning in catalog.put(Member { provider: Arc::new(proposing), naming: Naming::Plain, pinned_surface: None }) {
        tracing::warn!("{warning}");
    }
}

struct Proposing {
    id: PluginId,
    digest: Digest,
    surface: Surface,
    file: ProposalFile,
}

#[async_trait]
impl Provider for Proposing {
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
        let text = |name: &str| arguments[name].as_str().unwrap_or_default().trim().to_owned();
        let (reference, reason) = (text("reference"), text("reason"));
        if reference.parse::<Reference>().is_err() && url(&reference).is_none() {
            return Ok(said("the reference is not oci://HOST/PATH:TAG or https://…", true));
        }
        let (file, by) = (self.file.clone(), call.caller.to_string());
        let added = tokio::task::spawn_blocking(move || file.add(Proposal { reference, reason, by })).await;
        Ok(match added {
            Ok(Ok(())) => {
                said("It was written down. A person has to look at it and add it; this may take time.", false)
            }
            Ok(Err(full @ ProposalError::Full(_))) => said(&full.to_string(), true),
            Ok(Err(error @ ProposalError::Io(_))) => {
                tracing::error!("failed to write a proposal: {error}: {}", self.file.path().shown());
                return Err(CallError::Fault(Fault::Host));
            }
            Err(_) => return Err(CallError::Fault(Fault::Host)),
        })
    }
}

fn said(text: &str, is_error: bool) -> ToolOutcome {
    let content = vec![Content::Text(TextContent::new(text))];
    ToolOutcome::Complete(ToolResult { content, structured: None, is_error, meta: None })
}
