//! `wharf add`, `update` and `remove`: plugins from registries, URLs and files, with what they are shown before they run.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use wharf_report::{ShowPath as _, shell_text, shell_word, warning};

use super::approve::{self, Reviewer};
use super::confirm::{confirm, declined};
use super::dev;
use super::fetch::{Fetch, Fetched, Origin, is_component, title};
use super::folder::plugin_folder;
use super::options::Options;
use super::origins::{self, OriginFile};
use super::survey::files_of;
use super::target::{plugin, unfound};
use super::wiring::is_reserved;
use crate::audit::Audit;
use crate::catalog::Ignored;
use crate::config::Config;
use crate::os::files;
use crate::plugin::text::printable;
use crate::plugin::{PluginId, signature_file};
use crate::registry::{Http, Sha256};
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
    /// The plugin's name [default: all that wharf.lock in the folder names]
    name: Option<String>,
    /// Folder of .wasm files [default: as for serve]
    dir: Option<PathBuf>,
    /// Skip the confirmation. Approves the version only; grants are set in the configuration
    #[arg(long)]
    yes: bool,
}

#[derive(Args)]
pub(super) struct RemoveOptions {
    /// The plugin's name
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
    if is_reserved(&config, &id) {
        let reserved = Ignored::NameReserved(id);
        return Err(Failure::usage(reserved.to_string()).hint("give it another name: --name NAME".to_owned()));
    }
    let dir = plugin_folder(options, how.dir)?;
    if let Some(file) = files_of(&config, &dir)?.get(&id) {
        let program = config.program();
        return Err(Failure::usage(format!("add {id}: it is there already: {}", file.shown())).hint(format!(
            "to get its newest version: {program} update {id} {}; to have both, give this one another name: --name NAME",
            shell_word(&dir)
        )));
    }
    // What is wrong with it is said before the question.
    OriginFile::of(&dir).read()?;
    let http = Http::default();
    let fetch = Fetch { options, config: &config, screen, http: &http, layout: how.layout.as_deref() };
    let fetched = fetch.fetch(&origin, &id).await?;
    let again = format!("{} add {} {} --name {id}", config.program(), shell_text(&how.reference), shell_word(&dir));
    let place = Place { options, config: &config, screen, dir: &dir };
    place.take(&id, &origin.text(), fetched, &again, how.yes).await?;
    report::message(&format!("{NAME}added{NAME:#} {id} to {}", dir.shown()));
    Ok(ExitCode::SUCCESS)
}

/// The folder that plugins are put into.
pub(super) struct Place<'a> {
    pub(super) options: &'a Options,
    pub(super) config: &'a Config,
    pub(super) screen: &'a Screen,
    pub(super) dir: &'a Path,
}

impl Place<'_> {
    /// Shows a component that was fetched, asks, and on yes pins it, puts it into the folder, and records where it is from.
    /// `source` is recorded; `again` is the command.
    pub(super) async fn take(
        &self,
        id: &PluginId,
        source: &str,
        fetched: Fetched,
        again: &str,
        yes: bool,
    ) -> Result<(), Failure> {
        let Self { options, config, screen, dir } = *self;
        report::message(format!("{}{}", title(id), fetched.about).trim_end());
        let (asks, wishes) = self.wishes(id, &fetched).await;
        if !asks.is_empty() {
            let lines: String = asks.iter().map(|wish| format!("\n  {wish}")).collect();
            report::message(&format!(
                "its publisher says that it can use these grants, which it is not given by this:{lines}"
            ));
        }
        let sandbox = options.sandbox(config, &[dir.to_owned()], Audit::default()).await?;
        let file = dir.join(format!("{id}.wasm"));
        let was_there = fs::symlink_metadata(&file).is_ok();
        let reviewer = Reviewer { options, config, sandbox: &sandbox, screen };
        let shown = approve::File { id, path: fetched.path(), place: &file, folder: dir, again };
        if !reviewer.decide(shown, yes).await? {
            return Err(declined());
        }
        if !was_there && fs::symlink_metadata(&file).is_ok() {
            return Err(Failure::new(format!(
                "put {id} into its folder: since the question, {} appeared",
                file.shown()
            ))
            .hint("its version is approved; look at the file, then run the command again".to_owned()));
        }
        put(&fetched, &file).map_err(|error| {
            Failure::new(format!("write {}: {error}; its version is approved", file.shown()))
                .hint(format!("make room or the folder writable, then again: {again}"))
        })?;
        let origin = fetched.origin(source);
        OriginFile::of(dir).edit(|plugins| drop(plugins.insert(id.to_string(), origin)))?;
        if let Some(command) = wishes {
            report::message(&format!("to grant it what it can use: {command}"));
        }
        Ok(())
    }

    /// What its publisher would like it to be granted, in lines, and the command that does that.
    async fn wishes(&self, id: &PluginId, fetched: &Fetched) -> (Vec<String>, Option<String>) {
        if !fetched.wishes.is_empty() {
            let words: Vec<String> = fetched.wishes.iter().map(|wish| shell_text(wish.text())).collect();
            let folder = shell_word(self.dir);
            let command = format!("{} grant {id} {folder} {}", self.config.program(), words.join(" "));
            return (fetched.wishes.iter().map(|wish| printable(wish.text())).collect(), Some(command));
        }
        let Some(policy) = &fetched.policy else { return (Vec::new(), None) };
        match dev::grants_of_policy(self.options, id, policy).await {
            Some(lines) => (lines, None),
            None => (vec!["a policy of Wassette, which this program cannot convert".to_owned()], None),
        }
    }
}

/// Puts what was fetched into a folder at once, with its signature, which is there first; with the permissions of new
/// files, and not of private ones.
fn put(fetched: &Fetched, to: &Path) -> io::Result<()> {
    let bytes = fs::read(fetched.path())?;
    if Sha256::of(&bytes) != fetched.component {
        return Err(io::Error::other("its download was changed meanwhile"));
    }
    let (signature, beside) = (signature_file(fetched.path()), signature_file(to));
    if signature.exists() {
        files::replace(&beside, &fs::read(&signature)?)?;
    } else if beside.exists() {
        // That of the version before.
        fs::remove_file(&beside)?;
    }
    files::replace(to, &bytes)
}

/// Removes a plugin's file, and its signature.
pub(super) fn remove_file(file: &Path) -> Result<(), Failure> {
    fs::remove_file(file).map_err(|error| Failure::new(format!("remove {}: {error}", file.shown())))?;
    // It may have none.
    let _ = fs::remove_file(signature_file(file));
    Ok(())
}

pub(super) async fn update(options: &Options, how: UpdateOptions, screen: &Screen) -> Result<ExitCode, Failure> {
    let config = options.config()?;
    // One word may be the folder.
    let (name, dir) = match (how.name, how.dir) {
        (Some(first), None) if Path::new(&first).is_dir() => (None, Some(PathBuf::from(first))),
        words => words,
    };
    let dir = plugin_folder(options, dir)?;
    let recorded = OriginFile::of(&dir).read()?.plugins;
    let wanted = name.as_deref().map(plugin).transpose()?;
    if let Some(id) = wanted.as_ref().filter(|id| !recorded.contains_key(id.as_ref())) {
        let (file, folder) = (origins::FILE_NAME, dir.shown());
        return Err(Failure::usage(format!("update {id}: {file} in {folder} does not say where it is from"))
            .hint(format!("add it from a registry: {} add oci://HOST/PATH:TAG", config.program())));
    }
    let http = Http::default();
    let fetch = Fetch { options, config: &config, screen, http: &http, layout: None };
    let place = Place { options, config: &config, screen, dir: &dir };
    let (mut failed, mut newest) = (0, 0);
    for (name, before) in &recorded {
        let id = plugin(name)?;
        if wanted.as_ref().is_some_and(|wanted| *wanted != id) {
            continue;
        }
        match update_one(&fetch, &place, &id, before, how.yes).await {
            Ok(true) => report::message(&format!("{NAME}updated{NAME:#} {id}")),
            Ok(false) => newest += 1,
            // One that fails is not to keep the others old.
            Err(failure) if wanted.is_none() => {
                failed += 1;
                report::failure(&failure);
            }
            Err(failure) => return Err(failure),
        }
    }
    if newest > 0 {
        report::message(&format!("{newest} have their newest version"));
    }
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Whether there was another version.
async fn update_one(
    fetch: &Fetch<'_>,
    place: &Place<'_>,
    id: &PluginId,
    before: &origins::Origin,
    yes: bool,
) -> Result<bool, Failure> {
    let origin = Origin::parse(&before.source)?;
    let file = place.dir.join(format!("{id}.wasm"));
    let is_there = is_component(&file, before.component);
    let resolved = match &origin {
        Origin::Registry(reference) => Some(fetch.resolve(reference).await?),
        _ => None,
    };
    if is_there && resolved.as_ref().is_some_and(|resolved| before.digest == Some(resolved.artifact.digest)) {
        return Ok(false);
    }
    if file.exists() && !is_there {
        warning(&format!("{} is not the version that {} names; this replaces it", file.shown(), origins::FILE_NAME));
    }
    let fetched = match resolved {
        Some(resolved) => fetch.download(resolved, id).await?,
        None => fetch.fetch(&origin, id).await?,
    };
    let is_same = fetched.component == before.component && is_there;
    if is_same && fetched.digest == before.digest {
        return Ok(false);
    }
    let (was, is) = (before.digest.unwrap_or(before.component), fetched.digest.unwrap_or(fetched.component));
    report::message(&format!("{NAME}{id}{NAME:#}: from {was}\n{:width$}  to {is}", "", width = id.as_ref().len()));
    if before.signer.is_some() && fetched.signer != before.signer {
        let (was, is) = (before.signer.as_deref().unwrap_or_default(), fetched.signer.as_deref().unwrap_or("nobody"));
        warning(&format!("{id} was signed by {was}, and is signed now by {is}"));
    }
    if is_same {
        report::message(format!("the same component, published anew\n{}", fetched.about).trim_end());
        let origin = fetched.origin(&before.source);
        OriginFile::of(place.dir).edit(|plugins| drop(plugins.insert(id.to_string(), origin)))?;
        return Ok(true);
    }
    let again = format!("{} update {id} {}", place.config.program(), shell_word(place.dir));
    place.take(id, &before.source, fetched, &again, yes).await?;
    Ok(true)
}

pub(super) async fn remove(options: &Options, how: RemoveOptions) -> Result<ExitCode, Failure> {
    let config = options.config()?;
    let id = plugin(&how.name)?;
    let dir = plugin_folder(options, how.dir)?;
    let files = files_of(&config, &dir)?;
    let recorded = OriginFile::of(&dir);
    let is_recorded = recorded.read()?.plugins.contains_key(id.as_ref());
    let file = files.get(&id);
    if file.is_none() && !is_recorded {
        return Err(unfound(&id, &dir, &files, None));
    }
    if let Some(file) = file {
        confirm(&format!("Remove {}?", file.shown()), how.yes)?;
        remove_file(file)?;
    }
    if is_recorded {
        recorded.edit(|plugins| drop(plugins.remove(id.as_ref())))?;
    }
    report::message(&format!("{NAME}removed{NAME:#} {id}; its grants stay in the configuration"));
    Ok(ExitCode::SUCCESS)
}
