//! Tokens and issuers as attackers, mistakes and time make them.

pub(super) mod crafted;
mod exchanges;
mod introspections;
mod issuers;
mod server;
mod sets;
mod tokens;
