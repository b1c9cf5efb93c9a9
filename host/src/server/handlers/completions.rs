//! `completion/complete`: suggestions for an argument of a prompt or a variable of a template.
//!
//! Source: MCP, server/utilities/completion of each revision.

use std::sync::Arc;

use super::rounds::once;
use crate::catalog::Snapshot;
use crate::plugin::Provider;
use crate::plugin::abi::{Completion, Subject};
use crate::protocol::request::{Complete, Reference};
use crate::protocol::result::{self, Envelope};
use crate::protocol::{ErrorObject, error};
use crate::server::call_record::CallRecord;
use crate::server::response::Dispatched;
use crate::server::scope::Scope;
use crate::server::{Server, fault, wire};

pub(in crate::server) fn complete(server: &Arc<Server>, scope: Scope, request: Complete<'_>) -> Dispatched {
    let server = server.clone();
    let reference = request.reference.into_owned();
    let (argument, value, given) = (request.argument.into_owned(), request.value.into_owned(), request.context);
    Dispatched::Later(Box::pin(async move {
        let mut record = CallRecord::begin(&server, &scope, "completion/complete", reference.text())?;
        record.set_input(&value);
        let snapshot = server.snapshot_with(|snapshot| find(snapshot, &reference, &argument).is_ok()).await;
        if !server.catalog.offers_completions() {
            return record.finish(Err(error::not_offered("completion/complete", "completions"))).await;
        }
        let (provider, subject) = match find(&snapshot, &reference, &argument) {
            Ok(found) => found,
            Err(error) => return record.finish(Err(error)).await,
        };
        record.set_target(&provider, reference.text());
        let completion = match subject.filter(|_| provider.surface().completions) {
            Some(subject) => {
                let complete = |call| provider.complete(subject, &argument, &value, given, call);
                match once(&server, &scope, &provider, complete).await {
                    Ok(completion) => completion,
                    Err(error) => {
                        let id = provider.id();
                        record.set_refusal(&error);
                        let not_found = error::unknown_argument(reference.text(), &argument, []);
                        let error = fault::without_result(&scope, id, "params.argument", not_found, error);
                        return record.finish(Err(error)).await;
                    }
                }
            }
            None => Completion { values: Vec::new(), total: None, has_more: false },
        };
        let members = wire::completion::CompleteResult::new(&completion);
        record.finish(result::object(scope.revision, &server.implementation, &members, Envelope::default())).await
    }))
}

type Found = (Arc<dyn Provider>, Option<Subject>);

/// The plugin and its own name of the subject; `None` for a resource, which has no variables.
fn find(snapshot: &Snapshot, reference: &Reference<'_>, argument: &str) -> Result<Found, ErrorObject> {
    match reference {
        Reference::Prompt { name } => {
            let entry =
                snapshot.prompts.get(name).ok_or_else(|| error::unknown_prompt(name, snapshot.prompts.names()))?;
            let prompt = entry.item();
            known(name, argument, prompt.arguments.iter().map(|argument| argument.name.as_str()))?;
            Ok((entry.provider.clone(), Some(Subject::Prompt(prompt.name.clone()))))
        }
        Reference::Resource { uri } => {
            if let Some(entry) = snapshot.templates.get(uri) {
                known(uri, argument, entry.item().uri.variables().iter().map(String::as_str))?;
                return Ok((entry.provider.clone(), Some(Subject::ResourceTemplate(uri.clone().into_owned()))));
            }
            let entry = snapshot.resources.get(uri);
            let entry = entry.ok_or_else(|| error::unknown_template(uri, snapshot.templates.names()))?;
            Ok((entry.provider.clone(), None))
        }
    }
}

fn known<'n>(of: &str, argument: &str, arguments: impl Iterator<Item = &'n str> + Clone) -> Result<(), ErrorObject> {
    if arguments.clone().any(|known| known == argument) {
        return Ok(());
    }
    Err(error::unknown_argument(of, argument, arguments))
}

#[cfg(test)]
mod tests;
