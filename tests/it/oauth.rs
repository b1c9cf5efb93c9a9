//! OAuth over HTTP: what clients without a token are told, which tokens let in, and what ends with them. One file
//! per aspect. How tokens are verified is tested beside `host/src/oauth`.

mod answers;
mod exchange;
mod expiry;
mod extra;
mod issuer;
mod metadata;
mod own;
mod own_folders;
mod rights;
mod serving;
mod state;
mod streams;
mod subjects;
