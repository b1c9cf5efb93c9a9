//! Manifests and indexes: the image specification of OCI 1.1.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::digest::Sha256;
use crate::json;

pub(super) const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
pub(super) const INDEX: &str = "application/vnd.oci.image.index.v1+json";
/// What a registry may answer with, as the header `Accept`.
pub(super) const ACCEPTED: &str = "application/vnd.oci.image.manifest.v1+json, \
     application/vnd.oci.image.index.v1+json, application/vnd.docker.distribution.manifest.v2+json, \
     application/vnd.docker.distribution.manifest.list.v2+json";

/// Bytes of a manifest: registries must take 4 MiB.
pub(super) const MAX_SIZE: u64 = 4 << 20;
/// Layers, and manifests of an index.
const MAX_ENTRIES: usize = 1024;

pub(super) type Annotations = BTreeMap<String, String>;

#[derive(Debug, Clone, Default, Deserialize, Serialize, PartialEq)]
#[serde(rename_all = "camelCase")]
pub(super) struct Descriptor {
    pub(super) media_type: String,
    pub(super) digest: String,
    pub(super) size: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) artifact_type: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) platform: Option<Platform>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) annotations: Annotations,
}

#[derive(Debug, Clone, Default, Deserialize, Serialize, PartialEq)]
pub(super) struct Platform {
    #[serde(default)]
    pub(super) architecture: String,
    #[serde(default)]
    pub(super) os: String,
}

impl Descriptor {
    pub(super) fn of(media_type: &str, bytes: &[u8]) -> Self {
        Self {
            media_type: media_type.to_owned(),
            digest: Sha256::of(bytes).to_string(),
            size: bytes.len() as u64,
            ..Self::default()
        }
    }

    pub(super) fn digest(&self) -> Result<Sha256, String> {
        Sha256::parse(&self.digest).ok_or_else(|| format!("a digest is not SHA-256: {:?}", self.digest))
    }
}

#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Manifest {
    pub(super) schema_version: u32,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(super) media_type: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) artifact_type: Option<String>,
    pub(super) config: Descriptor,
    pub(super) layers: Vec<Descriptor>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) subject: Option<Descriptor>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) annotations: Annotations,
}

#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Index {
    pub(super) schema_version: u32,
    #[serde(default)]
    pub(super) media_type: String,
    pub(super) manifests: Vec<Descriptor>,
}

impl Default for Index {
    fn default() -> Self {
        Self { schema_version: 2, media_type: INDEX.to_owned(), manifests: Vec::new() }
    }
}

/// What a reference leads to.
pub(super) enum Document {
    Manifest(Box<Manifest>),
    Index(Index),
}

impl Document {
    /// By what is in it: a media type in a header may say something else, and two programs would read two things.
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, String> {
        let text = std::str::from_utf8(bytes).map_err(|_| "the manifest is not UTF-8".to_owned())?;
        let wrong = |error: serde_json::Error| format!("the manifest is not as OCI specifies it: {error}");
        let members: BTreeMap<String, serde_json::Value> = json::read(text).map_err(wrong)?;
        let (has_layers, has_manifests) = (members.contains_key("layers"), members.contains_key("manifests"));
        let (document, entries) = match (has_layers, has_manifests) {
            (true, false) => {
                let manifest: Manifest = json::read(text).map_err(wrong)?;
                let entries = manifest.layers.len();
                (Self::Manifest(Box::new(manifest)), entries)
            }
            (false, true) => {
                let index: Index = json::read(text).map_err(wrong)?;
                let entries = index.manifests.len();
                (Self::Index(index), entries)
            }
            _ => return Err("the manifest has neither layers nor manifests, or both".to_owned()),
        };
        if entries > MAX_ENTRIES {
            return Err(format!("the manifest has more than {MAX_ENTRIES} entries"));
        }
        Ok(document)
    }
}
