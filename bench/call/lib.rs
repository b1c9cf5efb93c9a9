//! Nothing but its benchmark: `benches/call.rs`.
