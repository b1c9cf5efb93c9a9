//! `server-io` of wasmcp, which its components import to write messages to a client.
//!
//! Here they get no stream of a client, since a plugin never writes to one itself; whoever
//! writes to another stream is told why that cannot be.

use wasmtime::component::{Linker, Val};

const INTERFACE: &str = "wasmcp:mcp-v20251125/server-io@0.1.1";
const FUNCTIONS: [&str; 3] = ["parse-message", "send-message", "flush-buffer"];
const WHY: &str = "a plugin does not write to its client: return what there is to say";

/// Gives components the interface.
pub(in crate::plugin) fn link<T: 'static>(linker: &mut Linker<T>) -> wasmtime::Result<()> {
    let mut interface = linker.instance(INTERFACE)?;
    for function in FUNCTIONS {
        interface.func_new(function, |_, _, _, results| {
            let error = Val::Variant("unexpected".into(), Some(Box::new(Val::String(WHY.into()))));
            results[0] = Val::Result(Err(Some(Box::new(error))));
            Ok(())
        })?;
    }
    Ok(())
}
