//! A call of a tool that may run: it was found, allowed, and charged.

use std::sync::Arc;

use super::rounds::{Advance, ResumePoint, ResumedInput, Rounds};
use super::settled::Settled;
use crate::approvals::Decider;
use crate::budgets::Charge;
use crate::catalog::Entry;
use crate::json::Raw;
use crate::plugin::FrozenTool;
use crate::plugin::abi::ToolResult;
use crate::protocol::keys::COST;
use crate::protocol::result::{self, Envelope};
use crate::server::call_record::CallRecord;
use crate::server::refusal::Refusal;
use crate::server::response::Response;
use crate::server::scope::Scope;
use crate::server::{Server, cost, fault, wire};

pub(in crate::server) struct ToolCall {
    pub(in crate::server) server: Arc<Server>,
    pub(in crate::server) scope: Scope,
    pub(in crate::server) entry: Entry<FrozenTool>,
    /// By the name that clients know.
    pub(in crate::server) name: String,
    /// A JSON object.
    pub(in crate::server) arguments: Arc<str>,
    /// The budgets that it is charged to.
    pub(in crate::server) charge: Option<Arc<Charge>>,
    /// Who allowed it, if somebody was asked.
    pub(in crate::server) approved: Option<Decider>,
}

impl ToolCall {
    pub(in crate::server) fn rounds(&self) -> Rounds<'_> {
        Rounds {
            server: &self.server,
            scope: &self.scope,
            provider: &self.entry.provider,
            method: "tools/call",
            name: &self.name,
            arguments: &self.arguments,
            charge: self.charge.clone(),
            approved: self.approved,
        }
    }

    /// Runs it for a request.
    pub(in crate::server) async fn run(&self, resumed: ResumedInput) -> Result<Settled<ToolResult>, Refusal> {
        let tool = &self.entry.item().tool.name;
        self.rounds().run(resumed, |call| self.entry.provider.call_tool(tool, self.arguments.clone(), call)).await
    }

    /// Runs it until there is a result, or a question.
    pub(in crate::server) async fn advance(&self, start: ResumePoint) -> Result<Advance<ToolResult>, Refusal> {
        let tool = &self.entry.item().tool.name;
        self.rounds().advance(start, |call| self.entry.provider.call_tool(tool, self.arguments.clone(), call)).await
    }

    /// The answer to the request.
    pub(in crate::server) fn answer(
        &self,
        settled: Result<Settled<ToolResult>, Refusal>,
        record: &mut CallRecord,
    ) -> Response {
        if let Ok(Settled::Complete(ToolResult { is_error: true, .. })) = &settled {
            record.set_code("error");
        }
        let refuse = |error| fault::tool(&self.server.implementation, &self.scope, &self.entry, error);
        Settled::answer(settled, record, refuse, |outcome| self.complete(&outcome))
    }

    fn complete(&self, outcome: &ToolResult) -> Response {
        let members = wire::tool::CallToolResult::new(self.scope.revision, self.entry.item(), outcome);
        // A page calls the plugin's other tools, and does not know under which names clients see them.
        let prefix = self.entry.item().ui.page.as_ref().and_then(|_| self.entry.prefix());
        let prefix = prefix.map(|id| format!("\"{id}\""));
        let spent = cost::asked(self.scope.cost.as_ref(), &self.scope.meta, self.scope.bytes);
        let plugin = prefix.iter().map(|id| ("wharf/plugin", Raw(id)));
        let host_meta: Vec<_> = plugin.chain(spent.iter().map(|spent| (COST, Raw(spent)))).collect();
        let envelope = Envelope { plugin_meta: outcome.meta.as_deref(), host_meta: &host_meta, ..Envelope::default() };
        result::object(self.scope.revision, &self.server.implementation, &members, envelope)
    }
}
