//! The trait that an author implements. Every method is optional.

use crate::{
    Call, Completion, Error, Extensions, Prompts, ReadResult, Resource, ResourceTemplate, Result, Tools, Typed,
};

/// A plugin. Implement what it offers and list those interfaces in [`export!`](crate::export).
///
/// Every call gets a fresh instance, so no state remains from one call to the next.
///
/// ```
/// use wharf_plugin::*;
///
/// #[derive(Deserialize, JsonSchema)]
/// struct Text {
///     /// What to change.
///     text: String,
/// }
///
/// struct Words;
///
/// impl Plugin for Words {
///     fn tools(&self, tools: &mut Tools<'_>) {
///         tools.add("shout", "Makes all letters large", |_, args: Text| Ok(args.text.to_uppercase())).read_only();
///         tools.add("count", "Counts words", |_, args: Text| Ok(args.text.split_whitespace().count().to_string()));
///     }
/// }
///
/// export!(Words);
/// # assert_eq!(testing::call(&Words, "count", json!({ "text": "a b" })).unwrap().as_text(), "2");
/// ```
pub trait Plugin {
    /// The functions that a model can call, in the order in which clients see them.
    ///
    /// ```
    /// # use wharf_plugin::*;
    /// # struct Pong;
    /// # impl Plugin for Pong {
    /// fn tools(&self, tools: &mut Tools<'_>) {
    ///     tools.add("ping", "Answers", |_, _: NoArguments| Ok("pong"));
    /// }
    /// # }
    /// # assert_eq!(testing::tools(&Pong).unwrap().len(), 1);
    /// ```
    fn tools(&self, tools: &mut Tools<'_>) {
        let _ = tools;
    }

    /// Resources that a client can read, by URI; beside the pages of [`Tool::page`](crate::Tool::page).
    ///
    /// ```
    /// # use wharf_plugin::*;
    /// # struct Notes;
    /// # impl Plugin for Notes {
    /// fn resources(&self) -> Result<Vec<Resource>> {
    ///     Ok(vec![Resource::new("note://1", "shopping").mime_type("text/plain")])
    /// }
    /// # }
    /// # assert_eq!(Notes.resources().unwrap().len(), 1);
    /// ```
    fn resources(&self) -> Result<Vec<Resource>> {
        Ok(Vec::new())
    }

    /// Families of resources, by URI template.
    ///
    /// ```
    /// # use wharf_plugin::*;
    /// # struct Notes;
    /// # impl Plugin for Notes {
    /// fn resource_templates(&self) -> Result<Vec<ResourceTemplate>> {
    ///     Ok(vec![ResourceTemplate::new("note://{number}", "notes")])
    /// }
    /// # }
    /// # assert_eq!(Notes.resource_templates().unwrap().len(), 1);
    /// ```
    fn resource_templates(&self) -> Result<Vec<ResourceTemplate>> {
        Ok(Vec::new())
    }

    /// The contents of a resource; `uri` was listed or matches a template.
    ///
    /// ```
    /// # use wharf_plugin::*;
    /// # struct Notes;
    /// # impl Plugin for Notes {
    /// fn read_resource(&self, uri: &str, _: &Call) -> Result<ReadResult> {
    ///     match uri {
    ///         "note://1" => Ok(ResourceContents::text(uri, "milk, bread").into()),
    ///         _ => Err(Error::not_found()),
    ///     }
    /// }
    /// # }
    /// # assert!(testing::read(&Notes, "note://1").is_ok());
    /// ```
    fn read_resource(&self, uri: &str, call: &Call) -> Result<ReadResult> {
        let _ = (uri, call);
        Err(Error::not_found())
    }

    /// Message templates that a user can select.
    ///
    /// ```
    /// # use wharf_plugin::*;
    /// # struct Notes;
    /// # impl Plugin for Notes {
    /// fn prompts(&self, prompts: &mut Prompts<'_>) {
    ///     prompts.add("plan", "Plans the day", |_, _: NoArguments| Ok(PromptResult::user("What is first?")));
    /// }
    /// # }
    /// # assert_eq!(testing::prompts(&Notes).unwrap().len(), 1);
    /// ```
    fn prompts(&self, prompts: &mut Prompts<'_>) {
        let _ = prompts;
    }

    /// Suggestions while the user types an argument of a prompt or of a URI template.
    ///
    /// ```
    /// # use wharf_plugin::*;
    /// # struct Notes;
    /// # impl Plugin for Notes {
    /// fn complete(&self, typed: &Typed) -> Result<Completion> {
    ///     Ok(Completion::from(["bread", "butter", "milk"]).starting_with(&typed.value))
    /// }
    /// # }
    /// ```
    fn complete(&self, typed: &Typed) -> Result<Completion> {
        let _ = typed;
        Ok(Completion::default())
    }

    /// Extensions of the protocol: capabilities that are declared to clients, and methods of the
    /// plugin's own.
    ///
    /// ```
    /// # use wharf_plugin::*;
    /// # struct Notes;
    /// # impl Plugin for Notes {
    /// fn extensions(&self, extensions: &mut Extensions<'_>) {
    ///     extensions.method("count", |_, _: NoArguments| Ok(json!({ "notes": 1 })));
    /// }
    /// # }
    /// # assert_eq!(testing::method(&Notes, "count", json!({})).unwrap()["notes"], 1);
    /// ```
    fn extensions(&self, extensions: &mut Extensions<'_>) {
        let _ = extensions;
    }
}

/// Exports a plugin as a component: the unit struct that implements [`Plugin`], and its interfaces,
/// of `tools`, `resources`, `prompts`, `completions` and `extensions`; by default only `tools`.
/// The host sees only what is listed here.
///
/// ```
/// use wharf_plugin::*;
///
/// struct Notes;
/// impl Plugin for Notes {}
///
/// export!(Notes: tools, resources, prompts, completions, extensions);
/// ```
#[macro_export]
macro_rules! export {
    ($plugin:ident) => {
        $crate::export!($plugin: tools);
    };
    ($plugin:ident: $($interface:ident),+ $(,)?) => {
        const _: () = {
            struct Exported;

            impl $crate::abi::Exported for Exported {
                type Plugin = $plugin;
                const PLUGIN: $plugin = $plugin;
            }

            // Outside of a component nothing else would use it.
            const _: $plugin = <Exported as $crate::abi::Exported>::PLUGIN;

            $($crate::export_interface!($interface Exported);)+
        };
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! export_interface {
    (tools $exported:ident) => {
        #[cfg(target_family = "wasm")]
        $crate::abi::tools::export_tools!($exported with_types_in $crate::abi::tools);
    };
    (resources $exported:ident) => {
        #[cfg(target_family = "wasm")]
        $crate::abi::resources::export_resources!($exported with_types_in $crate::abi::resources);
    };
    (prompts $exported:ident) => {
        #[cfg(target_family = "wasm")]
        $crate::abi::prompts::export_prompts!($exported with_types_in $crate::abi::prompts);
    };
    (completions $exported:ident) => {
        #[cfg(target_family = "wasm")]
        $crate::abi::completions::export_completions!($exported with_types_in $crate::abi::completions);
    };
    (extensions $exported:ident) => {
        #[cfg(target_family = "wasm")]
        $crate::abi::extensions::export_extensions!($exported with_types_in $crate::abi::extensions);
    };
}
