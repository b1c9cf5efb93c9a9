//! Where versions come from: a registry, or a layout in its place.

use std::path::Path;

use super::client::Registry;
use super::digest::Sha256;
use super::error::RegistryError;
use super::layout::Layout;
use super::manifest::Descriptor;
use super::reference::Repository;

pub enum Source<'a> {
    Registry(Registry<'a>),
    /// The layout has what was saved of this repository.
    Layout(Layout, Repository),
}

impl Source<'_> {
    pub(super) async fn manifest(&self, version: &str) -> Result<(Vec<u8>, Sha256), RegistryError> {
        match self {
            Self::Registry(registry) => registry.manifest(version).await,
            Self::Layout(layout, repository) => layout.manifest(repository, version)?.ok_or_else(|| {
                RegistryError::Missing(format!("the layout has no {repository} with the version {version}"))
            }),
        }
    }

    pub(super) async fn optional_manifest(&self, version: &str) -> Result<Option<Vec<u8>>, RegistryError> {
        match self {
            Self::Registry(registry) => registry.optional_manifest(version).await,
            Self::Layout(layout, repository) => Ok(layout.manifest(repository, version)?.map(|(bytes, _)| bytes)),
        }
    }

    pub(super) async fn referrers(&self, digest: Sha256) -> Result<Vec<Descriptor>, RegistryError> {
        match self {
            Self::Registry(registry) => registry.referrers(digest).await,
            Self::Layout(layout, _) => Ok(layout.referrers(digest)),
        }
    }

    pub(super) async fn blob(
        &self,
        descriptor: &Descriptor,
        what: &'static str,
        limit: u64,
    ) -> Result<Vec<u8>, RegistryError> {
        match self {
            Self::Registry(registry) => registry.blob(descriptor, what, limit).await,
            Self::Layout(layout, _) if descriptor.size <= limit => {
                layout.read(descriptor.digest().map_err(RegistryError::protocol)?, what, limit)
            }
            Self::Layout(..) => Err(RegistryError::too_large(what, limit)),
        }
    }

    pub(super) async fn download(&self, descriptor: &Descriptor, file: &Path) -> Result<(), RegistryError> {
        match self {
            Self::Registry(registry) => registry.download(descriptor, file).await,
            Self::Layout(layout, _) => layout.copy(descriptor, file),
        }
    }
}
