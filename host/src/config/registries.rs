//! `[registries."HOST/PATH"]`: whom commands trust to publish there, and how they reach it. A server does not use it.

use serde::{Deserialize, Serialize};

use super::{Config, ConfigPath, WrongValue};
use crate::plugin::Signatures;
use crate::registry::{RegistrySettings, Repository};

/// What holds for the repositories below a registry's host and path.
#[derive(Clone, Debug, Default, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct RegistryConfig {
    /// Public keys of cosign (paths of files) and of minisign (one line each). With any, each version must be signed by
    /// one of them. Unset: those of the next shorter path that has some.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keys: Option<Vec<String>>,
    /// Where the content is asked for in its place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mirror: Option<String>,
    /// Whether its redirects and token servers may be at private addresses.
    pub private: bool,
    /// Whether it has no TLS; unset: one on this machine has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub http: Option<bool>,
}

/// A key of a publisher, as it is written.
#[derive(Debug, Clone, PartialEq)]
pub enum PublisherKey {
    Minisign(String),
    /// The path of `cosign.pub`.
    Cosign(std::path::PathBuf),
}

/// The keys of which one must have signed a version.
#[derive(Debug, Clone, PartialEq)]
pub struct RequiredKeys<'a> {
    /// The path of the table that has them.
    pub path: &'a str,
    pub keys: Vec<PublisherKey>,
}

impl Config {
    /// The tables for a repository, with their paths: that of the longest path first.
    fn tables(&self, repository: &Repository) -> Vec<(&str, &RegistryConfig)> {
        let below = self.registries.iter().filter(|(path, _)| repository.is_below(path));
        let mut below: Vec<_> = below.map(|(path, registry)| (path.as_str(), registry)).collect();
        below.sort_by_key(|(path, _)| std::cmp::Reverse(path.len()));
        below
    }

    /// The table of a host whose publishers must sign.
    pub fn registry_with_keys(&self, host: Option<&http::uri::Authority>) -> Option<&str> {
        let any = Repository::parse(&format!("{}/x/x", host?)).ok()?;
        let is_of = |path: &&String| path.split('/').next() == Some(&*any.registry);
        let has_keys = |registry: &RegistryConfig| registry.keys.as_ref().is_some_and(|keys| !keys.is_empty());
        let with_keys = self.registries.iter().filter(|(_, registry)| has_keys(registry));
        with_keys.map(|(path, _)| path).find(is_of).map(String::as_str)
    }

    /// How a repository is reached.
    pub fn registry_settings(&self, repository: &Repository) -> RegistrySettings {
        let Some(&(path, registry)) = self.tables(repository).first() else { return RegistrySettings::default() };
        let rest = repository.to_string();
        let rest = rest.strip_prefix(path).unwrap_or_default();
        // The mirror stands for the path of the table: what is below it is below the mirror.
        let mirror = registry.mirror.as_ref().and_then(|mirror| Repository::parse(&format!("{mirror}{rest}")).ok());
        RegistrySettings { mirror, private: registry.private, http: registry.http }
    }

    /// The keys of which one must have signed what is in a repository. `None`: any publisher is accepted.
    pub fn required_keys(&self, repository: &Repository) -> Option<RequiredKeys<'_>> {
        let tables = self.tables(repository);
        let (path, keys) = tables.into_iter().find_map(|(path, registry)| Some((path, registry.keys.as_ref()?)))?;
        let keys: Vec<PublisherKey> = keys.iter().map(|key| self.publisher_key(key)).collect();
        (!keys.is_empty()).then_some(RequiredKeys { path, keys })
    }

    /// All keys of publishers, with the paths of their tables.
    pub fn publisher_keys(&self) -> impl Iterator<Item = (&str, PublisherKey)> {
        self.registries.iter().flat_map(move |table| {
            let (path, keys) = (table.0.as_str(), table.1.keys.iter().flatten());
            keys.map(move |key| (path, self.publisher_key(key)))
        })
    }

    fn publisher_key(&self, key: &str) -> PublisherKey {
        match is_minisign(key) {
            true => PublisherKey::Minisign(key.to_owned()),
            false => PublisherKey::Cosign(self.resolve(key.as_ref())),
        }
    }

    /// # Errors
    /// If a table's name is no registry or repository, or a value is malformed.
    pub(super) fn check_registries(&self) -> Result<(), WrongValue> {
        for (path, registry) in &self.registries {
            // Of a registry alone, any repository below it.
            let is_path = |text: &str| {
                let text = format!("{text}/x/x");
                Repository::parse(&text).is_ok_and(|parsed| parsed.to_string() == text)
            };
            if !is_path(path) {
                return Err(WrongValue::at(&["registries", path], "not a registry or repository")
                    .hint("write it as in references, without oci://, tag and digest: [registries.\"ghcr.io/acme\"]"));
            }
            if let Some(mirror) = registry.mirror.as_ref().filter(|mirror| !is_path(mirror)) {
                return Err(WrongValue::at(
                    &["registries", path, "mirror"],
                    format!("not a registry or path: {mirror:?}"),
                )
                .hint("write it as in references, without oci://: mirror = \"registry.example/ghcr\""));
            }
            for (at, key) in registry.keys.iter().flatten().enumerate() {
                let wrong = |why: String| WrongValue::at(&["registries", path, "keys", &at.to_string()], why);
                let hint = "write the path of cosign.pub, or the second line of minisign.pub, which begins with RW";
                if is_minisign(key) && Signatures::new(std::slice::from_ref(key), false).is_err() {
                    return Err(wrong(format!("not a public key of minisign: {key:?}")).hint(hint));
                }
                if key.is_empty() || key.contains("-----BEGIN") {
                    return Err(wrong("not a path, and not a key of minisign".to_owned()).hint(hint));
                }
                if let Err((why, hint)) = ConfigPath::parse(key) {
                    return Err(wrong(why).hint(hint));
                }
            }
        }
        Ok(())
    }
}

/// Whether a text is a key of minisign, and no path: these have a fixed length and beginning.
fn is_minisign(key: &str) -> bool {
    key.starts_with("RW") && key.len() == 56 && !key.contains('.')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(text: &str) -> Config {
        Config::parse(text).expect(text)
    }

    #[test]
    fn the_longest_path_decides() {
        let config = config(
            "[registries.\"ghcr.io\"]\nprivate = true\n[registries.\"ghcr.io/acme\"]\nkeys = [\"acme.pub\"]\n\
             mirror = \"mirror.example:5000/ghcr\"\n",
        );
        let repository = |text: &str| Repository::parse(text).expect(text);
        let acme = repository("ghcr.io/acme/weather");
        assert_eq!(config.required_keys(&acme).expect("keys").path, "ghcr.io/acme");
        let settings = config.registry_settings(&acme);
        assert_eq!(settings.mirror, Some(repository("mirror.example:5000/ghcr/weather")));
        assert!(!settings.private, "only keys are inherited");
        assert!(Config::parse("[registries.\"docker.io\"]\n[registries.\"docker.io/acme\"]").is_ok());
        assert!(config.required_keys(&repository("ghcr.io.:443/acme/weather")).is_some(), "in each spelling");
        let other = repository("ghcr.io/acmes/weather");
        assert_eq!(config.required_keys(&other), None);
        assert!(config.registry_settings(&other).private);
        assert_eq!(config.registry_settings(&repository("quay.io/a/b")), RegistrySettings::default());
    }

    #[test]
    fn keys_hold_below_until_others_are_written() {
        let config = config(
            "[registries.\"ghcr.io\"]\nkeys = [\"all.pub\"]\n[registries.\"ghcr.io/acme\"]\nmirror = \"mirror.example\"\n\
             [registries.\"ghcr.io/acme/own\"]\nkeys = [\"own.pub\"]\n[registries.\"ghcr.io/acme/open\"]\nkeys = []\n",
        );
        for (repository, path) in [
            ("ghcr.io/x/y", Some("ghcr.io")),
            ("ghcr.io/acme/weather", Some("ghcr.io")),
            ("ghcr.io/acme/own/weather", Some("ghcr.io/acme/own")),
            ("ghcr.io/acme/open", None),
            ("quay.io/a/b", None),
        ] {
            let repository = Repository::parse(repository).expect(repository);
            assert_eq!(config.required_keys(&repository).map(|keys| keys.path), path, "{repository}");
        }
        assert_eq!(config.publisher_keys().count(), 2);
    }

    #[test]
    fn what_would_never_match_is_refused() {
        for text in [
            "[registries.\"oci://ghcr.io/acme\"]",
            "[registries.\"ghcr.io/acme:1\"]",
            "[registries.\"ghcr.io/\"]",
            "[registries.\"GHCR.io\"]",
            "[registries.\"ghcr.io:443\"]",
            "[registries.\"ghcr.io.\"]",
            "[registries.\"index.docker.io/acme\"]",
            "[registries.\"ghcr.io\"]\nmirror = \"https://a.example\"",
            "[registries.\"ghcr.io\"]\nkeys = [\"\"]",
            "[registries.\"ghcr.io\"]\nkeys = [\"$HOME/a.pub\"]",
        ] {
            assert!(Config::parse(text).is_err(), "{text}");
        }
    }
}
