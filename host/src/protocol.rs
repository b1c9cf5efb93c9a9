//! The Model Context Protocol as values: revisions, typed requests, errors, results.
//! Pure functions: no session, no transport, no plugin.
//!
//! Source: <https://modelcontextprotocol.io/specification>, revisions 2024-11-05 to 2026-07-28.

pub mod ask;
pub mod capability;
pub mod cursor;
pub mod discover;
pub mod era;
pub mod error;
pub mod headers;
pub mod implementation;
pub mod initialize;
pub mod keys;
pub mod level;
pub mod meta;
pub mod methods;
pub mod nearest;
pub mod params;
pub mod request;
pub mod result;
pub mod revision;
#[cfg(test)]
mod tests;
pub mod trace;

pub use ask::Ask;
pub use capability::{ClientCapabilities, ServerCapabilities};
pub use error::ErrorObject;
pub use implementation::Implementation;
pub use level::Level;
pub use meta::{Meta, ProgressToken};
pub use request::{ClientNotification, ClientRequest};
pub use revision::Revision;
