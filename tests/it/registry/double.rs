//! A registry that a test fills, and that answers as it is told: with referrers, redirects, cut bodies.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use ring::digest::{SHA256, digest};
use serde_json::{Value, json};
use tokio_rustls::rustls::ServerConfig;

use crate::support::site::{Connection, Site};

pub(super) const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
pub(super) const INDEX: &str = "application/vnd.oci.image.index.v1+json";
pub(super) const WASM: &str = "application/wasm";
pub(super) const WASM_CONFIG: &str = "application/vnd.wasm.config.v0+json";

/// What is asked, and what is to be answered in place of the content.
pub(super) type Hook = Box<dyn Fn(&str, &str) -> Option<Answer> + Send>;

#[derive(Clone, Default)]
pub(super) struct Answer {
    pub(super) status: &'static str,
    pub(super) headers: String,
    pub(super) body: Vec<u8>,
    /// Bytes of the body that are sent before the connection is closed.
    pub(super) cut: Option<usize>,
}

#[derive(Default)]
struct Content {
    manifests: BTreeMap<String, Vec<u8>>,
    blobs: BTreeMap<String, Vec<u8>>,
    /// By digest of the subject; `None`: the registry has no such API.
    referrers: Option<BTreeMap<String, Vec<Value>>>,
    hook: Option<Hook>,
}

pub(super) struct Double {
    site: Site,
    content: Arc<Mutex<Content>>,
}

pub(super) fn sha256(bytes: &[u8]) -> String {
    let hex: String = digest(&SHA256, bytes).as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hex}")
}

pub(super) fn descriptor(media_type: &str, bytes: &[u8]) -> Value {
    json!({ "mediaType": media_type, "digest": sha256(bytes), "size": bytes.len() })
}

impl Double {
    pub(super) fn start() -> Self {
        Self::on(|content| {
            Site::start(move |head, connection| answer(&content.lock().expect("the content"), head, connection))
        })
    }

    pub(super) fn with_tls(config: ServerConfig) -> Self {
        Self::on(|content| {
            Site::with_tls(config, move |head, connection| {
                answer(&content.lock().expect("the content"), head, connection);
            })
        })
    }

    fn on(site: impl FnOnce(Arc<Mutex<Content>>) -> Site) -> Self {
        let content = Arc::new(Mutex::new(Content::default()));
        Self { site: site(content.clone()), content }
    }

    pub(super) fn port(&self) -> u16 {
        self.site.port
    }

    pub(super) fn with_referrers(self) -> Self {
        self.content.lock().expect("the content").referrers = Some(BTreeMap::new());
        self
    }

    /// Answers requests of a method and path in place of the content.
    pub(super) fn hook(&self, hook: impl Fn(&str, &str) -> Option<Answer> + Send + 'static) {
        self.content.lock().expect("the content").hook = Some(Box::new(hook));
    }

    pub(super) fn host(&self) -> String {
        format!("localhost:{}", self.site.port)
    }

    pub(super) fn reference(&self, version: &str) -> String {
        format!("oci://{}/acme/p{version}", self.host())
    }

    pub(super) fn heads(&self) -> Vec<String> {
        self.site.heads()
    }

    pub(super) fn blob(&self, media_type: &str, bytes: &[u8]) -> Value {
        self.content.lock().expect("the content").blobs.insert(sha256(bytes), bytes.to_owned());
        descriptor(media_type, bytes)
    }

    /// Puts a manifest under its digest, and under a tag; returns the digest.
    pub(super) fn manifest(&self, tag: Option<&str>, manifest: &Value) -> String {
        let bytes = manifest.to_string().into_bytes();
        let digest = sha256(&bytes);
        let mut content = self.content.lock().expect("the content");
        content.manifests.extend(tag.map(|tag| (tag.to_owned(), bytes.clone())));
        content.manifests.insert(digest.clone(), bytes.clone());
        if let (Some(subject), Some(referrers)) = (manifest["subject"]["digest"].as_str(), &mut content.referrers) {
            let mut entry = descriptor(MANIFEST, &bytes);
            entry["artifactType"] = manifest["artifactType"].clone();
            referrers.entry(subject.to_owned()).or_default().push(entry);
        }
        digest
    }

    /// Publishes a component as most programs do; returns the manifest's digest.
    pub(super) fn publish(&self, tag: &str, component: &[u8], annotations: Value) -> String {
        let layer = self.blob(WASM, component);
        self.publish_layers(tag, &[layer], annotations)
    }

    pub(super) fn publish_layers(&self, tag: &str, layers: &[Value], annotations: Value) -> String {
        let config = self.blob(WASM_CONFIG, b"{}");
        let manifest = json!({
            "schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": layers, "annotations": annotations,
        });
        self.manifest(Some(tag), &manifest)
    }
}

fn answer(content: &Content, head: &str, connection: &mut dyn Connection) {
    let mut words = head.split_ascii_whitespace();
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let range =
        head.lines().find_map(|line| line.to_ascii_lowercase().strip_prefix("range: bytes=").map(str::to_owned));
    let answer = content.hook.as_ref().and_then(|hook| hook(head, path)).unwrap_or_else(|| of(content, path));
    let Answer { status, mut headers, mut body, cut } = answer;
    let mut status = status;
    let from = range.and_then(|range| range.trim_end_matches('-').parse::<usize>().ok());
    if let Some(from) = from.filter(|from| status == "200 OK" && *from < body.len()) {
        status = "206 Partial Content";
        headers += &format!("Content-Range: bytes {from}-{}/{}\r\n", body.len() - 1, body.len());
        body.drain(..from);
    }
    let head = format!("HTTP/1.1 {status}\r\n{headers}Content-Length: {}\r\nConnection: close\r\n\r\n", body.len());
    let _ = connection.write_all(head.as_bytes());
    if method != "HEAD" {
        let _ = connection.write_all(&body[..cut.unwrap_or(body.len()).min(body.len())]);
    }
    let _ = connection.flush();
}

fn of(content: &Content, path: &str) -> Answer {
    let ok = |headers: &str, body: &[u8]| Answer {
        status: "200 OK",
        headers: headers.to_owned(),
        body: body.to_owned(),
        ..Answer::default()
    };
    let missing = Answer {
        status: "404 Not Found",
        headers: "Content-Type: application/json\r\n".to_owned(),
        body: br#"{"errors":[{"code":"MANIFEST_UNKNOWN","message":"manifest unknown"}]}"#.to_vec(),
        ..Answer::default()
    };
    let Some((kind, name)) = path.strip_prefix("/v2/acme/p/").and_then(|rest| rest.split_once('/')) else {
        return missing;
    };
    match (kind, &content.referrers) {
        ("manifests", _) => content.manifests.get(name).map(|bytes| {
            let kind = if bytes.starts_with(b"{\"manifests\"") { INDEX } else { MANIFEST };
            ok(&format!("Content-Type: {kind}\r\nDocker-Content-Digest: {}\r\n", sha256(bytes)), bytes)
        }),
        ("blobs", _) => content.blobs.get(name).map(|bytes| ok("", bytes)),
        ("referrers", Some(referrers)) => {
            let entries = referrers.get(name).cloned().unwrap_or_default();
            let index = json!({ "schemaVersion": 2, "mediaType": INDEX, "manifests": entries }).to_string();
            Some(ok(&format!("Content-Type: {INDEX}\r\n"), index.as_bytes()))
        }
        _ => None,
    }
    .unwrap_or(missing)
}
