//! The HTTP transport, tested with hostile clients. One file per aspect; `P` and a number is a
//! row of the abuse suite.

mod bodies;
mod buffering;
mod callers;
mod card;
mod crowd;
mod framing;
mod headers;
mod listening;
mod names;
mod paths;
mod resources;
mod sessions;
mod shutdown;
mod slow;
mod sse;
mod stateless;
mod states;
mod streams;
mod tls;
mod tokens;
