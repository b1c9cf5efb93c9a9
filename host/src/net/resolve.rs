//! Name resolution.

use std::fmt::Debug;
use std::io;
use std::net::IpAddr;

use async_trait::async_trait;

/// Looks up the addresses of a name.
#[async_trait]
pub trait Resolve: Debug + Send + Sync {
    /// All addresses of a name, the preferred one first.
    ///
    /// # Errors
    /// If the name has none, or the lookup failed.
    async fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>>;
}

/// The system's resolver.
#[derive(Debug)]
pub struct SystemResolver;

#[async_trait]
impl Resolve for SystemResolver {
    async fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        let found = tokio::net::lookup_host((name, 0)).await?;
        Ok(found.map(|address| address.ip()).collect())
    }
}
