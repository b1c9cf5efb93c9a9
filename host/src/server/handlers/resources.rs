//! `resources/list`, `resources/templates/list` and `resources/read`.
//!
//! Source: MCP, server/resources of each revision.

use std::sync::Arc;

use super::Reply;
use super::page::List;
use super::rounds::settle;
use crate::plugin::FrozenTemplate;
use crate::plugin::abi::ResourceDescription;
use crate::protocol::cursor::ListKind;
use crate::protocol::error;
use crate::protocol::result::{self, Caching, Envelope};
use crate::server::scope::Scope;
use crate::server::{Server, fault, wire};

pub(in crate::server) static LIST: List<ResourceDescription> = List {
    kind: ListKind::Resources,
    member: "resources",
    names: |snapshot| &snapshot.resources,
    describe: wire::resource::descriptor,
};

pub(in crate::server) static TEMPLATES: List<FrozenTemplate> = List {
    kind: ListKind::ResourceTemplates,
    member: "resourceTemplates",
    names: |snapshot| &snapshot.templates,
    describe: wire::resource::template,
};

pub(in crate::server) fn read(server: &Arc<Server>, scope: Scope, uri: &str) -> Reply {
    let (server, uri) = (server.clone(), uri.to_owned());
    Reply::Later(Box::pin(async move {
        server.catalog.ready(server.settings.first_scan).await;
        let Some(provider) = server.catalog.snapshot().provider_of(&uri) else {
            return Err(error::resource_not_found(scope.revision, &uri));
        };
        let outcome = settle(&scope, |call| provider.read_resource(&uri, call)).await.map_err(|error| {
            let not_found = error::resource_not_found(scope.revision, &uri);
            fault::without_result(provider.id(), "params.uri", not_found, error)
        })?;
        let members = wire::resource::result(scope.revision, &outcome);
        let envelope =
            Envelope { caching: Some(Caching::NONE), plugin_meta: outcome.meta.as_deref(), ..Envelope::default() };
        Ok(result::object(scope.revision, &server.implementation, &members, envelope))
    }))
}
