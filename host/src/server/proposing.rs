//! The built-in tool by which a model proposes a plugin, for a person to look at: it only writes that down.

use async_trait::async_trait;
use serde_json::Value;

use super::built_in::{self, BuiltIn};
use crate::catalog::Catalog;
use crate::plugin::abi::{Content, TextContent, Tool, ToolAnnotations, ToolOutcome, ToolResult};
use crate::plugin::{Call, CallError, Fault};
use crate::proposals::{Proposal, ProposalError, Proposals};
use crate::registry::{Reference, url};
use crate::seldom::Seldom;

/// Its plugin id.
pub const ID: &str = "proposals";
const PROPOSE: &str = "propose_plugin";

const INPUT: &str = r#"{"type":"object","properties":{"reference":{"type":"string","maxLength":512,"description":"Where the plugin is: oci://HOST/PATH:TAG or https://…"},"reason":{"type":"string","maxLength":1000,"description":"What it is needed for."}},"required":["reference","reason"],"additionalProperties":false}"#;

/// Adds the tool to a catalog.
pub(super) fn register(catalog: &Catalog, proposals: Proposals) {
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
    built_in::register(catalog, ID, [tool], Proposing { proposals, failures: Seldom::default() });
}

struct Proposing {
    proposals: Proposals,
    failures: Seldom,
}

#[async_trait]
impl BuiltIn for Proposing {
    async fn call(&self, _: &str, arguments: Value, call: Call) -> Result<ToolOutcome, CallError> {
        let text = |name: &str| arguments[name].as_str().unwrap_or_default().trim().to_owned();
        let (reference, reason) = (text("reference"), text("reason"));
        if reference.parse::<Reference>().is_err() && url(&reference).is_none() {
            return Ok(said("the reference is not oci://HOST/PATH:TAG or https://…", true));
        }
        let (proposals, by) = (self.proposals.clone(), call.caller.to_string());
        let added = tokio::task::spawn_blocking(move || proposals.add(Proposal { reference, reason, by })).await;
        match added {
            Ok(Ok(())) => {
                Ok(said("It was written down. A person has to look at it and add it; this may take time.", false))
            }
            Ok(Err(full @ ProposalError::Full(_))) => Ok(said(&full.to_string(), true)),
            Ok(Err(error @ ProposalError::Io(_))) => {
                if let Some(left_out) = self.failures.due() {
                    tracing::error!("failed to write a proposal: {error}: {}{left_out}", self.proposals);
                }
                Err(CallError::Fault(Fault::Host))
            }
            Err(_) => Err(CallError::Fault(Fault::Host)),
        }
    }
}

fn said(text: &str, is_error: bool) -> ToolOutcome {
    let content = vec![Content::Text(TextContent::new(text))];
    ToolOutcome::Complete(ToolResult { content, structured: None, is_error, meta: None })
}
