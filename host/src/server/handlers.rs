//! One file per feature: converts typed requests to results of the wire.

mod approval;
pub(in crate::server) mod completions;
pub(in crate::server) mod custom;
pub(in crate::server) mod lifecycle;
pub(in crate::server) mod page;
pub(in crate::server) mod prompts;
pub(in crate::server) mod resources;
pub(in crate::server) mod rounds;
pub(in crate::server) mod settled;
pub(in crate::server) mod skills;
pub(in crate::server) mod subscriptions;
pub(in crate::server) mod tasks;
mod tool_call;
pub(in crate::server) mod tools;
