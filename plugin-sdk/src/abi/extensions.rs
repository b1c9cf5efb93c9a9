wit_bindgen::generate!({
    world: "extensions-plugin",
    path: "wit",
    with: {
        "wharf:plugin/types@0.1.0": crate::abi::types,
        "wharf:plugin/host@0.1.0": crate::abi::host,
        "wharf:plugin/http@0.1.0": crate::abi::http,
    },
    pub_export_macro: true,
    export_macro_name: "export_extensions",
    default_bindings_module: "wharf_plugin::abi::extensions",
});

pub use exports::wharf::plugin::extensions::*;

use super::{Exported, types};
use crate::{Call, Error};

impl<E: Exported> Guest for E {
    fn describe() -> Result<Offer, String> {
        crate::extensions::offer(&E::PLUGIN).map_err(Error::into_text)
    }

    fn call_method(name: String, params: String, context: types::CallContext) -> Result<String, types::CallError> {
        crate::extensions::run(&E::PLUGIN, &name, &params, &Call::new(context)).map_err(Error::into_failure)
    }
}
