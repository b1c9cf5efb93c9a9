//! `wharf sync` and `wharf save`: a folder equal to a list that is committed, from registries or from a saved layout.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use wharf_report::{ShowPath as _, line, shell_text, shell_word, warning};

use super::add::{of_replaced, of_same_component, signer_changed};
use super::fetch::{Fetch, Origin, failure};
use super::folder::served_folder;
use super::options::Options;
use super::origins::{self, OriginFile};
use super::place::{Change, Place, Step, is_component, is_other};
use super::survey::choice_in;
use super::target::plugin;
use super::wiring::{lock, lock_failure};
use crate::config::Config;
use crate::net::http::Http;
use crate::plugin::{PluginId, content_of, signature_file};
use crate::registry::{Layout, Reference};
use crate::report::{self, Failure, NAME, Screen};

#[derive(Args)]
pub(super) struct SyncOptions {
    /// A file as wharf.lock
    file: PathBuf,
    /// Folder of .wasm files [default: as for serve]
    dir: Option<PathBuf>,
    /// Read from a folder in OCI's image layout, as wharf save writes it, and not from registries
    #[arg(long, value_name = "DIR")]
    layout: Option<PathBuf>,
    /// Skip the confirmations. Approves the versions of the file; grants are set in the configuration
    #[arg(long)]
    yes: bool,
}

#[derive(Args)]
pub(super) struct SaveOptions {
    /// A file as wharf.lock, or one reference: oci://HOST/PATH[:TAG][@sha256:…]
    what: String,
    /// The folder of the layout; created if it is missing
    layout: PathBuf,
}

pub(super) async fn run(options: &Options, how: SyncOptions, screen: &Screen) -> Result<ExitCode, Failure> {
    let config = options.config()?;
    if !how.file.is_file() {
        return Err(Failure::usage(format!("find the file {}", how.file.shown()))
            .hint(format!("name a file as {}, which wharf add writes into its folder", origins::FILE_NAME)));
    }
    let wanted = OriginFile::at(&how.file).read()?.plugins;
    let dir = served_folder(options, how.dir)?;
    let recorded = OriginFile::of(&dir).read()?.plugins;
    let http = Http::default();
    let fetch = Fetch { options, config: &config, screen, http: &http, layout: how.layout.as_deref() };
    let place = Place::open(options, &config, screen, &dir)?;
    let again = format!("{} sync {} {}", config.program(), shell_word(&how.file), shell_word(&dir));
    // All is fetched and compared before the first question.
    let mut changes = Vec::new();
    for (name, origin) in &wanted {
        let mut change = missing(&fetch, &place, &plugin(name)?, origin, recorded.get(name), &how.file, &again).await?;
        if let (Some(change), Some(before)) = (&mut change, recorded.get(name))
            && before.source != origin.source
        {
            let (id, from, to) = (&change.id, line(&before.source), line(&origin.source));
            change.question = Some(format!("Get {id} from {to} from now on, and no longer from {from}?"));
        }
        changes.extend(change);
    }
    // What was added here before, and is not in the file.
    for (name, origin) in recorded.iter().filter(|(name, _)| !wanted.contains_key(*name)) {
        let id = plugin(name)?;
        let file = place.file_for(&id)?;
        let mut change = Change::removal(id, file, again.clone());
        // Another one of that name was not added.
        if is_other(&change.file, origin.component) {
            change = Change { step: Step::Record, question: None, done: "recorded", ..change };
        }
        changes.push(change);
    }
    if !changes.is_empty() {
        place.apply(&changes, how.yes).await?;
    }
    let mut others = 0;
    for (id, path) in choice_in(&config, &dir)?.in_order() {
        if !wanted.contains_key(id.as_ref()) {
            others += 1;
            warning(&format!("{} is not in {}; it stays", path.shown(), how.file.shown()));
        }
    }
    let is_equal = if others == 0 { "is equal to" } else { "has what is in" };
    let changes = match changes.len() {
        1 => "1 change".to_owned(),
        count => format!("{count} changes"),
    };
    report::message(&format!("{} {is_equal} {}: {changes}", dir.shown(), how.file.shown()));
    Ok(if others == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What is missing until a plugin is as a list has it. `before`: what is recorded in the folder.
async fn missing(
    fetch: &Fetch<'_>,
    place: &Place<'_>,
    id: &PluginId,
    origin: &origins::Origin,
    before: Option<&origins::Origin>,
    list: &Path,
    again: &str,
) -> Result<Option<Change>, Failure> {
    let file = place.file_for(id)?;
    // Who signed it, only this machine's own checks say.
    let known = before.filter(|before| before.component == origin.component && before.digest == origin.digest);
    let recorded = origins::Origin { signer: known.and_then(|known| known.signer.clone()), ..origin.clone() };
    let change = |step, done, notes, recorded| {
        let (id, again, file) = (id.clone(), again.to_owned(), file.clone());
        Some(Change { id, step, file, origin: Some(recorded), notes, question: None, again, done })
    };
    let is_there = is_component(&file, origin.component);
    let is_recorded = before == Some(&recorded);
    let has_signature = !recorded.is_signed_beside() || signature_file(&file).exists();
    if is_there && is_recorded && has_signature {
        let is_approved = is_approved(place.config, id, &file)?;
        return Ok(if is_approved { None } else { change(Step::Approve, "recorded", Vec::new(), recorded) });
    }
    if !is_there && file.exists() && before.is_none() {
        let (program, folder, source) = (place.config.program(), shell_word(place.dir), shell_text(&origin.source));
        return Err(Failure::usage(format!("get {id}: its file is there, and was not added: {}", file.shown())).hint(
            format!("move it away; or, to have that one in its place: {program} update {id} {folder} --to {source}"),
        ));
    }
    let from = exact(origin)?;
    let fetched = fetch.fetch(&from, id).await?;
    if fetched.component != origin.component {
        let (from, list) = (from.text(), list.shown());
        return Err(Failure::new(format!(
            "get {id}: {from} has another component than {list} names: {}",
            fetched.component
        ))
        .hint("it was replaced there; nothing was changed".to_owned()));
    }
    let claimed = origin.signer.as_ref().filter(|claimed| fetched.signer.as_ref() != Some(*claimed));
    let claimed = || {
        claimed.map(|signer| format!("the list says that {id} is signed by {}, which was not checked", line(signer)))
    };
    let changed = signer_changed(id, before.and_then(|before| before.signer.as_deref()), &fetched);
    let mut notes: Vec<String> = changed.or_else(claimed).into_iter().collect();
    notes.extend(before.filter(|before| is_other(&file, before.component)).map(|_| of_replaced(&file)));
    let recorded = fetched.origin(&origin.source);
    // What a list says of a source is recorded only when the source says it too.
    if is_there && has_signature {
        report::message(&of_same_component(id, &fetched));
        let step = if is_approved(place.config, id, &file)? { Step::Record } else { Step::Approve };
        return Ok(change(step, "recorded", notes, recorded));
    }
    let done = if file.exists() { "updated" } else { "added" };
    Ok(change(Step::Put(Box::new(fetched)), done, notes, recorded))
}

fn is_approved(config: &Config, id: &PluginId, file: &Path) -> Result<bool, Failure> {
    let pins = lock(config)?.read().map_err(lock_failure)?;
    Ok(pins.get(id).is_some_and(|pin| pin.approved && content_of(file) == Some(pin.content)))
}

/// The origin of exactly the version that a file names.
fn exact(origin: &origins::Origin) -> Result<Origin, Failure> {
    Ok(match (Origin::parse(&origin.source)?, origin.digest) {
        (Origin::Registry(reference), Some(digest)) => Origin::Registry(reference.at(digest)),
        (Origin::File(path), _) => {
            // A path is of one machine, and a list could name any file of another one.
            return Err(Failure::usage(format!("get a plugin from {}, which is a file", path.shown()))
                .hint("publish it with wharf push, and add it from there".to_owned()));
        }
        (other, _) => other,
    })
}

pub(super) async fn save_to(options: &Options, how: SaveOptions, screen: &Screen) -> Result<ExitCode, Failure> {
    let config = options.config()?;
    let named = how.what.parse::<Reference>();
    let is_reference = named.is_ok();
    let wanted: Vec<Reference> = match named {
        Ok(reference) => vec![reference],
        Err(_) => {
            let path = PathBuf::from(&how.what);
            if !path.is_file() {
                let what = format!("find {}: neither a reference nor a file", shell_text(&how.what));
                return Err(
                    Failure::usage(what).hint("write oci://HOST/PATH:TAG, or the path of a wharf.lock".to_owned())
                );
            }
            let mut wanted = Vec::new();
            for (name, origin) in OriginFile::at(&path).read()?.plugins {
                match exact(&origin)? {
                    Origin::Registry(reference) => wanted.push(reference),
                    other => {
                        return Err(Failure::new(format!("save {name}: it is not from a registry: {}", other.text()))
                            .hint("publish it with wharf push, and add it from there".to_owned()));
                    }
                }
            }
            wanted
        }
    };
    let http = Http::default();
    let fetch = Fetch { options, config: &config, screen, http: &http, layout: None };
    let mut layout = Layout::create(&how.layout).map_err(|error| failure("write the layout", error))?;
    for reference in &wanted {
        let resolved = fetch.resolve(reference).await?;
        fetch.save(&resolved, &mut layout).await?;
        let digest = resolved.artifact.digest;
        report::message(&format!("{NAME}saved{NAME:#} {}", reference.at(digest)));
    }
    let verb = if is_reference { "add" } else { "sync" };
    let what = shell_text(&how.what);
    let command = format!("{} {verb} {what} --layout {}", config.program(), shell_word(&how.layout));
    report::message(&format!("to use it: {command}"));
    Ok(ExitCode::SUCCESS)
}
