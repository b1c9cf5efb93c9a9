//! The component of a version: which of its layers that is, and what its publisher says of it.
//!
//! Forms that are read: the Wasm OCI artifact of the CNCF's TAG Runtime (wkg, wash, wasmcp), Wassette's with a policy
//! beside it, those of oras without a configuration, and older media types of wasmCloud and others.

use std::collections::BTreeMap;
use std::path::Path;

use super::digest::Sha256;
use super::error::RegistryError;
use super::manifest::{Annotations, Descriptor, Document, Manifest};
use super::signature::SignaturesOf;
use super::source::Source;

pub(super) const COMPONENT: &str = "application/wasm";
/// In the order of how common they are.
const COMPONENT_TYPES: [&str; 5] = [
    COMPONENT,
    "application/vnd.wasm.component.v1",
    "application/vnd.bytecodealliance.wasm.component.layer.v0+wasm",
    "application/vnd.module.wasm.content.layer.v1+wasm",
    "application/vnd.wasm.content.layer.v1+wasm",
];
const POLICY_TYPES: [&str; 4] =
    ["application/vnd.wassette.policy+yaml", "application/vnd.wasm.policy.v1+yaml", "application/x-yaml", "text/yaml"];
/// What else is in registries, by how its media types begin.
const OTHERS: [(&str, &str); 6] = [
    ("application/vnd.docker.image.rootfs", "a container image"),
    ("application/vnd.oci.image.layer", "a container image"),
    ("application/vnd.wasmcloud.provider", "a provider of wasmCloud"),
    ("application/vnd.cncf.helm", "a Helm chart"),
    ("application/vnd.dev.cosign", "a signature"),
    ("application/vnd.dev.sigstore", "a signature"),
];

/// Bytes of a policy, and of annotations in all.
const MAX_POLICY: u64 = 256 << 10;
const MAX_ANNOTATIONS: usize = 256 << 10;

/// A version that was found, and not downloaded yet.
pub struct Artifact {
    /// The digest of what the reference names, and of the manifest in it if that is an index.
    pub digest: Sha256,
    pub manifest: Sha256,
    pub annotations: BTreeMap<String, String>,
    /// A policy of Wassette.
    pub policy: Option<String>,
    pub signatures: SignaturesOf,
    component: Descriptor,
    /// For a copy: its manifests, with the versions under which they are known.
    pub(super) documents: Vec<(String, Vec<u8>)>,
}

impl Artifact {
    /// Finds a version, without its component.
    ///
    /// # Errors
    /// If it is not there, is not as the specifications say, or has no component, or more than one.
    pub async fn find(source: &Source<'_>, version: &str) -> Result<Self, RegistryError> {
        let (bytes, digest) = source.manifest(version).await?;
        let mut documents = vec![(version.to_owned(), bytes.clone())];
        let (content, manifest) = match Document::parse(&bytes).map_err(RegistryError::protocol)? {
            Document::Manifest(manifest) => (*manifest, digest),
            Document::Index(index) => {
                let chosen = chosen(&index.manifests)?;
                let (bytes, manifest) =
                    source.manifest(&chosen.digest().map_err(RegistryError::protocol)?.to_string()).await?;
                documents.push((manifest.to_string(), bytes.clone()));
                match Document::parse(&bytes).map_err(RegistryError::protocol)? {
                    Document::Manifest(content) => (*content, manifest),
                    Document::Index(_) => {
                        return Err(RegistryError::NotAComponent("it is an index of indexes".to_owned()));
                    }
                }
            }
        };
        let component = component_of(&content)?.clone();
        let policy = match content.layers.iter().find(|layer| POLICY_TYPES.contains(&&*layer.media_type)) {
            Some(layer) => {
                let bytes = source.blob(layer, "its policy", MAX_POLICY).await?;
                Some(
                    String::from_utf8(bytes)
                        .map_err(|_| RegistryError::protocol("its policy is not text".to_owned()))?,
                )
            }
            None => None,
        };
        let annotations = content.annotations;
        if annotations.iter().map(|(key, value)| key.len() + value.len()).sum::<usize>() > MAX_ANNOTATIONS {
            return Err(RegistryError::too_large("its annotations", MAX_ANNOTATIONS as u64));
        }
        let mut signatures = SignaturesOf::find(source, digest).await?;
        if signatures.count() == 0 && manifest != digest {
            signatures = SignaturesOf::find(source, manifest).await?;
        }
        Ok(Self { digest, manifest, annotations, policy, signatures, component, documents })
    }

    /// The size of its component, in bytes.
    pub fn size(&self) -> u64 {
        self.component.size
    }

    /// The digest of its component.
    ///
    /// # Errors
    /// If it is not SHA-256.
    pub fn component(&self) -> Result<Sha256, RegistryError> {
        self.component.digest().map_err(RegistryError::protocol)
    }

    /// What signatures may be for.
    pub fn signed(&self) -> [Sha256; 2] {
        [self.digest, self.manifest]
    }

    /// Downloads the component into a file.
    ///
    /// # Errors
    /// If it cannot be had, does not match its digest, or has more than `limit` bytes.
    pub async fn download(&self, source: &Source<'_>, file: &Path, limit: u64) -> Result<(), RegistryError> {
        if self.component.size > limit {
            return Err(RegistryError::too_large("the component", limit));
        }
        source.download(&self.component, file).await
    }
}

/// The manifest of an index that is for components.
fn chosen(entries: &[Descriptor]) -> Result<&Descriptor, RegistryError> {
    let is_wasm = |entry: &&Descriptor| {
        let kind = entry.artifact_type.as_deref().unwrap_or_default();
        entry.platform.as_ref().is_some_and(|platform| matches!(&*platform.architecture, "wasm" | "wasm32"))
            || kind == COMPONENT
            || kind.starts_with("application/vnd.wasm.config")
    };
    let mut wasm = entries.iter().filter(is_wasm);
    match (wasm.next(), wasm.next(), entries) {
        (Some(entry), None, _) | (None, None, [entry]) => Ok(entry),
        (Some(_), Some(_), _) => {
            Err(RegistryError::NotAComponent("it is an index of several components; name one by its digest".to_owned()))
        }
        (None, ..) => {
            let platform = |entry: &Descriptor| {
                let platform = entry.platform.clone().unwrap_or_default();
                format!("{}/{}", platform.os, platform.architecture)
            };
            let platforms: Vec<String> = entries.iter().map(platform).take(8).collect();
            Err(RegistryError::NotAComponent(format!(
                "it is an index without a component, for {}",
                platforms.join(", ")
            )))
        }
    }
}

fn component_of(manifest: &Manifest) -> Result<&Descriptor, RegistryError> {
    let mut components = manifest.layers.iter().filter(|layer| COMPONENT_TYPES.contains(&&*layer.media_type));
    match (components.next(), components.next()) {
        (Some(component), None) => Ok(component),
        // Programs that take the first one and those that refuse it disagree on what it is.
        (Some(_), Some(_)) => Err(RegistryError::NotAComponent("it has more than one component".to_owned())),
        (None, _) => {
            let types: Vec<&str> = manifest.layers.iter().map(|layer| &*layer.media_type).take(8).collect();
            let is = |(prefix, what): &(&str, &'static str)| {
                types.iter().any(|own| own.starts_with(prefix)).then_some(*what)
            };
            Err(RegistryError::NotAComponent(match OTHERS.iter().find_map(is) {
                Some(what) => format!("it is {what}, and no WebAssembly component"),
                None => format!("none of its layers is a WebAssembly component: {}", types.join(", ")),
            }))
        }
    }
}

/// The annotations of a version that are shown, in their order, with the words for them.
pub const SHOWN: [(&str, &str); 8] = [
    ("org.opencontainers.image.title", "title"),
    ("org.opencontainers.image.description", "about"),
    ("org.opencontainers.image.version", "version"),
    ("org.opencontainers.image.authors", "authors"),
    ("org.opencontainers.image.vendor", "vendor"),
    ("org.opencontainers.image.licenses", "licence"),
    ("org.opencontainers.image.source", "source"),
    ("org.opencontainers.image.url", "url"),
];

/// Wharf's own annotations: grants that the component could use, one in each line, as `wharf grant` takes them; the
/// languages that it is made of; and a signature of minisign.
pub const GRANTS: &str = "io.github.wharf-mcp.grants";
pub const LANGUAGES: &str = "io.github.wharf-mcp.languages";
pub const MINISIG: &str = "io.github.wharf-mcp.minisig";

/// The annotations of what is published.
pub(super) fn annotations(pairs: impl IntoIterator<Item = (String, String)>) -> Annotations {
    pairs.into_iter().filter(|(_, value)| !value.is_empty()).collect()
}
