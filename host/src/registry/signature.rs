//! Signatures of cosign with a key: ECDSA over P-256 with SHA-256.
//!
//! In its three places: the tag `sha256-….sig`, the same as a referrer, and bundles of Sigstore as referrers. What is
//! signed names the manifest's digest, which is compared. Certificates of an identity (keyless) and the transparency log
//! are not looked at.

use std::collections::BTreeMap;
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_ASN1, ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair as _, UnparsedPublicKey,
};
use serde::Deserialize;
use serde_json::json;

use super::base64::decoded_in_any;
use super::digest::Sha256;
use super::error::RegistryError;
use super::manifest::{Annotations, Descriptor, Document, MANIFEST, Manifest};
use super::reference::Repository;
use super::source::Source;
use crate::json;
use crate::net::http::HttpError;

const SIMPLE_SIGNING: &str = "application/vnd.dev.cosign.simplesigning.v1+json";
const SIGNATURE_TYPE: &str = "application/vnd.dev.cosign.artifact.sig.v1+json";
const BUNDLE_TYPE: &str = "application/vnd.dev.sigstore.bundle";
const SIGNED_TYPE: &str = "cosign container image signature";
const SIGNATURE: &str = "dev.cosignproject.cosign/signature";
const PAYLOAD_TYPE: &str = "application/vnd.in-toto+json";
const PREDICATE: &str = "https://sigstore.dev/cosign/sign/v1";
const STATEMENTS: [&str; 2] = ["https://in-toto.io/Statement/v1", "https://in-toto.io/Statement/v0.1"];
const IMAGE_CONFIG: &str = "application/vnd.oci.image.config.v1+json";

/// Signatures that are looked at, and bytes of each.
const MAX_SIGNATURES: usize = 64;
const MAX_PAYLOAD: u64 = 64 << 10;
const MAX_BUNDLE: u64 = 1 << 20;

/// What is before the point in the DER form of a P-256 key (RFC 5480).
const SPKI: [u8; 26] = [
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x86, 0x48, 0xce,
    0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
];
const POINT: usize = 65;

/// A public key of cosign.
#[derive(Clone, PartialEq, Eq)]
pub struct PublicKey {
    point: [u8; POINT],
}

impl PublicKey {
    /// From `cosign.pub`.
    ///
    /// # Errors
    /// If it is not a P-256 key in PEM.
    pub fn from_pem(text: &str) -> Result<Self, &'static str> {
        let der = pem(text, "PUBLIC KEY").ok_or("it is not a public key in PEM, of BEGIN PUBLIC KEY")?;
        let point = der.strip_prefix(&SPKI[..]).and_then(|point| point.try_into().ok());
        Ok(Self { point: point.ok_or("it is not a P-256 key, which cosign makes by default")? })
    }

    fn verifies(&self, signed: &Signed) -> bool {
        UnparsedPublicKey::new(&ECDSA_P256_SHA256_ASN1, &self.point).verify(&signed.message, &signed.signature).is_ok()
    }

    pub fn to_pem(&self) -> String {
        let text = STANDARD.encode([&SPKI[..], &self.point].concat());
        let (first, second) = text.split_at(64);
        format!("-----BEGIN PUBLIC KEY-----\n{first}\n{second}\n-----END PUBLIC KEY-----\n")
    }
}

/// The hash of its DER form, which names it.
impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cosign key {}", Sha256::of(&[&SPKI[..], &self.point].concat()).short())
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// The DER of the first block of that kind.
fn pem(text: &str, kind: &str) -> Option<Vec<u8>> {
    let (_, rest) = text.split_once(&format!("-----BEGIN {kind}-----"))?;
    let (body, _) = rest.split_once(&format!("-----END {kind}-----"))?;
    let body: String = body.split_ascii_whitespace().collect();
    STANDARD.decode(body).ok()
}

/// Keys that are not read: how their files begin, and what to do with them.
const OTHER_KEYS: [(&str, (&str, &str)); 7] = [
    ("-----BEGIN ENCRYPTED SIGSTORE", OF_COSIGN),
    ("-----BEGIN ENCRYPTED COSIGN", OF_COSIGN),
    (
        "-----BEGIN ENCRYPTED PRIVATE KEY",
        ("it is encrypted", "decrypt it into a file that only you can read: openssl pkey -in FILE -out key.pem"),
    ),
    (
        "-----BEGIN EC PRIVATE KEY",
        (
            "it is in the form of SEC 1, not of PKCS#8",
            "convert it: openssl pkcs8 -topk8 -nocrypt -in FILE -out key.pem",
        ),
    ),
    (
        "-----BEGIN OPENSSH PRIVATE KEY",
        ("it is a key of OpenSSH", "convert a copy of it, which this changes: ssh-keygen -p -N '' -m PKCS8 -f FILE"),
    ),
    (
        "untrusted comment: minisign",
        (
            "it is a key of minisign",
            "sign with it first, and push without --key: minisign -S -m COMPONENT; the signature beside the file is published",
        ),
    ),
    ("-----BEGIN PUBLIC KEY", ("it is the public key", "name the private key that belongs to it")),
];
const OF_COSIGN: (&str, &str) = (
    "it is an encrypted key of cosign",
    "push without --key, then sign what that printed: cosign sign --key cosign.key HOST/PATH@sha256:…",
);

/// A key that signs.
pub struct SigningKey {
    pair: EcdsaKeyPair,
    random: SystemRandom,
}

impl SigningKey {
    /// From a key in PKCS#8 and PEM, as `openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256` writes it.
    ///
    /// # Errors
    /// If it is something else: why, and what to do.
    pub fn from_pem(text: &str) -> Result<Self, (&'static str, &'static str)> {
        // What begins so is a file of cosign, openssl or ssh-keygen.
        for (start, why) in OTHER_KEYS {
            if text.contains(start) {
                return Err(why);
            }
        }
        let make = "make one with: openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out key.pem";
        let der = pem(text, "PRIVATE KEY").ok_or(("it is not a private key in PKCS#8 and PEM", make))?;
        let random = SystemRandom::new();
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &der, &random);
        Ok(Self { pair: pair.map_err(|_| ("it is not a P-256 key", make))?, random })
    }

    pub fn public(&self) -> Option<PublicKey> {
        Some(PublicKey { point: self.pair.public_key().as_ref().try_into().ok()? })
    }

    /// Whether a layer is a signature of that payload by this key.
    pub(super) fn signed(&self, layer: &Descriptor, payload: &[u8]) -> bool {
        let read = of_payload(layer, payload.to_owned()).filter(|_| layer.digest == Sha256::of(payload).to_string());
        read.zip(self.public()).is_some_and(|(signed, public)| public.verifies(&signed))
    }

    /// The manifest of a signature for the tag of cosign, its configuration and its payload.
    pub(super) fn sign(&self, repository: &Repository, digest: Sha256) -> Result<SignatureManifest, RegistryError> {
        let payload = json!({
            "critical": {
                "identity": { "docker-reference": repository.to_string() },
                "image": { "docker-manifest-digest": digest.to_string() },
                "type": SIGNED_TYPE,
            },
            "optional": null,
        })
        .to_string();
        let signed = self.pair.sign(&self.random, payload.as_bytes());
        let signature = signed.map_err(|_| RegistryError::Signature("the key failed to sign".to_owned()))?;
        let mut layer = Descriptor::of(SIMPLE_SIGNING, payload.as_bytes());
        layer.annotations.insert(SIGNATURE.to_owned(), STANDARD.encode(signature));
        let config = json!({
            "architecture": "", "os": "", "config": {},
            "rootfs": { "type": "layers", "diff_ids": [layer.digest] },
        })
        .to_string();
        let manifest = Manifest {
            schema_version: 2,
            media_type: MANIFEST.to_owned(),
            artifact_type: None,
            config: Descriptor::of(IMAGE_CONFIG, config.as_bytes()),
            layers: vec![layer],
            subject: None,
            annotations: Annotations::new(),
        };
        Ok(SignatureManifest { manifest, config, payload })
    }
}

/// What is uploaded for a signature.
pub(super) struct SignatureManifest {
    pub(super) manifest: Manifest,
    pub(super) config: String,
    pub(super) payload: String,
}

/// The tag under which cosign looks for signatures of a manifest.
pub(super) fn tag(digest: Sha256) -> String {
    format!("sha256-{}.sig", digest.hex())
}

/// A message that says which manifest it is for, and a signature of it.
struct Signed {
    message: Vec<u8>,
    signature: Vec<u8>,
    /// The manifest that it is for.
    digest: Sha256,
}

/// The signatures of a manifest.
#[derive(Default)]
pub struct SignaturesOf {
    found: Vec<Signed>,
    /// Also those that are of a form that is not read.
    count: usize,
    /// The manifests that have them, with the version under which they are known.
    pub(super) manifests: Vec<(String, Vec<u8>)>,
}

impl SignaturesOf {
    /// Looks in all places. What cannot be read counts as no signature.
    pub(super) async fn find(source: &Source<'_>, digest: Sha256) -> Result<Self, RegistryError> {
        let mut all = Self::default();
        let tag = tag(digest);
        if let Some(bytes) = source.optional_manifest(&tag).await? {
            all.read(source, &bytes).await?;
            all.manifests.push((tag, bytes));
        }
        for descriptor in source.referrers(digest).await?.into_iter().take(MAX_SIGNATURES) {
            let kind = descriptor.artifact_type.as_deref().unwrap_or_default();
            // Some registries' lists have no type: then the manifest has it.
            if !kind.is_empty() && kind != SIGNATURE_TYPE && !kind.starts_with(BUNDLE_TYPE) {
                continue;
            }
            if let Some(bytes) = source.optional_manifest(&descriptor.digest).await? {
                let before = all.count;
                all.read(source, &bytes).await?;
                if all.count > before {
                    all.manifests.push((descriptor.digest, bytes));
                }
            }
        }
        Ok(all)
    }

    async fn read(&mut self, source: &Source<'_>, bytes: &[u8]) -> Result<(), RegistryError> {
        let Ok(Document::Manifest(manifest)) = Document::parse(bytes) else { return Ok(()) };
        for layer in &manifest.layers {
            if self.count == MAX_SIGNATURES {
                return Ok(());
            }
            let is_bundle = layer.media_type.starts_with(BUNDLE_TYPE);
            if !is_bundle && layer.media_type != SIMPLE_SIGNING {
                continue;
            }
            self.count += 1;
            let limit = if is_bundle { MAX_BUNDLE } else { MAX_PAYLOAD };
            // Whoever may write to the repository may have put it there: one that is damaged is none, and hides no other.
            let blob = match source.blob(layer, "a signature", limit).await {
                Err(
                    RegistryError::Http(HttpError::TooLarge { .. } | HttpError::Protocol(_))
                    | RegistryError::Changed(_),
                ) => {
                    continue;
                }
                blob => blob?,
            };
            let read = if is_bundle { of_bundle(&blob) } else { of_payload(layer, blob) };
            self.found.extend(read);
        }
        Ok(())
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The first of these keys that signed one of these manifests.
    pub fn by<'k>(&self, keys: impl IntoIterator<Item = &'k PublicKey>, manifests: &[Sha256]) -> Option<&'k PublicKey> {
        let is_of = |key: &&PublicKey| {
            self.found.iter().any(|signed| manifests.contains(&signed.digest) && key.verifies(signed))
        };
        keys.into_iter().find(is_of)
    }
}

/// The signature of a payload in cosign's own form.
fn of_payload(layer: &Descriptor, message: Vec<u8>) -> Option<Signed> {
    #[derive(Deserialize)]
    struct Payload {
        critical: Critical,
    }
    #[derive(Deserialize)]
    struct Critical {
        image: Image,
        #[serde(rename = "type")]
        kind: String,
    }
    #[derive(Deserialize)]
    struct Image {
        #[serde(rename = "docker-manifest-digest", alias = "Docker-manifest-digest")]
        digest: String,
    }
    let payload: Payload = json::read(std::str::from_utf8(&message).ok()?).ok()?;
    // The same key may sign other things.
    if payload.critical.kind != SIGNED_TYPE {
        return None;
    }
    let digest = Sha256::parse(&payload.critical.image.digest)?;
    Some(Signed { signature: decoded_in_any(layer.annotations.get(SIGNATURE)?)?, message, digest })
}

/// The signature of a bundle with a DSSE envelope (github.com/secure-systems-lab/dsse).
fn of_bundle(bytes: &[u8]) -> Option<Signed> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Bundle {
        dsse_envelope: Envelope,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Envelope {
        payload: String,
        payload_type: String,
        signatures: Vec<EnvelopeSignature>,
    }
    #[derive(Deserialize)]
    struct EnvelopeSignature {
        sig: String,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Statement {
        #[serde(rename = "_type")]
        kind: String,
        predicate_type: String,
        subject: Vec<Subject>,
    }
    #[derive(Deserialize)]
    struct Subject {
        digest: BTreeMap<String, String>,
    }
    let bundle: Bundle = json::read(std::str::from_utf8(bytes).ok()?).ok()?;
    let Envelope { payload, payload_type, signatures } = bundle.dsse_envelope;
    let ([EnvelopeSignature { sig }], PAYLOAD_TYPE) = (&signatures[..], &*payload_type) else { return None };
    let payload = decoded_in_any(&payload)?;
    let statement: Statement = json::read(std::str::from_utf8(&payload).ok()?).ok()?;
    // Other statements say something about a manifest, and not that it is the signer's.
    let ([subject], PREDICATE, true) =
        (&statement.subject[..], &*statement.predicate_type, STATEMENTS.contains(&&*statement.kind))
    else {
        return None;
    };
    let digest = Sha256::parse(&format!("sha256:{}", subject.digest.get("sha256")?))?;
    let mut message = format!("DSSEv1 {} {payload_type} {} ", payload_type.len(), payload.len()).into_bytes();
    message.extend_from_slice(&payload);
    Some(Signed { message, signature: decoded_in_any(sig)?, digest })
}
