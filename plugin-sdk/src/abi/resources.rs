wit_bindgen::generate!({
    world: "resources-plugin",
    path: "wit",
    with: {
        "wharf:plugin/types@0.1.0": crate::abi::types,
        "wharf:plugin/host@0.1.0": crate::abi::host,
        "wharf:plugin/http@0.1.0": crate::abi::http,
    },
    pub_export_macro: true,
    export_macro_name: "export_resources",
    default_bindings_module: "wharf_plugin::abi::resources",
});

pub use exports::wharf::plugin::resources::*;

use super::{Exported, types};
use crate::{Call, Plugin, page};

impl<E: Exported> Guest for E {
    fn list_resources() -> Result<Vec<types::ResourceDescription>, String> {
        let listed = page::resources(&E::PLUGIN).map_err(crate::Error::into_text)?;
        Ok(listed.into_iter().map(|resource| resource.0).collect())
    }

    fn list_resource_templates() -> Result<Vec<ResourceTemplate>, String> {
        let listed = E::PLUGIN.resource_templates().map_err(crate::Error::into_text)?;
        Ok(listed.into_iter().map(|template| template.0).collect())
    }

    fn read_resource(uri: String, context: types::CallContext) -> Result<ReadOutcome, types::CallError> {
        if let Some(page) = page::read(&E::PLUGIN, &uri) {
            return Ok(ReadOutcome::Complete(page.0));
        }
        let call = Call::new(context);
        match E::PLUGIN.read_resource(&uri, &call) {
            Ok(result) => Ok(ReadOutcome::Complete(result.0)),
            Err(error) => error.settle(&call).map(ReadOutcome::InputRequired),
        }
    }
}
