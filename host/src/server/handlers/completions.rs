//! `completion/complete`: suggestions for an argument of a prompt or a variable of a template.
//!
//! Source: MCP, server/utilities/completion of each revision.

use std::sync::Arc;

use super::rounds::once;
use crate::catalog::{Entry, Snapshot};
use crate::plugin::abi::{Completion, Prompt, ResourceDescription, Subject};
use crate::plugin::{FrozenTemplate, Provider};
use crate::protocol::request::{Complete, Reference};
use crate::protocol::result::{self, Envelope};
use crate::protocol::{ErrorObject, error};
use crate::rights::Item;
use crate::server::call_record::CallRecord;
use crate::server::permissions::{Allowed as _, listed};
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
        let snapshot = server.snapshot_with(|snapshot| Named::find(snapshot, &reference).is_some()).await;
        if !server.offers_completions(&scope.permissions) {
            return record.finish(Err(error::not_offered("completion/complete", "completions"))).await;
        }
        let unknown = || unknown(&snapshot, &scope, &reference);
        let Some(named) = Named::find(&snapshot, &reference) else { return record.finish(Err(unknown())).await };
        let provider = named.provider().clone();
        record.set_target(&scope, &*provider, reference.text());
        let permitted = record.permitted(scope.check(&*provider, named.item(), unknown));
        if let Err(error) = permitted.and_then(|()| named.check(reference.text(), &argument)) {
            return record.finish(Err(error)).await;
        }
        let completion = match named.subject().filter(|_| provider.surface().completions) {
            Some(subject) => {
                let charge = match record.charge(&server, &scope, &*provider, named.item()) {
                    Ok(charge) => charge,
                    Err(error) => return record.finish(Err(error)).await,
                };
                let complete = |call| provider.complete(subject, &argument, &value, given, call);
                match once(&server, &scope, &provider, charge, complete).await {
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

/// What a reference names.
enum Named<'a> {
    Prompt(&'a Entry<Prompt>),
    Template(&'a Entry<FrozenTemplate>),
    /// It has no variables.
    Resource(&'a Entry<ResourceDescription>),
}

impl<'a> Named<'a> {
    fn find(snapshot: &'a Snapshot, reference: &Reference<'_>) -> Option<Self> {
        match reference {
            Reference::Prompt { name } => snapshot.prompts.get(name).map(Self::Prompt),
            Reference::Resource { uri } => {
                let template = snapshot.templates.get(uri).map(Self::Template);
                template.or_else(|| snapshot.resources.get(uri).map(Self::Resource))
            }
        }
    }

    fn provider(&self) -> &Arc<dyn Provider> {
        match self {
            Self::Prompt(entry) => &entry.provider,
            Self::Template(entry) => &entry.provider,
            Self::Resource(entry) => &entry.provider,
        }
    }

    fn item(&self) -> Item<'a> {
        match self {
            Self::Prompt(entry) => entry.item().item(),
            Self::Template(entry) => entry.item().item(),
            Self::Resource(entry) => entry.item().item(),
        }
    }

    /// By the plugin's own name.
    fn subject(&self) -> Option<Subject> {
        match self {
            Self::Prompt(entry) => Some(Subject::Prompt(entry.item().name.clone())),
            Self::Template(entry) => Some(Subject::ResourceTemplate(entry.item().template.uri_template.clone())),
            Self::Resource(_) => None,
        }
    }

    /// Whether it has the argument; `of` is its public name.
    fn check(&self, of: &str, argument: &str) -> Result<(), ErrorObject> {
        match self {
            Self::Prompt(entry) => known(of, argument, entry.item().arguments.iter().map(|known| known.name.as_str())),
            Self::Template(entry) => known(of, argument, entry.item().uri.variables().iter().map(String::as_str)),
            Self::Resource(_) => Ok(()),
        }
    }
}

fn unknown(snapshot: &Snapshot, scope: &Scope, reference: &Reference<'_>) -> ErrorObject {
    match reference {
        Reference::Prompt { name } => error::unknown_prompt(name, listed(&snapshot.prompts, &scope.permissions)),
        Reference::Resource { uri } => error::unknown_template(uri, listed(&snapshot.templates, &scope.permissions)),
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
