//! The registry protocol: the distribution specification of OCI 1.1, for one repository.

use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

use bytes::Bytes;
use http::header::{self, HeaderValue};
use http::{Method, Request, StatusCode, Uri};
use http_body_util::Full;
use serde::Deserialize;
use tokio::time::{Instant, sleep};

use super::auth::{self, Access, Challenge};
use super::credentials::{self, Credentials};
use super::digest::Sha256;
use super::download::Download;
use super::error::{RegistryError, said};
use super::manifest::{ACCEPTED, Descriptor, Document, INDEX, Index, MAX_SIZE};
use super::reference::Repository;
use super::{MAX_REDIRECTS, WHOLE};
use crate::json;
use crate::net::http::{Http, NamedBy, Received, form, is_loopback, require_tls, target_of};
use crate::net::target::Target;

/// How often a request is sent again after a temporary failure, and how long it waits first.
const RETRIES: u32 = 3;
const PAUSE: Duration = Duration::from_millis(500);
/// Bytes of an error's text.
const MAX_ERROR: u64 = 64 << 10;
/// Bytes of a list of tags or repositories, and its entries in all.
const MAX_LIST: u64 = 1 << 20;
const MAX_LISTED: usize = 10_000;
const MAX_PAGES: usize = 64;
/// Digests of content are in this header.
const CONTENT_DIGEST: &str = "docker-content-digest";

/// How a registry is reached.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RegistrySettings {
    /// Where the content is asked for in its place.
    pub mirror: Option<Repository>,
    /// Whether its redirects and token servers may be at private addresses.
    pub private: bool,
    /// Whether it has no TLS. If it is not said, a registry on this machine has none.
    pub http: Option<bool>,
}

/// A repository of a registry.
pub struct Registry<'a> {
    http: &'a Http,
    repository: Repository,
    target: Target,
    private: bool,
    access: Access,
    credentials: Option<Credentials>,
    /// What answered the last challenge.
    authorization: Mutex<Option<HeaderValue>>,
}

/// What is sent.
struct Sent<'a> {
    method: Method,
    /// The path and query, or an absolute URL of the registry.
    uri: &'a str,
    headers: Vec<(header::HeaderName, HeaderValue)>,
    body: Bytes,
}

impl<'a> Sent<'a> {
    fn get(uri: &'a str) -> Self {
        Self { method: Method::GET, uri, headers: Vec::new(), body: Bytes::new() }
    }
}

#[derive(Deserialize)]
struct Errors {
    #[serde(default)]
    errors: Vec<ErrorEntry>,
}

#[derive(Deserialize)]
struct ErrorEntry {
    #[serde(default)]
    code: String,
    #[serde(default)]
    message: String,
}

#[derive(Deserialize)]
struct Tags {
    tags: Option<Vec<String>>,
}

#[derive(Deserialize)]
struct Catalog {
    repositories: Option<Vec<String>>,
}

impl<'a> Registry<'a> {
    /// For reading; of its mirror, if it has one.
    ///
    /// # Errors
    /// If the credentials for it cannot be read.
    pub async fn for_pull(
        http: &'a Http,
        repository: &Repository,
        settings: &RegistrySettings,
    ) -> Result<Self, RegistryError> {
        let repository = settings.mirror.as_ref().unwrap_or(repository);
        Self::open(http, repository, settings, Access::Pull).await
    }

    /// For reading and writing.
    ///
    /// # Errors
    /// If the credentials for it cannot be read.
    pub async fn for_push(
        http: &'a Http,
        repository: &Repository,
        settings: &RegistrySettings,
    ) -> Result<Self, RegistryError> {
        Self::open(http, repository, settings, Access::Push).await
    }

    async fn open(
        http: &'a Http,
        repository: &Repository,
        settings: &RegistrySettings,
        access: Access,
    ) -> Result<Self, RegistryError> {
        let invalid =
            |why| RegistryError::protocol(format!("the registry {} cannot be used: {why}", repository.registry));
        let mut target = repository.target(settings.http == Some(true)).map_err(invalid)?;
        if settings.http.is_none() && is_loopback(&target) {
            // As docker does.
            target = repository.target(true).map_err(invalid)?;
        }
        Ok(Self {
            http,
            credentials: credentials::find(repository).await?,
            repository: repository.clone(),
            target,
            private: settings.private,
            access,
            authorization: Mutex::default(),
        })
    }

    /// The registry's address, for messages.
    pub fn host(&self) -> &str {
        &self.repository.registry
    }

    fn path(&self, rest: &str) -> String {
        format!("/v2/{}/{rest}", self.repository.path)
    }

    /// The bytes and the digest of what a tag or digest names.
    pub(super) async fn manifest(&self, version: &str) -> Result<(Vec<u8>, Sha256), RegistryError> {
        let path = self.path(&format!("manifests/{version}"));
        let mut sent = Sent::get(&path);
        sent.headers.push((header::ACCEPT, HeaderValue::from_static(ACCEPTED)));
        let received = self.again(|| self.send(&sent)).await?;
        let claimed = digest_in(&received);
        let bytes = received.text("the manifest", MAX_SIZE).await?;
        let found = Sha256::of(&bytes);
        if let Some(wanted) = Sha256::parse(version).or(claimed).filter(|wanted| *wanted != found) {
            return Err(RegistryError::Changed(format!(
                "{} gave another manifest than {wanted}: {found}",
                self.host()
            )));
        }
        Ok((bytes, found))
    }

    /// A small blob, checked.
    pub(super) async fn blob(
        &self,
        descriptor: &Descriptor,
        what: &'static str,
        limit: u64,
    ) -> Result<Vec<u8>, RegistryError> {
        let digest = descriptor.digest().map_err(RegistryError::protocol)?;
        if descriptor.size > limit {
            return Err(RegistryError::too_large(what, limit));
        }
        let path = self.path(&format!("blobs/{digest}"));
        let sent = Sent::get(&path);
        let bytes = self.again(async || Ok(self.send(&sent).await?.text(what, limit).await?)).await?;
        if Sha256::of(&bytes) != digest || bytes.len() as u64 != descriptor.size {
            return Err(RegistryError::Changed(format!("{what} does not match its digest {digest}")));
        }
        Ok(bytes)
    }

    /// Downloads a blob into a file, which goes on where an earlier attempt ended.
    pub(super) async fn download(&self, descriptor: &Descriptor, file: &Path) -> Result<(), RegistryError> {
        let digest = descriptor.digest().map_err(RegistryError::protocol)?;
        let path = self.path(&format!("blobs/{digest}"));
        let mut left = RETRIES;
        let mut pause = PAUSE;
        let until = Instant::now() + WHOLE;
        loop {
            if Instant::now() > until {
                return Err(RegistryError::TooSlow { host: self.host().to_owned() });
            }
            let mut download = Download::open(file, digest, descriptor.size)?;
            let before = download.length();
            match self.part(&path, &mut download).await {
                Ok(()) => return download.finish(),
                Err(error) if error.is_temporary() => {
                    // What made progress may go on as long as it does.
                    left = if download.length() > before { RETRIES } else { left };
                    left = left.checked_sub(1).ok_or(error)?;
                }
                Err(error) => return Err(error),
            }
            sleep(pause).await;
            pause = (pause * 2).min(PAUSE * 16);
        }
    }

    async fn part(&self, path: &str, download: &mut Download) -> Result<(), RegistryError> {
        if download.is_whole() {
            return Ok(());
        }
        let mut sent = Sent::get(path);
        if download.length() > 0
            && let Ok(range) = HeaderValue::try_from(format!("bytes={}-", download.length()))
        {
            sent.headers.push((header::RANGE, range));
        }
        let mut received = self.send(&sent).await?;
        if received.response.status() != StatusCode::PARTIAL_CONTENT || !starts_at(&received, download.length()) {
            download.restart()?;
        }
        let until = Instant::now() + WHOLE;
        while let Some(bytes) = received.next().await? {
            if Instant::now() > until {
                return Err(RegistryError::TooSlow { host: self.host().to_owned() });
            }
            download.write(&bytes)?;
        }
        if download.is_whole() {
            Ok(())
        } else {
            Err(RegistryError::protocol(format!("{} ended the download early", self.host())))
        }
    }

    /// The manifests that refer to this one: by the API, or by the tag that stands for it where a registry has none.
    pub(super) async fn referrers(&self, digest: Sha256) -> Result<Vec<Descriptor>, RegistryError> {
        let path = self.path(&format!("referrers/{digest}"));
        let sent = Sent::get(&path);
        let received = match self.again(|| self.send(&sent)).await {
            Ok(received) => {
                let kind = received.response.headers().get(header::CONTENT_TYPE);
                let is_index = kind.and_then(|kind| kind.to_str().ok()).is_some_and(|kind| kind.starts_with(INDEX));
                is_index.then_some(received)
            }
            Err(RegistryError::Status { status, .. }) if matches!(status.as_u16(), 400 | 404 | 405 | 406) => None,
            Err(error) => return Err(error),
        };
        let index = match received {
            Some(received) => {
                let bytes = received.text("the list of referrers", MAX_SIZE).await?;
                Document::parse(&bytes).map_err(RegistryError::protocol)?
            }
            None => Document::Index(self.fallback_index(digest).await?),
        };
        match index {
            Document::Index(index) => Ok(index.manifests),
            Document::Manifest(_) => Ok(Vec::new()),
        }
    }

    async fn fallback_index(&self, digest: Sha256) -> Result<Index, RegistryError> {
        match self.optional_manifest(&fallback_tag(digest)).await? {
            None => Ok(Index::default()),
            Some(bytes) => match Document::parse(&bytes).map_err(RegistryError::protocol)? {
                Document::Index(index) => Ok(index),
                Document::Manifest(_) => {
                    Err(RegistryError::protocol(format!("the tag {} is not a list of referrers", fallback_tag(digest))))
                }
            },
        }
    }

    /// A manifest that need not be there.
    pub(super) async fn optional_manifest(&self, version: &str) -> Result<Option<Vec<u8>>, RegistryError> {
        match self.manifest(version).await {
            Ok((bytes, _)) => Ok(Some(bytes)),
            Err(RegistryError::Status { status: StatusCode::NOT_FOUND, .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// All tags but those that stand for digests.
    ///
    /// # Errors
    /// If the registry does not answer as specified.
    pub async fn tags(&self) -> Result<Vec<String>, RegistryError> {
        let first = self.path("tags/list?n=1000");
        let of = |text: &str| json::read::<Tags>(text).ok().map(|page| page.tags.unwrap_or_default());
        let mut tags = self.listed(first, of).await?;
        tags.retain(|tag| !tag.starts_with("sha256-"));
        Ok(tags)
    }

    /// The repositories of a registry that lists them.
    ///
    /// # Errors
    /// If it does not.
    pub async fn repositories(&self) -> Result<Vec<String>, RegistryError> {
        let of = |text: &str| json::read::<Catalog>(text).ok().map(|page| page.repositories.unwrap_or_default());
        self.listed("/v2/_catalog?n=1000".to_owned(), of).await
    }

    async fn listed(
        &self,
        first: String,
        of: impl Fn(&str) -> Option<Vec<String>>,
    ) -> Result<Vec<String>, RegistryError> {
        let mut all = Vec::new();
        let mut next = Some(first);
        for _ in 0..MAX_PAGES {
            let Some(page) = next.filter(|_| all.len() < MAX_LISTED) else { break };
            let sent = Sent::get(&page);
            let received = self.again(|| self.send(&sent)).await?;
            next = next_page(&received);
            let text = received.text("a list", MAX_LIST).await?;
            let entries = std::str::from_utf8(&text).ok().and_then(&of);
            let entries =
                entries.ok_or_else(|| RegistryError::protocol(format!("{} gave no list", self.repository.registry)))?;
            if entries.is_empty() {
                break;
            }
            all.extend(entries);
        }
        all.truncate(MAX_LISTED);
        all.sort_unstable();
        all.dedup();
        Ok(all)
    }

    /// Uploads a blob that is not there yet.
    pub(super) async fn push_blob(&self, bytes: &Bytes) -> Result<(), RegistryError> {
        let digest = Sha256::of(bytes);
        let path = self.path(&format!("blobs/{digest}"));
        let head = Sent { method: Method::HEAD, ..Sent::get(&path) };
        match self.again(|| self.send(&head)).await {
            Ok(_) => return Ok(()),
            // Debian's registry answers 400 for one that is missing.
            Err(RegistryError::Status { status, .. }) if matches!(status.as_u16(), 400 | 404) => {}
            Err(error) => return Err(error),
        }
        let uploads = self.path("blobs/uploads/");
        let begin = Sent { method: Method::POST, ..Sent::get(&uploads) };
        let begun = self.again(|| self.send(&begin)).await?;
        let location = begun.response.headers().get(header::LOCATION).and_then(|value| value.to_str().ok());
        let location = location
            .ok_or_else(|| RegistryError::protocol(format!("{} said not where to upload", self.host())))?
            .to_owned();
        let separator = if location.contains('?') { '&' } else { '?' };
        let place = format!("{location}{separator}{}", form([("digest", &*digest.to_string())]));
        let kind = HeaderValue::from_static("application/octet-stream");
        let put = Sent {
            method: Method::PUT,
            headers: vec![(header::CONTENT_TYPE, kind)],
            body: bytes.clone(),
            ..Sent::get(&place)
        };
        self.send(&put).await.map(drop)
    }

    /// Uploads a manifest under a tag or its digest.
    pub(super) async fn push_manifest(
        &self,
        version: &str,
        media_type: &'static str,
        bytes: Vec<u8>,
    ) -> Result<Received, RegistryError> {
        let path = self.path(&format!("manifests/{version}"));
        let put = Sent {
            method: Method::PUT,
            headers: vec![(header::CONTENT_TYPE, HeaderValue::from_static(media_type))],
            body: bytes.into(),
            ..Sent::get(&path)
        };
        self.send(&put).await
    }

    /// Sends a request again after a temporary failure.
    async fn again<T>(&self, once: impl AsyncFn() -> Result<T, RegistryError>) -> Result<T, RegistryError> {
        let mut pause = PAUSE;
        for _ in 0..RETRIES {
            match once().await {
                Err(error) if error.is_temporary() => sleep(pause).await,
                result => return result,
            }
            pause *= 2;
        }
        once().await
    }

    /// Sends a request with what the registry asks for, and follows redirects, which registries use for blobs.
    ///
    /// # Errors
    /// Also for a status that is no success.
    async fn send(&self, sent: &Sent<'_>) -> Result<Received, RegistryError> {
        let received = self.send_once(sent).await?;
        if received.response.status() != StatusCode::UNAUTHORIZED {
            return self.accept(received, sent).await;
        }
        let Some(challenge) = Challenge::of(received.response.headers()) else {
            return self.accept(received, sent).await;
        };
        let asked = (&self.repository, self.access);
        let answer =
            auth::answer(self.http, challenge, self.credentials.as_ref(), asked, &self.target, self.private).await?;
        if answer.is_none() {
            return self.accept(received, sent).await;
        }
        *self.authorization.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = answer;
        let received = self.send_once(sent).await?;
        self.accept(received, sent).await
    }

    async fn send_once(&self, sent: &Sent<'_>) -> Result<Received, RegistryError> {
        let absolute =
            if sent.uri.starts_with('/') { format!("{}{}", self.target, sent.uri) } else { sent.uri.to_owned() };
        let uri: Uri =
            absolute.parse().map_err(|_| RegistryError::protocol(format!("{} named an invalid URL", self.host())))?;
        let target = target_of(&uri)?;
        let is_own = target == self.target;
        let mut request = request(sent, uri)?;
        if is_own && let Some(value) = &*self.authorization.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) {
            request.headers_mut().insert(header::AUTHORIZATION, value.clone());
        }
        require_tls(&self.target, &target)?;
        Ok(self.http.send(request, &target, self.named(is_own)).await?)
    }

    fn named(&self, is_own: bool) -> NamedBy<'_> {
        if is_own || self.private { NamedBy::Person } else { NamedBy::Server(self.host()) }
    }

    async fn accept(&self, mut received: Received, sent: &Sent<'_>) -> Result<Received, RegistryError> {
        let mut at = self.target.clone();
        for _ in 0..=MAX_REDIRECTS {
            let status = received.response.status();
            if status.is_success() {
                return Ok(received);
            }
            let redirection = if sent.method.is_safe() { received.redirection(&at)? } else { None };
            let Some((uri, target)) = redirection else {
                return Err(refused(received, at.authority(), status).await);
            };
            // Without the authorization, and only to where a server may lead.
            at = target;
            received = self.http.send(request(sent, uri)?, &at, self.named(at == self.target)).await?;
        }
        Err(RegistryError::protocol(format!("{} redirected more than {MAX_REDIRECTS} times", self.host())))
    }
}

fn request(sent: &Sent<'_>, uri: Uri) -> Result<Request<Full<Bytes>>, RegistryError> {
    let mut request = Request::new(Full::new(sent.body.clone()));
    *request.method_mut() = sent.method.clone();
    *request.uri_mut() = uri;
    for (name, value) in &sent.headers {
        request.headers_mut().insert(name, value.clone());
    }
    Ok(request)
}

/// The error that a server answered with, in its own words.
async fn refused(received: Received, host: String, status: StatusCode) -> RegistryError {
    let text = received.text("an error", MAX_ERROR).await.unwrap_or_default();
    let errors = std::str::from_utf8(&text).ok().and_then(|text| json::read::<Errors>(text).ok());
    let first = errors.and_then(|errors| errors.errors.into_iter().next());
    let message = first.map_or_else(String::new, |error| {
        let words = if error.message.is_empty() { error.code } else { error.message };
        format!(": {}", said(&words))
    });
    RegistryError::Status { host, status, message }
}

fn digest_in(received: &Received) -> Option<Sha256> {
    Sha256::parse(received.response.headers().get(CONTENT_DIGEST)?.to_str().ok()?)
}

/// Whether a partial response begins at that byte.
fn starts_at(received: &Received, offset: u64) -> bool {
    let range = received.response.headers().get(header::CONTENT_RANGE).and_then(|value| value.to_str().ok());
    range.is_some_and(|range| range.starts_with(&format!("bytes {offset}-")))
}

/// The tag under which a registry without an API for them has the referrers of a manifest.
fn fallback_tag(digest: Sha256) -> String {
    format!("sha256-{}", digest.hex())
}

/// The next page of a list, by its `Link`: below the registry, since another place is none of its pages.
fn next_page(received: &Received) -> Option<String> {
    let link = received.response.headers().get(header::LINK)?.to_str().ok()?;
    let (url, rest) = link.strip_prefix('<')?.split_once('>')?;
    if !rest.contains("next") {
        return None;
    }
    let uri: Uri = url.parse().ok()?;
    uri.path_and_query().map(|path| path.as_str().to_owned()).filter(|path| path.starts_with("/v2/"))
}
