//! Wharf: an MCP server whose tools, prompts and resources are sandboxed
//! WebAssembly components.
//! ARCHITECTURE.md describes the module layers.

pub mod activity;
pub mod approvals;
pub mod audit;
pub mod budgets;
pub mod byte_budget;
pub mod catalog;
pub mod cli;
pub mod config;
pub mod database;
pub mod identity;
pub mod idle;
pub mod in_use;
mod inline;
pub mod json;
pub mod jsonrpc;
pub mod metrics;
pub mod migration;
pub mod net;
pub mod nodes;
pub mod oauth;
pub mod os;
pub mod pins;
pub mod plugin;
pub mod proposals;
pub mod protocol;
pub mod published;
mod random_id;
pub mod registry;
mod report;
pub mod rights;
mod seldom;
pub mod server;
pub mod shared_budgets;
pub mod shared_changes;
pub mod shared_state;
pub mod skills;
pub mod state_keys;
pub mod store;
mod sync;
pub mod tasks;
pub mod telemetry;
pub mod text;
pub mod traces;
pub mod transport;
