//! Exports traces and metrics by OTLP over HTTP, from a thread of its own each.
//!
//! Knows neither plugins nor MCP: it takes spans from [`crate::traces`], and metrics as the text that Prometheus gets, so
//! that each is counted once and has one name.

#[cfg_attr(not(feature = "telemetry"), path = "telemetry/absent.rs")]
mod export;
#[cfg(feature = "telemetry")]
mod otlp;
#[cfg(feature = "telemetry")]
mod retry_after;
mod settings;
#[cfg(test)]
mod tests;

pub use export::Exporter;
pub use settings::{Configured, Endpoint, Settings, endpoint, header};

/// Whether this build can export.
pub const SUPPORTED: bool = cfg!(feature = "telemetry");
