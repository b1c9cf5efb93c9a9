//! How a component is spoken to.
//!
//! One that exports any of our own interfaces is a plugin of those and of nothing else.

use wasmtime::component::{Component, InstancePre};

use super::abi::Exports;
use super::load::LoadError;
use super::plain::Functions;
use super::state::State;

/// What is known of a component's exports.
#[derive(Clone)]
pub(super) enum Dialect {
    /// `wharf:plugin`.
    Wharf(Exports),
    /// Functions of its own, each of them a tool.
    Plain(Functions),
}

/// What begins the names of our own interfaces.
const OWN: &str = "wharf:plugin/";

impl Dialect {
    /// Finds it. `bytes` are the component's.
    ///
    /// # Errors
    /// If there is nothing in it that could be called.
    pub(super) fn find(pre: &InstancePre<State>, bytes: &[u8]) -> Result<Self, LoadError> {
        let component = pre.component();
        let exports = Exports::find(pre)?;
        if !exports.is_empty() {
            return Ok(Self::Wharf(exports));
        }
        let names = exported(component);
        if names.iter().any(|name| name.starts_with(OWN)) {
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

    /// Our own interfaces.
    pub(super) fn wharf(&self) -> Option<&Exports> {
        match self {
            Self::Wharf(exports) => Some(exports),
            Self::Plain(_) => None,
        }
    }
}

fn exported(component: &Component) -> Vec<String> {
    component.component_type().exports(component.engine()).map(|(name, _)| name.to_owned()).collect()
}
