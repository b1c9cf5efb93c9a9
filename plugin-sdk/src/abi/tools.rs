wit_bindgen::generate!({
    world: "tools-plugin",
    path: "wit",
    with: {
        "wharf:plugin/types@0.1.0": crate::abi::types,
        "wharf:plugin/host@0.1.0": crate::abi::host,
        "wharf:plugin/http@0.1.0": crate::abi::http,
    },
    pub_export_macro: true,
    export_macro_name: "export_tools",
    default_bindings_module: "wharf_plugin::abi::tools",
});

pub use exports::wharf::plugin::tools::*;

use super::{Exported, types};
use crate::{Call, Plugin, Tools};

impl<E: Exported> Guest for E {
    fn list_tools() -> Result<Vec<Tool>, String> {
        let mut tools = Tools::listing();
        E::PLUGIN.tools(&mut tools);
        tools.into_list()
    }

    fn call_tool(
        name: String,
        arguments: String,
        context: types::CallContext,
    ) -> Result<ToolOutcome, types::CallError> {
        let call = Call::new(context);
        match crate::tools::run(&E::PLUGIN, &name, &arguments, &call) {
            Ok(result) => Ok(ToolOutcome::Complete(result.0)),
            Err(error) => error.settle(&call).map(ToolOutcome::InputRequired),
        }
    }
}
