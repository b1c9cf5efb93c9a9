//! `prompts/list` and `prompts/get`.
//!
//! Source: MCP, server/prompts of each revision.

use std::sync::Arc;

use super::page::Listed;
use super::rounds::{ResumedInput, Rounds};
use super::settled::Settled;
use crate::catalog::{Entry, Names, Snapshot};
use crate::json::Raw;
use crate::plugin::abi::Prompt;
use crate::protocol::cursor::ListKind;
use crate::protocol::keys::COST;
use crate::protocol::result::{self, Envelope};
use crate::protocol::{ErrorObject, Revision, error};
use crate::rights::Item;
use crate::server::call_record::CallRecord;
use crate::server::permissions::listed;
use crate::server::response::{Dispatched, Response};
use crate::server::scope::Scope;
use crate::server::{Server, cost, fault, wire};

impl Listed for Prompt {
    const KIND: ListKind = ListKind::Prompts;
    const MEMBER: &'static str = "prompts";
    type View<'a> = wire::prompt::Prompt<'a>;

    fn names(snapshot: &Snapshot) -> &Names<Self> {
        &snapshot.prompts
    }

    fn view(entry: &Entry<Self>, revision: Revision) -> Self::View<'_> {
        wire::prompt::Prompt::new(revision, entry.name.as_str(), entry.item())
    }
}

pub(in crate::server) fn get(
    server: &Arc<Server>,
    scope: Scope,
    name: &str,
    arguments: Vec<(String, String)>,
    resumed: ResumedInput,
) -> Dispatched {
    let (server, name) = (server.clone(), name.to_owned());
    Dispatched::Later(Box::pin(async move {
        let mut record = CallRecord::begin(&server, &scope, "prompts/get", &name)?;
        let answer = answer(&server, &scope, &name, arguments, resumed, &mut record).await;
        record.finish(answer).await
    }))
}

async fn answer(
    server: &Arc<Server>,
    scope: &Scope,
    name: &str,
    arguments: Vec<(String, String)>,
    resumed: ResumedInput,
    record: &mut CallRecord,
) -> Response {
    let snapshot = server.snapshot_with(|snapshot| snapshot.prompts.get(name).is_some()).await;
    let Some(entry) = snapshot.prompts.get(name) else {
        record.set_code("not-found");
        return Err(unknown(&snapshot, scope, name));
    };
    let entry = entry.clone();
    record.set_target(scope, &*entry.provider, name);
    let prompt = Item::Prompt(&entry.item().name);
    record.permitted(scope.check(&*entry.provider, prompt, || unknown(&snapshot, scope, name)))?;
    drop(snapshot);
    let given_text = wire::text(&wire::Strings(&arguments))?;
    record.set_input(&given_text);
    let prompt = entry.item();
    let given = |name: &str| arguments.iter().any(|(given, _)| given == name);
    let missing: Vec<&str> = prompt
        .arguments
        .iter()
        .filter(|argument| argument.required && !given(&argument.name))
        .map(|argument| argument.name.as_str())
        .collect();
    if !missing.is_empty() {
        record.set_code("bad-input");
        return Err(error::missing_arguments(name, &missing));
    }
    let (method, provider) = ("prompts/get", &entry.provider);
    let charge = record.charge(server, scope, &**provider, Item::Prompt(&prompt.name))?;
    let rounds = Rounds { server, scope, provider, method, name, arguments: &given_text, charge, approved: None };
    let invoke = |call| entry.provider.get_prompt(&prompt.name, arguments.clone(), call);
    let refuse = |error| {
        let not_found = error::unknown_prompt(name, []);
        Err(fault::without_result(scope, entry.provider.id(), "params.arguments", not_found, error))
    };
    Settled::answer(rounds.run(resumed, invoke).await, record, refuse, |outcome| {
        let members = wire::prompt::GetPromptResult::new(scope.revision, &outcome);
        let (spent, plugin_meta) =
            (cost::asked(scope.cost.as_ref(), &scope.meta, scope.bytes), outcome.meta.as_deref());
        let host_meta: Vec<_> = spent.iter().map(|spent| (COST, Raw(spent))).collect();
        let envelope = Envelope { plugin_meta, host_meta: &host_meta, ..Envelope::default() };
        result::object(scope.revision, &server.implementation, &members, envelope)
    })
}

fn unknown(snapshot: &Snapshot, scope: &Scope, name: &str) -> ErrorObject {
    error::unknown_prompt(name, listed(&snapshot.prompts, &scope.permissions))
}
