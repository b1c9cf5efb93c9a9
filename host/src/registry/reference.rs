//! References of artifacts in registries: `oci://HOST[:PORT]/PATH[:TAG][@sha256:…]`.
//!
//! Names follow the distribution specification of OCI 1.1; what two programs could read differently is refused.

use std::fmt;
use std::str::FromStr;

use http::Uri;
use http::uri::Authority;

use super::digest::Sha256;
use crate::net::target::Target;

/// How references begin.
pub const SCHEME: &str = "oci://";
/// Maximum bytes of a path, and of a tag.
const MAX_PATH: usize = 255;
const MAX_TAG: usize = 128;
/// The registry that is named docker.io is another host.
const DOCKER: &str = "docker.io";
const DOCKER_NAMES: [&str; 2] = ["index.docker.io", DOCKER_HOST];
const DOCKER_HOST: &str = "registry-1.docker.io";

/// A repository of a registry.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Repository {
    /// Host and port, in lower case.
    pub registry: String,
    pub path: String,
}

/// One version of an artifact, or what a tag names at the moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference {
    pub repository: Repository,
    pub tag: Option<String>,
    pub digest: Option<Sha256>,
}

/// Why a text is no reference.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidReference(String);

impl Repository {
    /// `HOST[:PORT]/PATH`.
    ///
    /// # Errors
    /// If a part is missing, or not as registries name repositories.
    pub fn parse(text: &str) -> Result<Self, InvalidReference> {
        let wrong = |why: &str| Err(InvalidReference(format!("{why}: {text:?}")));
        // What it has is not repeated.
        if text.split('/').next().is_some_and(|host| host.contains('@')) {
            return Err(InvalidReference(
                "it has a user or password, which docker login or podman login keeps".to_owned(),
            ));
        }
        let Some((registry, path)) = text.split_once('/') else {
            return wrong("a reference names a registry and a repository, such as ghcr.io/acme/weather");
        };
        let Ok(authority) = registry.parse::<Authority>() else { return wrong("its registry is not a host") };
        // One spelling for each: settings are found by it.
        let registry = match Target::at(true, &authority) {
            Ok(target) => target.authority(),
            Err(why) => return wrong(&format!("its registry is not a host: {why}")),
        };
        let registry = if DOCKER_NAMES.contains(&&*registry) { DOCKER.to_owned() } else { registry };
        let is_name = |name: &str| {
            !name.contains("___")
                && !name.contains("..")
                && name.split(['.', '_', '-']).all(is_alphanumeric_or_empty)
                && name.starts_with(is_alphanumeric)
                && name.ends_with(is_alphanumeric)
        };
        let lower = path.to_ascii_lowercase();
        if lower != path && lower.split('/').all(is_name) {
            return wrong(&format!("its repository has no capitals in registries, so write {registry}/{lower}"));
        }
        if path.len() > MAX_PATH || !path.split('/').all(is_name) {
            return wrong("its repository has other characters than a-z, 0-9, and . _ - between them");
        }
        let is_short = registry == DOCKER && !path.contains('/');
        let path = if is_short { format!("library/{path}") } else { path.to_owned() };
        Ok(Self { registry, path })
    }

    /// The host that answers for the registry. `http`: without TLS.
    pub(super) fn target(&self, http: bool) -> Result<Target, &'static str> {
        let host = if self.registry == DOCKER { DOCKER_HOST } else { &self.registry };
        Target::at(!http, &host.parse().map_err(|_| "its host is invalid")?)
    }

    /// Whether it is that registry or repository, or below it: whole segments are compared.
    pub fn is_below(&self, prefix: &str) -> bool {
        let own = self.to_string();
        own.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    /// The last segment of its path, which is the usual name of what is in it.
    pub fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or_default()
    }
}

fn is_alphanumeric(c: char) -> bool {
    c.is_ascii_lowercase() || c.is_ascii_digit()
}

fn is_alphanumeric_or_empty(text: &str) -> bool {
    text.chars().all(is_alphanumeric)
}

impl fmt::Display for Repository {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.registry, self.path)
    }
}

impl Reference {
    /// The tag that is meant if there is neither one nor a digest.
    pub const DEFAULT_TAG: &str = "latest";

    /// What a registry is asked for: the digest, or else the tag.
    pub fn version(&self) -> String {
        match &self.digest {
            Some(digest) => digest.to_string(),
            None => self.tag_or_default().to_owned(),
        }
    }

    /// The tag, or the one that is meant without one.
    pub fn tag_or_default(&self) -> &str {
        self.tag.as_deref().unwrap_or(Self::DEFAULT_TAG)
    }

    /// The same repository and tag, and exactly that version.
    pub fn at(&self, digest: Sha256) -> Self {
        Self { digest: Some(digest), ..self.clone() }
    }
}

impl FromStr for Reference {
    type Err = InvalidReference;

    fn from_str(text: &str) -> Result<Self, InvalidReference> {
        let wrong = |why: &str| Err(InvalidReference(format!("{why}: {text:?}")));
        let scheme = text.get(..SCHEME.len()).filter(|scheme| scheme.eq_ignore_ascii_case(SCHEME));
        let Some(rest) = scheme.map(|_| &text[SCHEME.len()..]) else {
            return wrong("a reference begins with oci://, so write oci:// before its registry");
        };
        // An @ before the first slash is that of a user.
        let at = rest.find('/').and_then(|slash| Some(slash + rest[slash..].find('@')?));
        let (rest, digest) = match at.map(|at| (&rest[..at], &rest[at + 1..])) {
            None => (rest, None),
            Some((rest, digest)) => match Sha256::parse(digest) {
                Some(digest) => (rest, Some(digest)),
                None => return wrong("its digest is not sha256: and 64 hexadecimal digits"),
            },
        };
        // A colon before the first slash is that of a port.
        let (repository, tag) = match rest.rsplit_once(':') {
            Some((repository, tag)) if !tag.contains('/') && repository.contains('/') => (repository, Some(tag)),
            _ => (rest, None),
        };
        if tag.is_some_and(|tag| !is_tag(tag)) {
            return wrong("its tag is not 1 to 128 letters, digits, and . _ - after the first");
        }
        let repository = Repository::parse(repository)?;
        Ok(Self { repository, tag: tag.map(str::to_owned), digest })
    }
}

fn is_tag(tag: &str) -> bool {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    tag.len() <= MAX_TAG && tag.starts_with(is_word) && tag.chars().all(|c| is_word(c) || matches!(c, '.' | '-'))
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{SCHEME}{}", self.repository)?;
        if let Some(tag) = &self.tag {
            write!(f, ":{tag}")?;
        }
        self.digest.map_or(Ok(()), |digest| write!(f, "@{digest}"))
    }
}

/// Whether a URL is one that a plugin can be downloaded from.
pub fn url(text: &str) -> Option<Uri> {
    text.parse().ok().filter(|uri: &Uri| uri.scheme_str() == Some("https") && uri.authority().is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_read_and_written() {
        let digest = Sha256::of(b"");
        for (text, registry, path, tag) in [
            ("oci://ghcr.io/acme/weather:1.2", "ghcr.io", "acme/weather", Some("1.2")),
            ("oci://GHCR.io/acme/weather", "ghcr.io", "acme/weather", None),
            ("oci://localhost:5000/w", "localhost:5000", "w", None),
            ("oci://localhost:5000/w:V_1-x", "localhost:5000", "w", Some("V_1-x")),
            ("oci://[::1]:5000/a/b_c.d-e__f", "[::1]:5000", "a/b_c.d-e__f", None),
            ("oci://ghcr.io.:0443/acme/weather", "ghcr.io", "acme/weather", None),
            ("oci://[0:0:0:0:0:0:0:1]:5000/a", "[::1]:5000", "a", None),
            ("oci://index.docker.io/acme/weather", "docker.io", "acme/weather", None),
            ("oci://docker.io/weather:1", "docker.io", "library/weather", Some("1")),
        ] {
            let read: Reference = text.parse().expect(text);
            let Repository { registry: found, path: found_path } = &read.repository;
            assert_eq!((&**found, &**found_path, read.tag.as_deref()), (registry, path, tag), "{text}");
            let again: Reference = read.to_string().parse().expect("it is a reference");
            assert_eq!(again, read);
            let exact: Reference = format!("{text}@{digest}").parse().expect("it is a reference");
            assert_eq!(exact, read.at(digest));
            assert_eq!(exact.version(), digest.to_string());
        }
    }

    #[test]
    fn what_can_be_read_in_two_ways_is_refused() {
        let long = format!("oci://a.b/{}", "x".repeat(256));
        for text in [
            "ghcr.io/a/b",
            "oci://",
            "oci://weather",
            "oci://ghcr.io/",
            "oci://ghcr.io/A/b",
            "oci://ghcr.io/a//b",
            "oci://ghcr.io/a/../b",
            "oci://ghcr.io/a/b?x",
            "oci://ghcr.io/a/b#x",
            "oci://ghcr.io/a/%62",
            "oci://ghcr.io/a___b",
            "oci://ghcr.io/-a",
            "oci://me:pw@ghcr.io/a",
            "oci://ghcr.io/a@sha256:00",
            "oci://ghcr.io/a:",
            "oci://ghcr.io/a:.x",
            "oci://ghcr.io/a:b c",
            "oci://127.1/a",
            "oci://a b/c",
            &long,
        ] {
            assert!(text.parse::<Reference>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_prefix_is_whole_segments() {
        let repository = Repository::parse("ghcr.io/acme/weather").expect("a repository");
        for (prefix, below) in [
            ("ghcr.io", true),
            ("ghcr.io/acme", true),
            ("ghcr.io/acme/weather", true),
            ("ghcr.io/ac", false),
            ("ghcr", false),
        ] {
            assert_eq!(repository.is_below(prefix), below, "{prefix}");
        }
    }
}
