//! Gets a component from where it is published into a file of its own, with what is known of it. Nothing of it runs here.

use std::fs::File;
use std::mem;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use bytesize::ByteSize;
use tokio::time::timeout;
use wharf_report::{ShowPath as _, line};

use super::dev;
use super::options::Options;
use super::origins;
use crate::config::{self, Config, GrantWord, PublisherKey, add_grants};
use crate::net::http::{Http, HttpError};
use crate::os::paths::absolute;
use crate::os::private::OpenMode;
use crate::os::{files, private};
use crate::plugin::{MAX_COMPONENT, PluginId, Signatures, declared, read_component, signature_file};
use crate::registry::{
    Artifact, GRANTS, Layout, MINISIG, PublicKey, Reference, Registry, RegistryError, Repository, SCHEME, SHOWN,
    Sha256, Source, download, save, url,
};
use crate::report::{Failure, Screen};
use crate::text::printable;

/// Bytes of a public key's file.
const MAX_KEY: u64 = 64 << 10;
const MAX_SIGNATURE: u64 = 8 << 10;
/// What an interrupted download left is kept so long.
const KEPT: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// For a manifest and all signatures of it.
const FINDING: Duration = Duration::from_secs(120);
/// Wishes that are shown.
const MAX_WISHES: usize = 64;

/// Where a component is published.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Origin {
    Registry(Reference),
    Url(http::Uri),
    File(PathBuf),
}

impl Origin {
    /// # Errors
    /// If it is none of these.
    pub(super) fn parse(text: &str) -> Result<Self, Failure> {
        if text.get(..SCHEME.len()).is_some_and(|scheme| scheme.eq_ignore_ascii_case(SCHEME)) {
            return Ok(Self::Registry(
                text.parse().map_err(|error| Failure::usage(format!("read the reference: {error}")))?,
            ));
        }
        if let Some(uri) = url(text) {
            // It would be written into wharf.lock, which is committed.
            if uri.authority().is_some_and(|authority| authority.as_str().contains('@')) {
                return Err(Failure::usage("get a plugin from a URL with a user or password")
                    .hint("publish it in a registry, whose credentials docker login keeps".to_owned()));
            }
            return Ok(Self::Url(uri));
        }
        if let Some((scheme, _)) = text.split_once("://") {
            return Err(Failure::usage(format!("get a plugin from {scheme}://"))
                .hint("write oci://HOST/PATH:TAG, https://… or the path of a file".to_owned()));
        }
        let path = PathBuf::from(text);
        if path.is_dir() {
            return Err(Failure::usage(format!("get a plugin from {}: it is a folder", path.shown()))
                .hint("name a .wasm file in it, or oci://HOST/PATH:TAG".to_owned()));
        }
        if path.exists() {
            return Ok(Self::File(path));
        }
        let as_reference = format!("{SCHEME}{text}");
        let hint = match as_reference.parse::<Reference>() {
            Ok(reference) if reference.repository.registry.contains(['.', ':']) => {
                format!("for a registry, write oci:// before it: {reference}")
            }
            _ => "write oci://HOST/PATH:TAG, https://… or the path of a file".to_owned(),
        };
        Err(Failure::usage(format!("find the file {}", path.shown())).hint(hint))
    }

    /// The name that the plugin has unless it is given another one.
    pub(super) fn name(&self) -> Result<PluginId, Failure> {
        let name = match self {
            Self::Registry(reference) => reference.repository.name().to_owned(),
            Self::Url(uri) => uri.path().rsplit('/').next().unwrap_or_default().to_owned(),
            Self::File(path) => path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        };
        PluginId::of_file(name.strip_suffix(".wasm").unwrap_or(&name))
            .map_err(|error| Failure::usage(error.to_string()).hint("give it a name: --name NAME".to_owned()))
    }

    /// As it is recorded.
    pub(super) fn text(&self) -> String {
        match self {
            Self::Registry(reference) => reference.to_string(),
            Self::Url(uri) => uri.to_string(),
            Self::File(path) => absolute(path).shown().to_string(),
        }
    }
}

/// A folder for one download, with the file of its component; that goes with it.
struct Staged {
    folder: PathBuf,
    path: PathBuf,
    /// While it is held, no other process uses the folder. Last: what is in the folder goes before it is released.
    _turn: Option<File>,
}

impl Staged {
    /// Puts a signature of minisign beside the component.
    fn sign(&self, signature: &str) -> Result<(), Failure> {
        private::write(&signature_file(&self.path), &[signature.as_bytes()], private::Durability::Deferred)
            .map_err(|error| Failure::new(format!("write the signature: {error}")))
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        // A part of a download stays: the next command goes on with it, or removes it when it is old.
        let _ = std::fs::remove_file(&self.path);
        let _ = std::fs::remove_file(signature_file(&self.path));
        let _ = std::fs::remove_dir(&self.folder);
    }
}

/// A version that a reference names, and where it was found.
pub(super) struct Resolved<'a> {
    reference: &'a Reference,
    pub(super) artifact: Artifact,
    pub(super) source: Source<'a>,
}

/// What is shown of where a component is from.
pub(super) struct Published {
    /// The reference, URL or path.
    pub(super) source: String,
    /// Lines on that, and on what its publisher says of it.
    pub(super) about: String,
}

/// A component in a file, which goes with it.
pub(super) struct Fetched {
    staged: Staged,
    pub(super) digest: Option<Sha256>,
    pub(super) component: Sha256,
    pub(super) signer: Option<String>,
    pub(super) published: Published,
    /// The grants that it wishes.
    pub(super) wishes: Vec<GrantWord>,
}

impl Resolved<'_> {
    /// Whether its signature of minisign is not beside a file.
    pub(super) fn is_signature_missing(&self, file: &Path) -> bool {
        self.artifact.annotations.contains_key(MINISIG) && !signature_file(file).exists()
    }
}

impl Fetched {
    pub(super) fn path(&self) -> &Path {
        &self.staged.path
    }

    /// What is recorded of where it comes from.
    pub(super) fn origin(&self, source: &str) -> origins::Origin {
        origins::Origin {
            source: source.to_owned(),
            digest: self.digest,
            component: self.component,
            signer: self.signer.clone(),
        }
    }
}

/// Gets components.
pub(super) struct Fetch<'a> {
    pub(super) options: &'a Options,
    pub(super) config: &'a Config,
    pub(super) screen: &'a Screen,
    pub(super) http: &'a Http,
    /// The layout that is read in place of registries.
    pub(super) layout: Option<&'a Path>,
}

impl<'a> Fetch<'a> {
    /// Gets a component for a plugin of that name.
    pub(super) async fn fetch(&self, origin: &Origin, id: &PluginId) -> Result<Fetched, Failure> {
        let (staged, component, signed) = match origin {
            Origin::Registry(reference) => return self.download(self.resolve(reference).await?, id).await,
            Origin::Url(uri) => {
                let failed = |error| failure(&format!("download {uri}"), error);
                if let Some(path) = self.config.registry_with_keys(uri.authority()) {
                    return Err(Failure::usage(format!("accept {uri}: [registries.\"{path}\"] requires a signature"))
                        .hint("nothing at a URL is signed; get it from the registry, by oci://".to_owned()));
                }
                let staged = self.stage(&origin.text(), id)?;
                let downloading = download(self.http, uri, &staged.path, MAX_COMPONENT);
                let component = self.screen.timed(&format!("downloading {uri}"), downloading).await.map_err(failed)?;
                (staged, component, line_of("signed", "no signature is looked for at a URL"))
            }
            Origin::File(file) => {
                let failed = |error: String| Failure::new(format!("read {}: {error}", file.shown()));
                let staged = self.stage(&origin.text(), id)?;
                let bytes = read_component(file).await.map_err(|error| failed(error.to_string()))?;
                private::write(&staged.path, &[&bytes], private::Durability::Deferred)
                    .map_err(|error| failed(error.to_string()))?;
                signature_beside(file)?.map_or(Ok(()), |signature| staged.sign(&signature))?;
                (staged, Sha256::of(&bytes), String::new())
            }
        };
        let mut about = line_of("from", &origin.text()) + &signed;
        let wishes = self.wishes(None, None, &staged.path, id, &mut about).await?;
        let published = Published { source: origin.text(), about };
        Ok(Fetched { staged, digest: None, component, signer: None, published, wishes })
    }

    /// The version that a reference names at the moment, without its component.
    pub(super) async fn resolve<'r>(&'r self, reference: &'r Reference) -> Result<Resolved<'r>, Failure> {
        let failed = |error: RegistryError| {
            let (program, repository) = (self.config.program(), &reference.repository);
            let tags = error.is_not_found().then(|| format!("to see its tags: {program} search {repository}"));
            let what = match (&tags, &reference.tag, &reference.digest) {
                (Some(_), None, None) => format!("get {reference}, of which the tag latest is meant"),
                _ => format!("get {reference}"),
            };
            let failed = failure(&what, error);
            match tags {
                Some(tags) => failed.or_hint(&tags),
                None => failed,
            }
        };
        let source = self.source(&reference.repository).await.map_err(failed)?;
        let version = reference.version();
        let finding = timeout(FINDING, Artifact::find(&source, &version));
        let found = self.screen.timed(&format!("looking for {reference}"), finding).await;
        let host = || reference.repository.registry.clone();
        let found = found.unwrap_or_else(|_| Err(RegistryError::Http(HttpError::Timeout { host: host() })));
        Ok(Resolved { reference, artifact: found.map_err(failed)?, source })
    }

    async fn source(&self, repository: &Repository) -> Result<Source<'a>, RegistryError> {
        match self.layout {
            Some(folder) => Ok(Source::Layout(Layout::open(folder)?, repository.clone())),
            None => {
                let settings = self.config.registry_settings(repository);
                Ok(Source::Registry(Registry::for_pull(self.http, repository, &settings).await?))
            }
        }
    }

    /// Gets the component of a version for a plugin of that name.
    pub(super) async fn download(&self, resolved: Resolved<'_>, id: &PluginId) -> Result<Fetched, Failure> {
        let staged = self.component(&resolved, id).await?;
        let Resolved { reference, artifact, .. } = resolved;
        let component = artifact.component().map_err(|error| failure(&format!("get {reference}"), error))?;
        let signed = self.signed(reference, &artifact, &staged.path).await?;
        let mut about = line_of("from", &reference.to_string());
        about += &line_of("digest", &artifact.digest.to_string());
        about += &line_of("signed", &signed.text);
        for (key, label) in SHOWN {
            if let Some(value) = artifact.annotations.get(key).filter(|value| !value.is_empty()) {
                about += &line_of(label, value);
            }
        }
        let annotation = artifact.annotations.get(GRANTS).map(String::as_str);
        let wishes = self.wishes(annotation, artifact.policy.as_deref(), &staged.path, id, &mut about).await?;
        let published = Published { source: reference.to_string(), about };
        Ok(Fetched { staged, digest: Some(artifact.digest), component, signer: signed.signer, published, wishes })
    }

    /// The grants that a component wishes: those of its annotation, or else of its policy, or else what it declares
    /// itself. All are added to the lines on it, also what is no grant.
    async fn wishes(
        &self,
        annotation: Option<&str>,
        policy: Option<&str>,
        file: &Path,
        id: &PluginId,
        about: &mut String,
    ) -> Result<Vec<GrantWord>, Failure> {
        let lines: Vec<String> = match (annotation, policy) {
            (Some(text), _) => text.lines().map(str::to_owned).collect(),
            (None, Some(policy)) => match dev::grants_of_policy(self.options, id, policy).await {
                Some(lines) => lines,
                None => vec!["a policy of Wassette, which this program cannot convert".to_owned()],
            },
            (None, None) => declared(&read_component(file).await.map_err(|error| Failure::new(error.to_string()))?),
        };
        let (mut wishes, mut label) = (Vec::new(), "wishes");
        for text in lines.iter().map(|line| line.trim()).filter(|line| !line.is_empty()).take(MAX_WISHES) {
            let grant = wish(id, text).ok();
            // An annotation has grants, and nothing else.
            if grant.is_some() || annotation.is_none() {
                *about += &line_of(mem::take(&mut label), text);
            }
            wishes.extend(grant);
        }
        Ok(wishes)
    }

    /// Saves a version into a layout.
    pub(super) async fn save(&self, resolved: &Resolved<'_>, layout: &mut Layout) -> Result<(), Failure> {
        let Resolved { reference, artifact, source } = resolved;
        // Of no plugin: the name is that of a file.
        let id = PluginId::of_file(reference.repository.name()).or_else(|_| PluginId::parse("plugin"));
        let staged = self.component(resolved, &id.map_err(|error| Failure::usage(error.to_string()))?).await?;
        self.signed(reference, artifact, &staged.path).await?;
        let saving = save(artifact, source, reference, &staged.path, layout);
        saving.await.map_err(|error| failure(&format!("save {reference}"), error))
    }

    /// Downloads the component of a version, and puts its signature beside it.
    async fn component(
        &self,
        Resolved { reference, artifact, source }: &Resolved<'_>,
        id: &PluginId,
    ) -> Result<Staged, Failure> {
        let staged = self.stage(&reference.to_string(), id)?;
        let what = format!("downloading {reference}, {:#}", ByteSize(artifact.size()));
        let downloading = artifact.download(source, &staged.path, MAX_COMPONENT);
        let downloaded = self.screen.timed(&what, downloading).await;
        downloaded.map_err(|error| failure(&format!("get {reference}"), error))?;
        artifact.annotations.get(MINISIG).map_or(Ok(()), |signature| staged.sign(signature))?;
        Ok(staged)
    }

    /// That a version which is in a file already is signed as the configuration requires it now.
    pub(super) async fn check_signed(&self, resolved: &Resolved<'_>, file: &Path) -> Result<(), Failure> {
        self.signed(resolved.reference, &resolved.artifact, file).await.map(drop)
    }

    /// Who signed a version. With keys for its repository in the configuration, one of them must have.
    async fn signed(&self, reference: &Reference, artifact: &Artifact, path: &Path) -> Result<Signed, Failure> {
        let count = artifact.signatures.count() + usize::from(artifact.annotations.contains_key(MINISIG));
        let Some(required) = self.config.required_keys(&reference.repository) else {
            let text = match count {
                0 => "no".to_owned(),
                count => {
                    let s = if count == 1 { "" } else { "s" };
                    format!("{count} signature{s}, not checked: the configuration names no key for it")
                }
            };
            return Ok(Signed { text, signer: None });
        };
        let (mut cosign, mut minisign) = (Vec::new(), Vec::new());
        for key in &required.keys {
            match key {
                PublisherKey::Minisign(key) => minisign.push(key.clone()),
                PublisherKey::Cosign(file) => cosign.push(public_key(file).map_err(|(why, hint)| {
                    Failure::usage(format!(
                        "read the key {} of [registries.\"{}\"]: {why}",
                        file.shown(),
                        required.path
                    ))
                    .hint(hint)
                })?),
            }
        }
        if let Some(key) = artifact.signatures.by(&cosign, &artifact.signed()) {
            return Ok(Signed { text: format!("by {key}"), signer: Some(key.to_string()) });
        }
        if !minisign.is_empty() && signature_file(path).exists() {
            let bytes = read_component(path).await.map_err(|error| Failure::new(error.to_string()))?;
            if let Ok(Some(signer)) = Signatures::new(&minisign, true).unwrap_or_default().check(path, &bytes) {
                return Ok(Signed { text: format!("by {signer}"), signer: Some(signer.to_string()) });
            }
        }
        let has = match count {
            0 => "it is not signed".to_owned(),
            1 => "its signature is not by them".to_owned(),
            count => format!("none of its {count} signatures is by them"),
        };
        let at = required.path;
        Err(Failure::new(format!("accept {reference}: {has}, and [registries.\"{at}\"] requires one of its keys"))
            .hint("ask its publisher for the key; nothing was changed".to_owned()))
    }

    /// A folder for one download: an interrupted one is gone on with.
    fn stage(&self, origin: &str, id: &PluginId) -> Result<Staged, Failure> {
        let cache = self.options.cache.clone().or_else(|| config::base().map(|base| base.cache));
        let cache = cache.ok_or_else(|| {
            Failure::usage("find the cache folder: no home folder").hint("add --cache DIR".to_owned())
        })?;
        let all = cache.join("downloads");
        drop_old(&all);
        let failed = |folder: &Path, error: String| Failure::new(format!("create {}: {error}", folder.shown()));
        private::create_trusted_folder(&all).map_err(|error| failed(&all, error.to_string()))?;
        let mut name = Sha256::of(origin.as_bytes()).hex();
        let turn_file = all.join(format!("{name}.turn"));
        let (turn, _) =
            private::open(&turn_file, OpenMode::Lock).map_err(|error| failed(&turn_file, error.to_string()))?;
        let turn = turn.try_lock().is_ok().then_some(turn);
        if turn.is_none() {
            // Another process downloads the same: this one does not wait for it, and begins anew.
            name += &format!("-{}", std::process::id());
        }
        let folder = all.join(name);
        private::create_trusted_folder(&folder).map_err(|error| failed(&folder, error.to_string()))?;
        Ok(Staged { path: folder.join(format!("{id}.wasm")), folder, _turn: turn })
    }
}

struct Signed {
    text: String,
    signer: Option<String>,
}

/// The public key of cosign in a file, or why there is none and what to write instead.
pub(super) fn public_key(file: &Path) -> Result<PublicKey, (String, String)> {
    let hint = "write the path of cosign.pub there, or the second line of minisign.pub itself".to_owned();
    let text = private::read_text(file, MAX_KEY).map_err(|error| (error.to_string(), hint.clone()))?;
    // What minisign writes before its keys.
    if let Some((_, key)) = text.split_once('\n').filter(|(first, _)| first.starts_with("untrusted comment:")) {
        let why = "it is a key of minisign, which is written itself and not its path".to_owned();
        return Err((why, format!("write the second line of the file: \"{}\"", line(key.trim()))));
    }
    PublicKey::from_pem(&text).map_err(|why| (why.to_owned(), hint))
}

/// Removes what interrupted downloads left long ago.
fn drop_old(all: &Path) {
    for entry in std::fs::read_dir(all).into_iter().flatten().flatten() {
        let modified = entry.metadata().and_then(|found| found.modified());
        let is_old = modified.is_ok_and(|at| SystemTime::now().duration_since(at).is_ok_and(|age| age > KEPT));
        if is_old {
            let path = entry.path();
            let _ = if path.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) };
        }
    }
}

/// The signature of minisign beside a component: no link, and nothing else of that name.
pub(super) fn signature_beside(component: &Path) -> Result<Option<String>, Failure> {
    let path = signature_file(component);
    let wrong = |why: String| {
        Failure::new(format!("read {}: {why}", path.shown()))
            .hint("put the signature of minisign there, or remove the file".to_owned())
    };
    if std::fs::symlink_metadata(&path).is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound) {
        return Ok(None);
    }
    let (file, found) = files::open(&path, files::Links::NotFollowed).map_err(|error| wrong(error.to_string()))?;
    let text = files::read_opened_text(file, &found, MAX_SIGNATURE).map_err(|error| wrong(error.to_string()))?;
    match minisign_verify::Signature::decode(&text) {
        Ok(_) => Ok(Some(text)),
        Err(_) => Err(wrong("it is not a signature of minisign".to_owned())),
    }
}

/// A failure of a registry; `what` was to be done.
pub(super) fn failure(what: &str, error: RegistryError) -> Failure {
    let hint = error.hint();
    Failure::new(format!("{what}: {error}")).hint(hint)
}

/// Text of a publisher has one line, and no characters that are not shown.
fn line_of(label: &str, text: &str) -> String {
    const LONGEST: usize = 300;
    let text = line(&printable(text));
    let cut: String = text.chars().take(LONGEST).collect();
    let dots = if cut.len() < text.len() { "…" } else { "" };
    format!("  {label:<8} {cut}{dots}\n")
}

/// A grant that could be given to a plugin of that name. Of folders and secrets, the configuration decides.
///
/// # Errors
/// Why it is none, and what to write instead.
pub(super) fn wish(id: &PluginId, word: &str) -> Result<GrantWord, (String, Option<String>)> {
    let grant = GrantWord::parse(word)?;
    if word.starts_with("http=") {
        add_grants("", id, std::slice::from_ref(&grant)).map_err(|error| (error.to_string(), error.hint.clone()))?;
    }
    Ok(grant)
}
