//! Publishes components, and copies versions into layouts.

use std::path::Path;

use bytes::Bytes;
use serde_json::json;

use super::artifact::{Artifact, COMPONENT, annotations};
use super::client::Registry;
use super::digest::Sha256;
use super::error::RegistryError;
use super::layout::Layout;
use super::manifest::{Descriptor, Document, MANIFEST, Manifest};
use super::reference::{Reference, Repository};
use super::signature::{SigningKey, tag};
use super::source::Source;

const CONFIG: &str = "application/vnd.wasm.config.v0+json";
const TITLE: &str = "org.opencontainers.image.title";
/// Bytes of a layer that a copy takes besides the component.
const MAX_LAYER: u64 = 64 << 20;

/// A component, and what is said of it.
pub struct Publication {
    pub component: Bytes,
    /// The name of its file.
    pub title: String,
    pub exports: Vec<String>,
    pub imports: Vec<String>,
    pub annotations: Vec<(String, String)>,
}

impl Publication {
    /// The manifest and the configuration: the Wasm OCI artifact of the CNCF's TAG Runtime. There is no time in them, so
    /// that the same component has the same digest.
    fn manifest(&self) -> Result<(Vec<u8>, Vec<u8>), RegistryError> {
        let mut layer = Descriptor::of(COMPONENT, &self.component);
        layer.annotations.insert(TITLE.to_owned(), self.title.clone());
        let config = json!({
            "created": "1970-01-01T00:00:00Z",
            "architecture": "wasm",
            "os": "wasip2",
            "layerDigests": [layer.digest],
            "component": { "exports": self.exports, "imports": self.imports },
        });
        let text = |error: serde_json::Error| RegistryError::protocol(error.to_string());
        let config = serde_json::to_vec(&config).map_err(text)?;
        let manifest = Manifest {
            schema_version: 2,
            media_type: MANIFEST.to_owned(),
            artifact_type: None,
            config: Descriptor::of(CONFIG, &config),
            layers: vec![layer],
            subject: None,
            annotations: annotations(self.annotations.iter().cloned()),
        };
        Ok((serde_json::to_vec(&manifest).map_err(text)?, config))
    }

    /// Uploads it, and a signature, and names it by the tag last: until then nobody sees it. Returns its digest, and the one
    /// that the tag named before.
    ///
    /// # Errors
    /// If the registry does not take it.
    pub async fn push(
        &self,
        registry: &Registry<'_>,
        reference: &Reference,
        key: Option<&SigningKey>,
    ) -> Result<(Sha256, Option<Sha256>), RegistryError> {
        let (manifest, config) = self.manifest()?;
        let digest = Sha256::of(&manifest);
        registry.push_blob(&self.component).await?;
        registry.push_blob(&config.into()).await?;
        registry.push_manifest(&digest.to_string(), MANIFEST, manifest.clone()).await?;
        if let Some(key) = key {
            push_signature(registry, &reference.repository, digest, key).await?;
        }
        let before = registry.optional_manifest(reference.tag_or_default()).await?;
        registry.push_manifest(reference.tag_or_default(), MANIFEST, manifest).await?;
        Ok((digest, before.map(|bytes| Sha256::of(&bytes))))
    }
}

/// Uploads a signature, beside those that are there.
async fn push_signature(
    registry: &Registry<'_>,
    repository: &Repository,
    digest: Sha256,
    key: &SigningKey,
) -> Result<(), RegistryError> {
    let signature = key.sign(repository, digest)?;
    let mut manifest = signature.manifest;
    registry.push_blob(&signature.config.into()).await?;
    registry.push_blob(&signature.payload.clone().into()).await?;
    let tag = tag(digest);
    if let Some(bytes) = registry.optional_manifest(&tag).await?
        && let Ok(Document::Manifest(old)) = Document::parse(&bytes)
    {
        // What is signed again has no more signatures than before.
        if old.layers.iter().any(|layer| key.signed(layer, signature.payload.as_bytes())) {
            return Ok(());
        }
        manifest.layers.splice(0..0, old.layers);
    }
    let bytes = serde_json::to_vec(&manifest).map_err(|error| RegistryError::protocol(error.to_string()))?;
    registry.push_manifest(&tag, MANIFEST, bytes).await.map(drop)
}

/// Copies a version with its signatures into a layout. `component` is its downloaded file.
///
/// # Errors
/// If something cannot be read or written.
pub async fn save(
    artifact: &Artifact,
    source: &Source<'_>,
    reference: &Reference,
    component: &Path,
    layout: &mut Layout,
) -> Result<(), RegistryError> {
    let own = artifact.component()?;
    layout.write(&std::fs::read(component)?)?;
    let mut manifests = Vec::new();
    for (version, bytes) in artifact.signatures.manifests.iter().chain(&artifact.documents) {
        if let Ok(Document::Manifest(manifest)) = Document::parse(bytes) {
            copy_content(&manifest, own, source, layout).await?;
        }
        let is_asked = *version == reference.version();
        manifests.push((if is_asked { reference.tag.as_deref().unwrap_or(version) } else { version }, &**bytes));
    }
    // Named last, when all of it is there.
    layout.add(&reference.repository, &manifests)
}

async fn copy_content(
    manifest: &Manifest,
    without: Sha256,
    source: &Source<'_>,
    layout: &Layout,
) -> Result<(), RegistryError> {
    for descriptor in manifest.layers.iter().chain([&manifest.config]) {
        if descriptor.digest().ok() != Some(without) {
            layout.write(&source.blob(descriptor, "a layer", MAX_LAYER).await?)?;
        }
    }
    Ok(())
}
