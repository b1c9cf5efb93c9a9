wit_bindgen::generate!({
    world: "completions-plugin",
    path: "wit",
    with: {
        "wharf:plugin/types@0.1.0": crate::abi::types,
        "wharf:plugin/host@0.1.0": crate::abi::host,
        "wharf:plugin/http@0.1.0": crate::abi::http,
    },
    pub_export_macro: true,
    export_macro_name: "export_completions",
    default_bindings_module: "wharf_plugin::abi::completions",
});

pub use exports::wharf::plugin::completions::*;

use super::{Exported, types};
use crate::Plugin;

impl<E: Exported> Guest for E {
    fn complete(
        subject: Subject,
        name: String,
        value: String,
        given: Vec<(String, String)>,
        _context: types::CallContext,
    ) -> Result<Completion, types::CallError> {
        let typed = crate::Typed { subject: subject.into(), argument: name, value, given };
        E::PLUGIN.complete(&typed).map(|completion| completion.0).map_err(crate::Error::into_failure)
    }
}
