//! `wharf push`: publishes a component to a registry, with what `wharf add` shows of it, and a signature.

use std::path::PathBuf;
use std::process::ExitCode;

use bytes::Bytes;
use clap::Args;
use wharf_report::ShowPath as _;

use super::fetch::{failure, signature_beside};
use super::options::Options;
use crate::config::GrantWord;
use crate::os::private;
use crate::plugin::{could_be_plugin, inspect, metadata, read_component, summarize};
use crate::registry::{GRANTS, Http, MINISIG, Publication, Reference, Registry, SHOWN, SigningKey};
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
    #[arg(long, value_name = "LICENCE")]
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
    let key = how.key.as_deref().map(|path| {
        let wrong = |why: String| {
            Failure::usage(format!("read the key {}: {why}", path.shown())).hint(
                "make one with: openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out key.pem".to_owned(),
            )
        };
        let text = private::read_text(path, MAX_KEY).map_err(|error| wrong(error.to_string()))?;
        SigningKey::from_pem(&text).map_err(|why| wrong(why.to_owned()))
    });
    let key = key.transpose()?;
    let mut annotations = said(&component);
    let mut set = |key: &str, value: String| {
        annotations.retain(|(own, _)| own != key);
        annotations.push((key.to_owned(), value));
    };
    let title = how.file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    for (label, value) in [("about", &how.description), ("source", &how.source), ("licence", &how.licence)] {
        let key = SHOWN.iter().find(|(_, own)| *own == label).map_or(label, |(key, _)| key);
        value.iter().for_each(|value| set(key, value.clone()));
    }
    for annotation in &how.annotations {
        let (key, value) = annotation.split_once('=').ok_or_else(|| {
            Failure::usage(format!("read the annotation {annotation:?}")).hint("write KEY=VALUE".to_owned())
        })?;
        set(key, value.to_owned());
    }
    for grant in &how.grants {
        GrantWord::parse(grant).map_err(|(why, hint)| Failure::usage(why).hint(hint))?;
    }
    set(GRANTS, how.grants.join("\n"));
    if let Some(signature) = signature_beside(&how.file)? {
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
    let digest = screen.timed(&format!("publishing {reference}"), pushing).await.map_err(failed)?;
    report::message(&format!("{NAME}published{NAME:#} {reference}"));
    if let Some(public) = key.as_ref().and_then(SigningKey::public) {
        report::message(&format!(
            "signed by {public}; those who add it configure this key:\n{}",
            public.to_pem().trim_end()
        ));
    }
    report::print(&format!("{}@{digest}", Reference { tag: None, ..reference }))?;
    Ok(ExitCode::SUCCESS)
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
