//! The HTTP transport, tested with hostile clients. One file per aspect; `P` and a number is a
//! row of the abuse suite.

mod alone;
mod bodies;
mod callers;
mod crowd;
mod framing;
mod headers;
mod kept;
mod leaving;
mod listening;
mod names;
mod paths;
mod resources;
mod sessions;
mod slow;
mod sse;
mod states;
mod streams;
mod tls;
mod tokens;
