//! The imports of wasmcp's components.
//!
//! Its types include WASI streams under other names. `server-io` writes messages to a client stream,
//! which components do not get here: its functions return an error that says so.

use wasmtime::component::{Linker, Resource, ResourceType, Val};
use wasmtime_wasi::p2::{DynInputStream, DynOutputStream};

use crate::plugin::imports::state::GuestState;

/// Interfaces and functions; the linked version serves all compatible ones.
const TYPES: [&str; 3] = ["mcp", "server-handler", "server-io"];
const FUNCTIONS: [&str; 3] = ["parse-message", "send-message", "flush-buffer"];
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
    for function in FUNCTIONS {
        io.func_new_async(function, |mut store, _, params, results| {
            Box::new(async move {
                // A borrowed stream must be dropped before this returns.
                for param in params {
                    if let Val::Resource(stream) = param {
                        stream.resource_drop_async(&mut store).await?;
                    }
                }
                let error = Val::Variant("unexpected".into(), Some(Box::new(Val::String(WHY.into()))));
                results[0] = Val::Result(Err(Some(Box::new(error))));
                Ok(())
            })
        })?;
    }
    Ok(())
}
