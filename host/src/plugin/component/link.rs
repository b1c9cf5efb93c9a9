//! Static linking: the core modules of a component become one module where they can.
//!
//! Toolchains put a component together from several modules: a program, adapters, shared libraries. Each is
//! instantiated for each call, with its imports, and what libraries write into a table of another module cannot be
//! prepared in advance. A plugin in Python consists of a dozen libraries with five thousand such entries, which take
//! more time than the plugin.
//!
//! Only what is instantiated changes, not what it does: the engine validates the result like any component.

mod module;
mod outline;
mod plan;
mod rewrite;

use wasmparser::{BinaryReaderError, Validator, WasmFeatures};

use module::Layout;
use outline::Outline;
use plan::Plan;
use rewrite::Rewriter;

/// Raised when linking changes: code that is cached is compiled again.
pub(super) const VERSION: u32 = 1;
/// Levels of components within components that are linked. Toolchains put at most one around a program.
const LEVELS: usize = 3;

/// The component has what is not linked, or is invalid: it stays as it is.
#[derive(Debug)]
struct Unsupported;

impl From<BinaryReaderError> for Unsupported {
    fn from(_: BinaryReaderError) -> Self {
        Self
    }
}

/// The component with fewer modules; `None` if it has none that can be linked, or is not valid with these features.
pub fn linked(component: &[u8], features: WasmFeatures) -> Option<Vec<u8>> {
    // Before anything is linked: what is invalid could become valid.
    Validator::new_with_features(features).validate_all(component).ok()?;
    link(component, LEVELS).ok()
}

fn link(component: &[u8], levels: usize) -> Result<Vec<u8>, Unsupported> {
    let plan = Plan::new(Outline::read(component, levels)?)?;
    if plan.linked().next().is_none() && !plan.outline.has_linked {
        return Err(Unsupported);
    }
    let layout = Layout::new(&plan)?;
    Rewriter::new(&plan, layout).component()
}

#[cfg(test)]
mod tests;
