//! The imports of wasmcp's components.
//!
//! Its types include WASI streams under other names. The functions serve transports and middleware, and
//! do nothing here: those of `server-io` write to a client stream, which components do not get, and
//! return an error that reports it; `server-auth` decodes no token and authorizes nothing;
//! `server-handler` handles no message. componentize-py imports all of them whenever a component uses
//! their types.

use wasmtime::component::{Linker, LinkerInstance, Resource, ResourceAny, ResourceType, Val};
use wasmtime_wasi::p2::{DynInputStream, DynOutputStream};

use crate::plugin::imports::state::GuestState;

/// Interfaces and functions; the linked version serves all compatible ones.
const TYPES: [&str; 3] = ["mcp", "server-handler", "server-io"];
const IO_FUNCTIONS: [&str; 3] = ["parse-message", "send-message", "flush-buffer"];
const WHY: &str = "plugins cannot write to the client: return the content instead";

/// Adds the interfaces to the linker.
pub(super) fn link(linker: &mut Linker<GuestState>) -> wasmtime::Result<()> {
    for interface in TYPES {
        let mut interface = linker.instance(&format!("wasmcp:mcp-v20251125/{interface}@0.1.1"))?;
        interface.resource("input-stream", ResourceType::host::<DynInputStream>(), |mut store, rep| {
            store.data_mut().table().delete(Resource::<DynInputStream>::new_own(rep))?;
            Ok(())
        })?;
        interface.resource("output-stream", ResourceType::host::<DynOutputStream>(), |mut store, rep| {
            store.data_mut().table().delete(Resource::<DynOutputStream>::new_own(rep))?;
            Ok(())
        })?;
    }
    let mut io = linker.instance("wasmcp:mcp-v20251125/server-io@0.1.1")?;
    for function in IO_FUNCTIONS {
        define(&mut io, function, || {
            let error = Val::Variant("unexpected".into(), Some(Box::new(Val::String(WHY.into()))));
            Val::Result(Err(Some(Box::new(error))))
        })?;
    }
    let mut auth = linker.instance("wasmcp:mcp-v20251125/server-auth@0.1.1")?;
    define(&mut auth, "decode", || Val::Result(Err(None)))?;
    define(&mut auth, "authorize", || Val::Bool(false))?;
    let mut handler = linker.instance("wasmcp:mcp-v20251125/server-handler@0.1.1")?;
    define(&mut handler, "handle", || Val::Option(None))
}

/// Defines a function that only returns a value.
fn define(interface: &mut LinkerInstance<'_, GuestState>, function: &str, result: fn() -> Val) -> wasmtime::Result<()> {
    interface.func_new_async(function, move |mut store, _, params, results| {
        Box::new(async move {
            // A borrowed stream must be dropped before this returns.
            let mut streams = Vec::new();
            params.iter().for_each(|param| handles(param, &mut streams));
            for stream in streams {
                stream.resource_drop_async(&mut store).await?;
            }
            results[0] = result();
            Ok(())
        })
    })
}

/// The handles in a value.
fn handles(value: &Val, found: &mut Vec<ResourceAny>) {
    match value {
        Val::Resource(handle) => found.push(*handle),
        Val::Option(Some(held)) | Val::Variant(_, Some(held)) | Val::Result(Ok(Some(held)) | Err(Some(held))) => {
            handles(held, found);
        }
        Val::List(all) | Val::Tuple(all) => all.iter().for_each(|one| handles(one, found)),
        Val::Record(fields) => fields.iter().for_each(|(_, one)| handles(one, found)),
        _ => {}
    }
}
