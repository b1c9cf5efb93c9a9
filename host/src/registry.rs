//! Registries of OCI, from which components come: references, the registry protocol, layouts on disk, signatures.
//!
//! Only commands of a person use it; a server fetches nothing. It runs no component, and decides nothing: it finds a
//! version, says who signed it, and writes it to a file.

mod artifact;
mod auth;
mod base64;
mod client;
mod credentials;
mod digest;
mod download;
mod error;
mod layout;
mod manifest;
mod publish;
mod reference;
mod signature;
mod source;
mod web;

pub use artifact::{Artifact, GRANTS, LANGUAGES, MINISIG, SHOWN};
pub use client::{Registry, RegistrySettings};
pub use digest::Sha256;
pub use error::RegistryError;
pub use layout::Layout;
pub use publish::{Publication, save};
pub use reference::{Reference, Repository, SCHEME, url};
pub use signature::{PublicKey, SigningKey};
pub use source::Source;
pub use web::download;

/// For a component that is downloaded.
const WHOLE: std::time::Duration = std::time::Duration::from_secs(30 * 60);
/// Redirects of one request.
const MAX_REDIRECTS: usize = 5;
