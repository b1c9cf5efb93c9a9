//! `wharf sync` and `wharf save`: a folder equal to a list that is committed, from registries or from a saved layout.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use wharf_report::{ShowPath as _, line, shell_text, shell_word, warning};

use super::add::{Place, remove_file};
use super::approve::{self, Reviewer};
use super::confirm::{confirm, declined};
use super::fetch::{Fetch, Origin, failure, is_component};
use super::folder::plugin_folder;
use super::options::Options;
use super::origins::{self, OriginFile};
use super::survey::files_of;
use super::target::plugin;
use super::wiring::{lock, lock_failure};
use crate::audit::Audit;
use crate::plugin::{PluginId, content_of};
use crate::registry::{Http, Layout, Reference};
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
    let dir = plugin_folder(options, how.dir)?;
    let own = OriginFile::of(&dir);
    let recorded = own.read()?.plugins;
    let http = Http::default();
    let fetch = Fetch { options, config: &config, screen, http: &http, layout: how.layout.as_deref() };
    let place = Place { options, config: &config, screen, dir: &dir };
    let program = config.program();
    let again = format!("{program} sync {} {}", shell_word(&how.file), shell_word(&dir));
    let mut changed = 0;
    for (name, origin) in &wanted {
        let id = plugin(name)?;
        let file = dir.join(format!("{id}.wasm"));
        if is_component(&file, origin.component) {
            changed += usize::from(approve_present(&place, &id, &file, &again, how.yes).await?);
            if let Some(before) = recorded.get(name).filter(|before| before.source != origin.source) {
                let (from, to) = (line(&before.source), line(&origin.source));
                confirm(&format!("Get {id} from {to} from now on, and no longer from {from}?"), how.yes)?;
            }
            if recorded.get(name) != Some(origin) {
                own.edit(|plugins| drop(plugins.insert(name.clone(), origin.clone())))?;
            }
            continue;
        }
        if file.exists() && !recorded.contains_key(name) {
            return Err(Failure::usage(format!(
                "get {id}: its file is there already, and was not added: {}",
                file.shown()
            ))
            .hint("move it away, or give it another name".to_owned()));
        }
        let from = exact(origin)?;
        let fetched = fetch.fetch(&from, &id).await?;
        if fetched.component != origin.component {
            return Err(Failure::new(format!(
                "get {id}: {} has another component than {} names: {}",
                from.text(),
                how.file.shown(),
                fetched.component
            ))
            .hint("it was replaced there; nothing was changed".to_owned()));
        }
        place.take(&id, &origin.source, fetched, &again, how.yes).await?;
        changed += 1;
    }
    // What was added here before, and is not in the file.
    for name in recorded.keys().filter(|name| !wanted.contains_key(*name)) {
        let id = plugin(name)?;
        let file = dir.join(format!("{id}.wasm"));
        if file.exists() {
            confirm(&format!("Remove {}, which the file does not name?", file.shown()), how.yes)?;
            remove_file(&file)?;
        }
        own.edit(|plugins| drop(plugins.remove(name)))?;
        report::message(&format!("{NAME}removed{NAME:#} {id}"));
        changed += 1;
    }
    let mut others = 0;
    for (id, path) in files_of(&config, &dir)?.in_order() {
        if !wanted.contains_key(id.as_ref()) {
            others += 1;
            warning(&format!("{} is not in {}; it stays", path.shown(), how.file.shown()));
        }
    }
    let is_equal = if others == 0 { "is equal to" } else { "has what is in" };
    report::message(&format!("{} {is_equal} {}: {changed} changes", dir.shown(), how.file.shown()));
    Ok(if others == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Approves a file that is there already, unless it is approved; returns whether it was not.
async fn approve_present(
    place: &Place<'_>,
    id: &PluginId,
    file: &Path,
    again: &str,
    yes: bool,
) -> Result<bool, Failure> {
    let pins = lock()?.read().map_err(lock_failure)?;
    let is_approved = pins.get(id).is_some_and(|pin| pin.approved && content_of(file) == Some(pin.content));
    if is_approved {
        return Ok(false);
    }
    let sandbox = place.options.sandbox(place.config, &[place.dir.to_owned()], Audit::default()).await?;
    let reviewer = Reviewer { options: place.options, config: place.config, sandbox: &sandbox, screen: place.screen };
    let shown = approve::File { id, path: file, place: file, folder: place.dir, again };
    if reviewer.decide(shown, yes).await? { Ok(true) } else { Err(declined()) }
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
