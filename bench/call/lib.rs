//! Empty; the benchmark is `benches/call.rs`.
