//! `wharf push`: publishes a component to a registry, with what `wharf add` shows of it, and a signature.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use bytes::Bytes;
use clap::Args;
use wharf_report::{ShowPath as _, shell_word, warning};

use super::fetch::{failure, public_key, signature_beside, wish};
use super::options::Options;
use crate::config::{Config, PublisherKey};
use crate::net::http::Http;
use crate::os::private;
use crate::plugin::{
    PluginId, Signatures, could_be_plugin, inspect, metadata, read_component, signature_file, summarize,
};
use crate::registry::{GRANTS, MINISIG, Publication, Reference, Registry, SHOWN, SigningKey};
use crate::report::{self, Failure, NAME, Screen};

const MAX_KEY: u64 = 64 << 10;

#[derive(Args)]
pub(super) struct PushOptions {
    /// oci://HOST/PATH[:TAG]
    reference: String,
    /// The component
    file: PathBuf,
    /// A grant that it can use, as wharf grant takes it: shown to who adds it, and never given by that
    #[arg(long = "grant", value_name = "GRANT")]
    grants: Vec<String>,
    /// A private key in PKCS#8 (P-256) that signs it as cosign does [a signature of minisign beside the file is published too]
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
    /// What it does, in a line [default: what the component says of itself; so for the next ones]
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    /// Where its source is
    #[arg(long, value_name = "URL")]
    source: Option<String>,
    /// Its licence (SPDX)
    #[arg(long, value_name = "LICENCE", visible_alias = "license")]
    licence: Option<String>,
    /// Another annotation of its manifest
    #[arg(long = "annotation", value_name = "KEY=VALUE")]
    annotations: Vec<String>,
}

pub(super) async fn run(options: &Options, how: PushOptions, screen: &Screen) -> Result<ExitCode, Failure> {
    let config = options.config()?;
    let reference: Reference =
        how.reference.parse().map_err(|error| Failure::usage(format!("read the reference: {error}")))?;
    if reference.digest.is_some() {
        return Err(Failure::usage("publish under a digest, which follows from the content")
            .hint("write a tag, and no digest".to_owned()));
    }
    let wrong = |error: String| Failure::new(format!("{error}: {}", how.file.shown()));
    let component = read_component(&how.file).await.map_err(|error| wrong(error.to_string()))?;
    could_be_plugin(&component, &crate::plugin::Limits::default()).map_err(|error| wrong(error.to_string()))?;
    let inspection = inspect(&component).map_err(|error| wrong(error.to_string()))?;
    let key = how.key.as_deref().map(signing_key).transpose()?;
    let mut annotations = said(&component);
    let mut set = |key: &str, value: String| {
        annotations.retain(|(own, _)| own != key);
        annotations.push((key.to_owned(), value));
    };
    let title = how.file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    if let Some(source) = how.source.as_ref().filter(|source| !is_url(source)) {
        return Err(Failure::usage(format!("publish the source {source:?}")).hint("write a URL: https://…".to_owned()));
    }
    if let Some(licence) = how.licence.as_ref().filter(|licence| !could_be_spdx(licence)) {
        return Err(Failure::usage(format!("publish the licence {licence:?}"))
            .hint("write it as SPDX does: MIT, Apache-2.0, or MIT OR Apache-2.0".to_owned()));
    }
    for (label, value) in [("about", &how.description), ("source", &how.source), ("licence", &how.licence)] {
        let key = SHOWN.iter().find(|(_, own)| *own == label).map_or(label, |(key, _)| key);
        value.iter().for_each(|value| set(key, value.clone()));
    }
    for annotation in &how.annotations {
        let (key, value) = annotation.split_once('=').filter(|(key, _)| !key.is_empty()).ok_or_else(|| {
            Failure::usage(format!("read the annotation {annotation:?}")).hint("write KEY=VALUE".to_owned())
        })?;
        let own = [(GRANTS, "write --grant GRANT"), (MINISIG, "put the signature beside the file")];
        if let Some((_, hint)) = own.into_iter().find(|(own, _)| *own == key) {
            return Err(Failure::usage(format!("set the annotation {key} so")).hint(hint.to_owned()));
        }
        set(key, value.to_owned());
    }
    // Of no plugin yet: who adds it names it.
    let id = PluginId::parse("plugin").map_err(|error| Failure::usage(error.to_string()))?;
    for grant in &how.grants {
        wish(&id, grant).map_err(|(why, hint)| Failure::usage(format!("read --grant {grant}: {why}")).hint(hint))?;
    }
    set(GRANTS, how.grants.join("\n"));
    let minisig = signature_beside(&how.file)?;
    let mut signatures = Vec::new();
    let is_minisigned = minisig.is_some();
    if let Some(signature) = minisig {
        signatures.push(check_minisig(&config, &reference, &how.file, &component)?);
        set(MINISIG, signature);
    }
    let publication = Publication {
        component: Bytes::from(component),
        title,
        exports: inspection.exports,
        imports: inspection.imports.into_iter().map(|import| import.name).collect(),
        annotations,
    };
    let http = Http::default();
    let settings = config.registry_settings(&reference.repository);
    let failed = |error| failure(&format!("publish {reference}"), error);
    let registry = Registry::for_push(&http, &reference.repository, &settings).await.map_err(failed)?;
    let pushing = publication.push(&registry, &reference, key.as_ref());
    let published = screen.timed(&format!("publishing {reference}"), pushing).await;
    let (digest, before) = published.map_err(failed)?;
    report::message(&format!("{NAME}published{NAME:#} {reference}"));
    let tag = reference.tag_or_default();
    match before {
        Some(before) if before == digest => report::message(&format!("it is what the tag {tag} named already")),
        Some(before) => report::message(&format!("the tag {tag} named another version before: {before}")),
        None => {}
    }
    if let Some(public) = key.as_ref().and_then(SigningKey::public) {
        signatures
            .push(format!("signed by {public}; those who add it configure this key:\n{}", public.to_pem().trim_end()));
    }
    if signatures.is_empty() {
        signatures.push("no signature was added to it; to sign it: --key key.pem".to_owned());
    }
    signatures.iter().for_each(|text| report::message(text));
    if let Some(required) = config.required_keys(&reference.repository) {
        let public = key.as_ref().and_then(SigningKey::public);
        let is_ours = |key: &PublisherKey| match key {
            PublisherKey::Minisign(_) => false,
            PublisherKey::Cosign(file) => public_key(file).is_ok_and(|key| Some(key) == public),
        };
        if !is_minisigned && !required.keys.iter().any(is_ours) {
            warning(&format!(
                "[registries.\"{}\"] requires one of its keys, and this did not sign with any: where it says so, wharf add \
                 refuses this version until one has signed it",
                required.path
            ));
        }
    }
    report::print(&format!("{}@{digest}", Reference { tag: None, ..reference }))?;
    Ok(ExitCode::SUCCESS)
}

fn signing_key(path: &Path) -> Result<SigningKey, Failure> {
    let wrong = |why: String, hint: &str| {
        let hint = hint.replace("FILE", &shell_word(path).to_string());
        Failure::usage(format!("read the key {}: {why}", path.shown())).hint(hint)
    };
    let text = private::read_text(path, MAX_KEY)
        .map_err(|error| wrong(error.to_string(), "if it is in DER: openssl pkey -inform DER -in FILE -out key.pem"))?;
    SigningKey::from_pem(&text).map_err(|(why, hint)| wrong(why.to_owned(), hint))
}

/// What is said of the signature of minisign beside a file. With keys of minisign in the configuration, one must have
/// made it.
fn check_minisig(config: &Config, reference: &Reference, file: &Path, component: &[u8]) -> Result<String, Failure> {
    let beside = signature_file(file);
    let mut keys = config.signatures.keys.clone();
    keys.extend(config.required_keys(&reference.repository).into_iter().flat_map(|required| required.keys).filter_map(
        |key| match key {
            PublisherKey::Minisign(key) => Some(key),
            PublisherKey::Cosign(_) => None,
        },
    ));
    if keys.is_empty() {
        return Ok(format!(
            "{} is published too, not checked: the configuration names no key of minisign",
            beside.shown()
        ));
    }
    match Signatures::new(&keys, true).unwrap_or_default().check(file, component) {
        Ok(Some(signer)) => Ok(format!("signed by {signer}, in {}", beside.shown())),
        _ => {
            Err(Failure::new(format!("publish {}: no key of the configuration made it for this file", beside.shown()))
                .hint(format!("sign the file again: minisign -S -m {}; or remove the signature", shell_word(file))))
        }
    }
}

fn is_url(text: &str) -> bool {
    text.parse::<http::Uri>()
        .is_ok_and(|uri| matches!(uri.scheme_str(), Some("https" | "http")) && uri.host().is_some())
}

/// Whether a text has the form of an expression of SPDX: names, with an operator between two.
fn could_be_spdx(text: &str) -> bool {
    let is_name = |word: &str| {
        !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '+' | ':'))
    };
    let text = text.replace(['(', ')'], " ");
    let words: Vec<&str> = text.split_whitespace().collect();
    words.len() % 2 == 1
        && words.iter().enumerate().all(|(at, word)| match at % 2 {
            0 => is_name(word),
            _ => ["AND", "OR", "WITH"].contains(word),
        })
}

/// The annotations of what a component says of itself.
fn said(component: &[u8]) -> Vec<(String, String)> {
    let mut annotations: Vec<(String, String)> = metadata(component)
        .into_iter()
        .map(|(section, text)| {
            let name = if section == "homepage" { "url" } else { section };
            (format!("org.opencontainers.image.{name}"), text)
        })
        .collect();
    let languages: Vec<String> = summarize(component).languages();
    if !languages.is_empty() {
        annotations.push((crate::registry::LANGUAGES.to_owned(), languages.join(", ")));
    }
    annotations
}

#[cfg(test)]
mod tests {
    use super::could_be_spdx;

    #[test]
    fn licences_are_expressions_of_spdx() {
        for text in ["MIT", "Apache-2.0 WITH LLVM-exception", "(MIT OR Apache-2.0) AND BSD-3-Clause", "LicenseRef-own"]
        {
            assert!(could_be_spdx(text), "{text}");
        }
        for text in ["", " ", "Do What", "MIT OR", "MIT Apache-2.0", "MIT or Apache-2.0", "MIT/Apache-2.0"] {
            assert!(!could_be_spdx(text), "{text}");
        }
    }
}
