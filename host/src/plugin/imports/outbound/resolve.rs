//! From a host's name to its addresses.

use std::fmt::Debug;
use std::io;
use std::net::IpAddr;

use async_trait::async_trait;

/// Knows the addresses of names.
#[async_trait]
pub trait Resolve: Debug + Send + Sync {
    /// All addresses of a name, the best one first.
    ///
    /// # Errors
    /// If the name has none, or nobody could be asked.
    async fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>>;
}

/// The system's own resolver.
#[derive(Debug)]
pub struct SystemResolver;

#[async_trait]
impl Resolve for SystemResolver {
    async fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        let found = tokio::net::lookup_host((name, 0)).await?;
        Ok(found.map(|address| address.ip()).collect())
    }
}
