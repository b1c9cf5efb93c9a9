//! How a component is spoken to.
//!
//! One that exports any of our own interfaces is a plugin of those and of nothing else.

pub(in crate::plugin) mod linked;
pub(in crate::plugin) mod peek;
pub mod plain;
pub(in crate::plugin) mod wasmcp;
pub(in crate::plugin) mod wharf;

use wasmtime::component::{Component, InstancePre};

use super::error::LoadError;
use super::imports::state::State;
use plain::Functions;
use wharf::Exports;

/// What is known of a component's exports.
pub(in crate::plugin) enum Dialect {
    /// `wharf:plugin`.
    Wharf(Box<Exports>),
    /// `wasmcp:mcp-v20251125`.
    Wasmcp(Box<wasmcp::Exports>),
    /// Functions of its own, each of them a tool.
    Plain(Functions),
}

/// What begins the names of interfaces that are for hosts like this one. Of other versions than
/// are known they are no functions for anybody else.
const FOR_HOSTS: [&str; 2] = ["wharf:plugin/", "wasmcp:mcp-"];

impl Dialect {
    /// Finds it. `bytes` are the component's.
    ///
    /// # Errors
    /// If there is nothing in it that could be called.
    pub(in crate::plugin) fn find(pre: &InstancePre<State>, bytes: &[u8]) -> Result<Self, LoadError> {
        let component = pre.component();
        let exports = Exports::find(pre)?;
        if !exports.is_empty() {
            return Ok(Self::Wharf(Box::new(exports)));
        }
        let wasmcp = wasmcp::Exports::find(component)?;
        if !wasmcp.is_empty() {
            return Ok(Self::Wasmcp(Box::new(wasmcp)));
        }
        let names = exported(component);
        if names.iter().any(|name| FOR_HOSTS.iter().any(|host| name.starts_with(host))) {
            return Err(LoadError::no_interface(names));
        }
        let functions = Functions::find(component, bytes);
        if !functions.is_empty() {
            return Ok(Self::Plain(functions));
        }
        Err(if functions.left_out.is_empty() {
            LoadError::no_interface(names)
        } else {
            LoadError::no_function(&functions.left_out)
        })
    }
}

fn exported(component: &Component) -> Vec<String> {
    component.component_type().exports(component.engine()).map(|(name, _)| name.to_owned()).collect()
}
