//! `wharf add`, `update` and `remove`: plugins from registries, URLs and files, with what they are shown before they run.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use wharf_report::{ShowPath as _, line, shell_text, shell_word};

use super::fetch::{Fetch, Fetched, Origin};
use super::folder::{plugin_folder, served_folder};
use super::options::Options;
use super::origins::{self, OriginFile};
use super::place::{Change, Place, Step, is_component, is_other};
use super::target::{Target, plugin, unfound};
use crate::net::http::Http;
use crate::plugin::PluginId;
use crate::registry::Sha256;
use crate::report::{self, Failure, NAME, Screen};

#[derive(Args)]
pub(super) struct AddOptions {
    /// oci://HOST/PATH[:TAG][@sha256:…], https://…, or the path of a file
    reference: String,
    /// Folder of .wasm files [default: as for serve]
    dir: Option<PathBuf>,
    /// The plugin's name [default: the last part of the reference]
    #[arg(long)]
    name: Option<String>,
    /// Read it from a folder in OCI's image layout, as wharf save writes it, and not from the registry
    #[arg(long, value_name = "DIR")]
    layout: Option<PathBuf>,
    /// Skip the confirmation. Approves the version only; grants are set in the configuration
    #[arg(long)]
    yes: bool,
}

#[derive(Args)]
pub(super) struct UpdateOptions {
    /// The plugin's name or file [default: all that wharf.lock in the folder names]
    name: Option<String>,
    /// Folder of .wasm files [default: as for serve]
    dir: Option<PathBuf>,
    /// Get it from there from now on: another tag, or the source of a file that was not added
    #[arg(long, value_name = "REFERENCE", requires = "name")]
    to: Option<String>,
    /// Read from a folder in OCI's image layout, as wharf save writes it, and not from registries
    #[arg(long, value_name = "DIR")]
    layout: Option<PathBuf>,
    /// Skip the confirmation. Approves the version only; grants are set in the configuration
    #[arg(long)]
    yes: bool,
}

#[derive(Args)]
pub(super) struct RemoveOptions {
    /// The plugin's name or file
    name: String,
    /// Folder of .wasm files [default: as for serve]
    dir: Option<PathBuf>,
    /// Skip the confirmation
    #[arg(long)]
    yes: bool,
}

pub(super) async fn run(options: &Options, how: AddOptions, screen: &Screen) -> Result<ExitCode, Failure> {
    let config = options.config()?;
    let origin = Origin::parse(&how.reference)?;
    let id = match &how.name {
        Some(name) => plugin(name)?,
        None => origin.name()?,
    };
    let dir = served_folder(options, how.dir)?;
    let place = Place::open(options, &config, screen, &dir)?;
    let file = place.file_for(&id)?;
    if file.exists() {
        let (program, folder, reference) = (config.program(), shell_word(&dir), shell_text(&how.reference));
        return Err(Failure::usage(format!("add {id}: it is there already: {}", file.shown())).hint(format!(
            "to have this one in its place: {program} update {id} {folder} --to {reference}; to have both, give this one \
             another name: --name NAME"
        )));
    }
    // What is wrong with it is said before the question.
    OriginFile::of(&dir).read()?;
    let http = Http::default();
    let fetch = Fetch { options, config: &config, screen, http: &http, layout: how.layout.as_deref() };
    let fetched = fetch.fetch(&origin, &id).await?;
    let again = format!("{} add {} {} --name {id}", config.program(), shell_text(&how.reference), shell_word(&dir));
    let change = Change {
        file,
        origin: Some(fetched.origin(&origin.text())),
        notes: of_source(&origin),
        step: Step::Put(Box::new(fetched)),
        question: None,
        again,
        done: "added",
        id,
    };
    place.apply(&[change], how.yes).await?;
    Ok(ExitCode::SUCCESS)
}

/// What a person should know before a source is recorded.
fn of_source(origin: &Origin) -> Vec<String> {
    let note = match origin {
        Origin::Registry(_) => None,
        Origin::Url(uri) if uri.query().is_some() => {
            Some(format!("all of this URL is written into {}; keep secrets out of it", origins::FILE_NAME))
        }
        Origin::Url(_) => None,
        Origin::File(_) => Some(format!(
            "{} will name a path of this machine, from which no other can get it; wharf push publishes it",
            origins::FILE_NAME
        )),
    };
    note.into_iter().collect()
}

pub(super) async fn update(options: &Options, how: UpdateOptions, screen: &Screen) -> Result<ExitCode, Failure> {
    let config = options.config()?;
    // One word may be the folder.
    let (name, dir) = match (how.name, how.dir) {
        (Some(first), None) if Path::new(&first).is_dir() => (None, Some(PathBuf::from(first))),
        words => words,
    };
    let command = format!("{} update", config.program());
    let target = |name: &String| Target::of(&config, &command, name, dir.as_deref(), &[]);
    let (named, dir) = match name.as_ref().map(target).transpose()? {
        Some(Target { id, folder }) => (Some(id), plugin_folder(options, folder)?),
        None => (None, plugin_folder(options, dir)?),
    };
    let recorded = OriginFile::of(&dir).read()?.plugins;
    let to = how.to.as_deref().map(Origin::parse).transpose()?;
    let http = Http::default();
    let fetch = Fetch { options, config: &config, screen, http: &http, layout: how.layout.as_deref() };
    let place = Place::open(options, &config, screen, &dir)?;
    let Some(id) = named else {
        if to.is_some() {
            return Err(Failure::usage("update all plugins to one reference").hint("name the plugin".to_owned()));
        }
        return update_all(&fetch, &place, &recorded, how.yes).await;
    };
    let before = recorded.get(id.as_ref());
    if before.is_none() && !place.file_for(&id)?.exists() {
        return Err(unfound(&id, &dir, &place.files, None));
    }
    let origin = match (to, before) {
        (Some(to), _) => to,
        (None, Some(before)) => Origin::parse(&before.source)?,
        (None, None) => {
            let (file, folder) = (origins::FILE_NAME, dir.shown());
            return Err(Failure::usage(format!("update {id}: {file} in {folder} does not say where it is from")).hint(
                format!("say it: {} update {id} {} --to oci://HOST/PATH:TAG", config.program(), shell_word(&dir)),
            ));
        }
    };
    match newer(&fetch, &place, &id, before, &origin).await? {
        Some(change) => place.apply(&[change], how.yes).await?,
        None => report::message(&format!("{id} has its newest version")),
    }
    Ok(ExitCode::SUCCESS)
}

async fn update_all(
    fetch: &Fetch<'_>,
    place: &Place<'_>,
    recorded: &BTreeMap<String, origins::Origin>,
    yes: bool,
) -> Result<ExitCode, Failure> {
    let (mut changes, mut failed) = (Vec::new(), 0);
    for (name, before) in recorded {
        let one = async || {
            let origin = Origin::parse(&before.source)?;
            newer(fetch, place, &plugin(name)?, Some(before), &origin).await
        };
        match one().await {
            Ok(change) => changes.extend(change),
            // One that fails is not to keep the others old.
            Err(failure) => {
                failed += 1;
                report::failure(&failure);
            }
        }
    }
    let newest = recorded.len() - changes.len() - failed;
    if newest > 0 {
        report::message(&format!("{newest} of {} have their newest version", recorded.len()));
    }
    if !changes.is_empty() {
        place.apply(&changes, yes).await?;
    }
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The change to the newest version, if that is another one. `before`: what is recorded; `origin`: where it is to come from.
async fn newer(
    fetch: &Fetch<'_>,
    place: &Place<'_>,
    id: &PluginId,
    before: Option<&origins::Origin>,
    origin: &Origin,
) -> Result<Option<Change>, Failure> {
    let file = place.file_for(id)?;
    let source = origin.text();
    let is_moved = before.is_none_or(|before| before.source != source);
    let present = before.filter(|before| is_component(&file, before.component));
    let resolved = match origin {
        Origin::Registry(reference) => Some(fetch.resolve(reference).await?),
        _ => None,
    };
    let is_same = |digest: Option<Sha256>| !is_moved && present.is_some_and(|before| before.digest == digest);
    let is_unsigned = resolved.as_ref().is_some_and(|resolved| resolved.is_signature_missing(&file));
    if let Some(resolved) = resolved.as_ref().filter(|resolved| is_same(Some(resolved.artifact.digest)) && !is_unsigned)
    {
        // The configuration may require a key since it was added.
        fetch.check_signed(resolved, &file).await?;
        return Ok(None);
    }
    let fetched = match resolved {
        Some(resolved) => fetch.download(resolved, id).await?,
        None => fetch.fetch(origin, id).await?,
    };
    let has_component = present.is_some_and(|before| before.component == fetched.component);
    if has_component && is_same(fetched.digest) && !is_unsigned {
        return Ok(None);
    }
    if let Some(before) = before {
        let (was, is) = (before.digest.unwrap_or(before.component), fetched.digest.unwrap_or(fetched.component));
        report::message(&format!("{NAME}{id}{NAME:#}: from {was}\n{:width$}  to {is}", "", width = id.as_ref().len()));
    }
    let mut notes = if is_moved { of_source(origin) } else { Vec::new() };
    notes.extend((present.is_none() && file.exists()).then(|| of_replaced(&file)));
    let unsigned = signer_changed(id, before.and_then(|before| before.signer.as_deref()), &fetched);
    // A version is asked about anyway.
    let question = unsigned.is_some().then(|| format!("Record this of {id}, although it is not signed as before?"));
    notes.extend(unsigned);
    let recorded = Some(fetched.origin(&source));
    let (step, question) = if has_component && !is_unsigned {
        report::message(&of_same_component(id, &fetched));
        (Step::Record, question)
    } else {
        (Step::Put(Box::new(fetched)), None)
    };
    let to = if is_moved { format!(" --to {}", shell_text(&source)) } else { String::new() };
    let again = format!("{} update {id} {}{to}", place.config.program(), shell_word(place.dir));
    Ok(Some(Change { id: id.clone(), step, file, origin: recorded, notes, question, again, done: "updated" }))
}

/// What is said of a version whose component is there already.
pub(super) fn of_same_component(id: &PluginId, fetched: &Fetched) -> String {
    format!("{NAME}{id}{NAME:#}: the same component, published anew\n{}", fetched.published.about).trim_end().to_owned()
}

/// Of a file that goes, and is not what was added.
pub(super) fn of_replaced(file: &Path) -> String {
    format!("this replaces {}, which is no version that was added", file.shown())
}

/// That a version is not signed by the same key as the one before.
pub(super) fn signer_changed(id: &PluginId, before: Option<&str>, fetched: &Fetched) -> Option<String> {
    let was = before?;
    let now = fetched.signer.as_deref();
    (now != Some(was)).then(|| match now {
        Some(now) => format!("{id} was signed by {}, and is signed now by {now}", line(was)),
        None => format!("{id} was signed by {}, and now by no key that the configuration names", line(was)),
    })
}

pub(super) async fn remove(options: &Options, how: RemoveOptions, screen: &Screen) -> Result<ExitCode, Failure> {
    let config = options.config()?;
    let command = format!("{} remove", config.program());
    let Target { id, folder } = Target::of(&config, &command, &how.name, how.dir.as_deref(), &[])?;
    let dir = plugin_folder(options, folder)?;
    let place = Place::open(options, &config, screen, &dir)?;
    let origins = OriginFile::of(&dir).read()?.plugins;
    let origin = origins.get(id.as_ref());
    if place.files.get(&id).is_none() && origin.is_none() {
        return Err(unfound(&id, &dir, &place.files, None));
    }
    let again = format!("{} remove {id} {}", config.program(), shell_word(&dir));
    let file = place.file_of(&id);
    let mut change = Change::removal(id, file, again);
    if origin.is_some_and(|origin| is_other(&change.file, origin.component)) {
        change.notes.push(format!("{} is no version that was added", change.file.shown()));
    }
    place.apply(&[change], how.yes).await?;
    report::message("its grants stay in the configuration");
    Ok(ExitCode::SUCCESS)
}
