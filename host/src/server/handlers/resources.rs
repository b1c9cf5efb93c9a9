//! `resources/list`, `resources/templates/list` and `resources/read`.
//!
//! Source: MCP, server/resources of each revision.

use std::sync::Arc;

use super::page::Listed;
use super::rounds::{ResumedInput, Rounds};
use super::settled::Settled;
use crate::catalog::{Entry, Names, Snapshot};
use crate::json::Raw;
use crate::plugin::abi::{self, ReadResult, ResourceContents, ResourceDescription};
use crate::plugin::{CallError, Fault, FrozenTemplate, Provider};
use crate::protocol::cursor::ListKind;
use crate::protocol::keys::COST;
use crate::protocol::result::{self, CacheScope, Caching, Envelope};
use crate::protocol::{Revision, error};
use crate::rights::Item;
use crate::server::call_record::CallRecord;
use crate::server::refusal::Refusal;
use crate::server::response::{Dispatched, Response};
use crate::server::scope::Scope;
use crate::server::wire::resource::{ReadResourceResult, Resource, Template};
use crate::server::{Server, cost, fault};
use crate::text;

/// Maximum TTL of a plugin's results, in milliseconds: with a longer one, a client would not notice
/// a replaced plugin.
const MAX_TTL: u64 = 24 * 60 * 60 * 1000;

impl Listed for ResourceDescription {
    const KIND: ListKind = ListKind::Resources;
    const MEMBER: &'static str = "resources";
    type View<'a> = Resource<'a>;

    fn names(snapshot: &Snapshot) -> &Names<Self> {
        &snapshot.resources
    }

    fn view(entry: &Entry<Self>, revision: Revision) -> Self::View<'_> {
        Resource::new(revision, entry.item(), entry.provider.page_reach())
    }
}

impl Listed for FrozenTemplate {
    const KIND: ListKind = ListKind::ResourceTemplates;
    const MEMBER: &'static str = "resourceTemplates";
    type View<'a> = Template<'a>;

    fn names(snapshot: &Snapshot) -> &Names<Self> {
        &snapshot.templates
    }

    fn view(entry: &Entry<Self>, revision: Revision) -> Self::View<'_> {
        Template::new(revision, entry.item(), entry.provider.page_reach())
    }
}

pub(in crate::server) fn read(server: &Arc<Server>, scope: Scope, uri: &str, resumed: ResumedInput) -> Dispatched {
    let (server, uri) = (server.clone(), uri.to_owned());
    Dispatched::Later(Box::pin(async move {
        let mut record = CallRecord::begin(&server, &scope, "resources/read", &uri)?;
        let answer = answer(&server, &scope, &uri, resumed, &mut record).await;
        record.finish(answer).await
    }))
}

async fn answer(
    server: &Arc<Server>,
    scope: &Scope,
    uri: &str,
    resumed: ResumedInput,
    record: &mut CallRecord,
) -> Response {
    let retried = resumed.is_retry();
    let snapshot = server.snapshot_with(|snapshot| snapshot.provider_of(uri).is_some()).await;
    let Some(provider) = snapshot.provider_of(uri) else {
        record.set_code("not-found");
        return Err(error::resource_not_found(scope.revision, uri));
    };
    record.set_target(scope, &*provider, uri);
    let not_found = || error::resource_not_found(scope.revision, uri);
    record.permitted(scope.check(&*provider, Item::Resource(uri), not_found))?;
    let charge = record.charge(server, scope, &*provider, Item::Resource(uri))?;
    let (method, name, arguments) = ("resources/read", uri, "{}");
    let rounds = Rounds { server, scope, provider: &provider, method, name, arguments, charge, approved: None };
    let settled = rounds.run(resumed, |call| provider.read_resource(uri, call)).await;
    let settled = settled.and_then(|settled| only_own_contents(server, &provider, settled));
    let refuse = |error| {
        let not_found = error::resource_not_found(scope.revision, uri);
        Err(fault::without_result(scope, provider.id(), "params.uri", not_found, error))
    };
    Settled::answer(settled, record, refuse, |outcome| {
        let members = ReadResourceResult::new(scope.revision, &outcome, provider.page_reach());
        // A result that depends on answers is not determined by its URI.
        let caching = outcome.caching.filter(|_| !retried).map_or(Caching::NONE, self::caching);
        // A shared cache would give it to those who may not read it, or would read something else.
        let is_for_all = scope.permissions.is_open() && !provider.differs_by_caller();
        let caching = if is_for_all { caching } else { caching.private() };
        let (spent, plugin_meta) =
            (cost::asked(scope.cost.as_ref(), &scope.meta, scope.bytes), outcome.meta.as_deref());
        let host_meta: Vec<_> = spent.iter().map(|spent| (COST, Raw(spent))).collect();
        let envelope = Envelope { caching: Some(caching), plugin_meta, host_meta: &host_meta, ..Envelope::default() };
        result::object(scope.revision, &server.implementation, &members, envelope)
    })
}

/// A plugin must not return contents of another plugin's resources, not even as additions.
fn only_own_contents(
    server: &Server,
    provider: &Arc<dyn Provider>,
    settled: Settled<ReadResult>,
) -> Result<Settled<ReadResult>, Refusal> {
    if let Settled::Complete(result) = &settled {
        let snapshot = server.catalog.snapshot();
        let others = |contents: &&ResourceContents| snapshot.is_owned_by_other(&contents.uri, provider.id());
        if let Some(contents) = result.contents.iter().find(others) {
            let why = format!("contents of another plugin's resource: {}", text::quote(&contents.uri, 200));
            return Err(Refusal::Call(CallError::Fault(Fault::BadOutput(why))));
        }
    }
    Ok(settled)
}

fn caching(hint: abi::Caching) -> Caching {
    let scope = match hint.scope {
        abi::CacheScope::Public => CacheScope::Public,
        abi::CacheScope::Private => CacheScope::Private,
    };
    Caching { ttl_ms: hint.ttl_ms.min(MAX_TTL), scope }
}

/// Whether a text is a URI (RFC 3986).
pub(in crate::server) fn is_uri(text: &str) -> bool {
    fluent_uri::Uri::parse(text).is_ok()
}
