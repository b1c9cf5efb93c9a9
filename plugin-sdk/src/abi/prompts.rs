wit_bindgen::generate!({
    world: "prompts-plugin",
    path: "wit",
    with: {
        "wharf:plugin/types@0.1.0": crate::abi::types,
        "wharf:plugin/host@0.1.0": crate::abi::host,
        "wharf:plugin/http@0.1.0": crate::abi::http,
    },
    pub_export_macro: true,
    export_macro_name: "export_prompts",
    default_bindings_module: "wharf_plugin::abi::prompts",
});

pub use exports::wharf::plugin::prompts::*;

use super::{Exported, types};
use crate::{Call, Plugin, Prompts};

impl<E: Exported> Guest for E {
    fn list_prompts() -> Result<Vec<Prompt>, String> {
        let mut prompts = Prompts::listing();
        E::PLUGIN.prompts(&mut prompts);
        prompts.into_list()
    }

    fn get_prompt(
        name: String,
        arguments: Vec<(String, String)>,
        context: types::CallContext,
    ) -> Result<PromptOutcome, types::CallError> {
        let call = Call::new(context);
        match crate::prompts::run(&E::PLUGIN, &name, arguments, &call) {
            Ok(result) => Ok(PromptOutcome::Complete(result.0)),
            Err(error) => error.settle(&call).map(PromptOutcome::InputRequired),
        }
    }
}
