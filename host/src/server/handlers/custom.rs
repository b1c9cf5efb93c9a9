//! Protocol extensions of plugins: the capabilities that they declare, and their methods,
//! `<plugin>/<method>`.
//!
//! Such a method has one round and cannot ask the client.

use std::sync::Arc;

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::rounds::once;
use crate::audit::Record;
use crate::catalog::{Capabilities, Snapshot};
use crate::json;
use crate::protocol::error;
use crate::protocol::request::Custom;
use crate::protocol::result::{self, Envelope};
use crate::rights::{Item, Permissions};
use crate::server::call_record::CallRecord;
use crate::server::response::{Dispatched, Response};
use crate::server::scope::Scope;
use crate::server::{Server, fault};

/// Members that only the host sets; `_meta` is filtered and sent with the envelope.
const ENVELOPE: [&str; 4] = ["resultType", "ttlMs", "cacheScope", "_meta"];

/// The declared capabilities of the plugins in service that may be used, by name.
pub(in crate::server) fn declared(capabilities: &Capabilities, permissions: &Permissions) -> Map<String, Value> {
    let may = capabilities.iter().filter(|(_, (plugin, _))| permissions.allows(plugin.as_ref(), Item::Rest));
    // Validated when the plugin was loaded.
    may.filter_map(|(name, (_, settings))| Some((name.clone(), json::tree(settings, json::MAX_DEPTH).ok()?))).collect()
}

/// An unknown method fails at once, unless its plugin may still be loading.
pub(in crate::server) fn call(server: &Arc<Server>, scope: Scope, request: Custom) -> Dispatched {
    let knows = |snapshot: &Snapshot| snapshot.extensions.method(&request.method).is_some();
    if server.catalog.is_ready() && !knows(&server.catalog.snapshot()) {
        return Dispatched::Now(Err(error::method_not_found(scope.revision, &request.method)));
    }
    let server = server.clone();
    Dispatched::Later(Box::pin(async move {
        let mut record = CallRecord::begin(&server, &scope, Record::capped(&request.method), &request.method)?;
        record.set_input(&request.params);
        let answer = answer(&server, &scope, &request, &mut record).await;
        record.finish(answer).await
    }))
}

async fn answer(server: &Arc<Server>, scope: &Scope, request: &Custom, record: &mut CallRecord) -> Response {
    let not_found = || error::method_not_found(scope.revision, &request.method);
    let snapshot = server.snapshot_with(|snapshot| snapshot.extensions.method(&request.method).is_some()).await;
    let Some((provider, name)) = snapshot.extensions.method(&request.method) else { return Err(not_found()) };
    let provider = provider.clone();
    drop(snapshot);
    record.set_target(scope, &*provider, &request.method);
    record.permitted(scope.check(&*provider, Item::Rest, not_found))?;
    let charge = record.charge(server, scope, &*provider, Item::Rest)?;
    match once(server, scope, &provider, charge, |call| provider.call_method(name, &request.params, call)).await {
        Ok(outcome) => shape(server, scope, &outcome),
        Err(error) => {
            record.set_refusal(&error);
            Err(fault::without_result(scope, provider.id(), "params", not_found(), error))
        }
    }
}

/// Adds the revision's envelope to the plugin's result, which was validated to be an object when
/// it left the sandbox.
fn shape(server: &Server, scope: &Scope, outcome: &str) -> Response {
    let outcome = json::Object::read(outcome).unwrap_or_default();
    let [meta] = outcome.members(["_meta"]).unwrap_or_default();
    let own = outcome.filtered(|name| !ENVELOPE.contains(&name));
    let envelope = Envelope { plugin_meta: meta.map(RawValue::get), ..Envelope::default() };
    result::object(scope.revision, &server.implementation, &own, envelope)
}
