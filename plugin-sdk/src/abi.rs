//! The raw bindings of `wit/`, one set per world, so that a component exports only what its
//! author listed. Only `export!` uses them.

#![allow(unsafe_code, unreachable_pub, missing_docs, clippy::all)]

mod imports {
    wit_bindgen::generate!({
        world: "imports",
        path: "wit",
        generate_unused_types: true,
    });
}

pub use imports::wharf::plugin::{host, http, types};

mod wasi {
    wit_bindgen::generate!({
        world: "wasi:keyvalue/imports",
        path: "wit/wasi-keyvalue",
    });
}

pub use wasi::wasi::keyvalue;

pub mod completions;
pub mod extensions;
pub mod prompts;
pub mod resources;
pub mod tools;

/// Connects an author's plugin to the traits of the raw bindings.
pub trait Exported: 'static {
    type Plugin: crate::Plugin;
    const PLUGIN: Self::Plugin;
}
