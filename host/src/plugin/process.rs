//! A plugin in a process of its own (`limits.isolation = "process"`): its memory, its descriptors, and a crash of the
//! engine end with that process.
//!
//! The server pins, asks, queues, charges and checks as for any plugin. What runs the guest, and what its grants give
//! it, is the same code, in a child process: [`worker`]. `remote` is the dialect that speaks with it, through a
//! `connection`. A worker is not trusted: what it says is bounded and checked again, and what it asks of the server is
//! only what its plugin may have.

mod asked;
mod confined;
mod connection;
mod frame;
mod kept;
mod remote;
mod said;
mod setup;
#[cfg(test)]
mod tests;
pub mod worker;

pub(in crate::plugin) use connection::Source;
pub(in crate::plugin) use remote::Remote;
