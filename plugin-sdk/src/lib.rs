//! Write plugins for Wharf in Rust: tools, resources and prompts for models, as a sandboxed
//! component. It contains no protocol code; the host speaks MCP to clients.
//!
//! ```
//! use wharf_plugin::*;
//!
//! #[derive(Deserialize, JsonSchema)]
//! struct Greet {
//!     /// Whom to greet.
//!     name: String,
//! }
//!
//! struct Hello;
//!
//! impl Plugin for Hello {
//!     fn tools(&self, tools: &mut Tools<'_>) {
//!         tools.add("greet", "Greets somebody by name", |_, args: Greet| Ok(format!("Hello, {}!", args.name)));
//!     }
//! }
//!
//! export!(Hello);
//! ```
//!
//! `Deserialize` and `JsonSchema` are from [serde] and [schemars], which the plugin's own
//! `Cargo.toml` must list too:
//!
//! ```toml
//! [lib]
//! crate-type = ["cdylib"]
//!
//! [dependencies]
//! wharf-plugin = { path = "…/plugin-sdk" }
//! serde = { version = "1", features = ["derive"] }
//! schemars = { version = "1.2", default-features = false, features = ["derive"] }
//! ```
//!
//! `cargo build --release --target wasm32-wasip2` builds the component.

// Used by `export!`; not for authors.
#[doc(hidden)]
pub mod abi;
mod ask;
mod call;
mod completion;
mod content;
mod error;
mod extensions;
mod host;
pub mod http;
pub mod log;
mod page;
mod plugin;
mod prompts;
mod reply;
mod resource;
mod sampling;
mod schema;
mod store;
#[cfg(not(target_family = "wasm"))]
pub mod testing;
mod tools;

pub use ask::Root;
pub use call::{Call, Feature};
pub use completion::{Completion, Subject, Typed};
pub use content::{Content, Icon, IconTheme, Role};
pub use error::{Error, Result};
pub use extensions::Extensions;
pub use host::{Listing, list_changed, resource_updated};
pub use page::Page;
pub use plugin::Plugin;
pub use prompts::{Prompt, PromptResult, Prompts};
pub use reply::{Json, NoArguments, Reply, ToolResult};
pub use resource::{CacheScope, ReadResult, Resource, ResourceContents, ResourceTemplate};
pub use sampling::{ContextScope, Sampled, Sampling, ToolChoice};
pub use store::Store;
pub use tools::{TaskSupport, Tool, Tools};

pub use schemars::{self, JsonSchema};
pub use serde::{self, Deserialize, Serialize};
pub use serde_json::{self, Map, Value, json};
