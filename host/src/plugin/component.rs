//! From a file to native code: reading, inspecting, verifying, compiling, caching.
//!
//! Runs no code of a component.

pub(in crate::plugin) mod act;
pub(in crate::plugin) mod cache;
pub mod compile;
pub(in crate::plugin) mod engine;
mod expansion;
pub(in crate::plugin) mod file;
mod header;
pub(in crate::plugin) mod inspect;
pub(in crate::plugin) mod kind;
pub(in crate::plugin) mod link;
pub(in crate::plugin) mod metadata;
pub(in crate::plugin) mod prescan;
pub(in crate::plugin) mod proposals;
pub(in crate::plugin) mod sections;
pub(in crate::plugin) mod signature;
