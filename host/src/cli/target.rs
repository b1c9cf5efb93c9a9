//! Which plugin a command is about: a person gives its name, or its file, and the folder that it is in.

use std::path::{Path, PathBuf};

use wharf_report::{ShowPath as _, shell_text, shell_word};

use super::folder::{folder_at, is_file, near_path};
use super::survey::choice_in;
use crate::catalog::{Choice, plugin_of};
use crate::config::Config;
use crate::plugin::PluginId;
use crate::protocol::nearest::{did_you_mean, nearest};
use crate::report::Failure;
use crate::skills;

/// Names in a hint.
const SUGGESTIONS: usize = 8;

/// A plugin, and the folder that was named with it.
pub(super) struct Target {
    pub(super) id: PluginId,
    pub(super) folder: Option<PathBuf>,
}

impl Target {
    /// `named`: a plugin's name, with or without `.wasm`, or the path of its file. `folder`: a folder, or that file.
    /// `command` is what takes both, and `rest` its other words; for hints.
    ///
    /// # Errors
    /// If a word is none of these, or they are about two plugins or folders; or if a file is not the one that its folder
    /// serves as that plugin: the command would be about another one than the person named.
    pub(super) fn of(
        config: &Config,
        command: &str,
        named: &str,
        folder: Option<&Path>,
        rest: &[String],
    ) -> Result<Self, Failure> {
        let path = Path::new(named);
        let rest: String = rest.iter().map(|word| format!(" {}", shell_text(word))).collect();
        if path.is_dir() && folder.map_or_else(|| !is_plain(path), |folder| !folder.is_dir()) {
            let id = folder.and_then(|folder| plugin(&folder.to_string_lossy()).ok());
            let id = id.map_or_else(|| "NAME".to_owned(), |id| id.to_string());
            return Err(Failure::usage(format!("read the plugin's name: {} is a folder", path.shown()))
                .hint(format!("write the name first, then the folder: {command} {id} {}{rest}", shell_word(path))));
        }
        // A name may end in `.wasm`; the file of that name need not be here.
        let file = (is_file(path) && (!is_plain(path) || path.exists())).then_some(path);
        let id = match file.and_then(plugin_of) {
            Some(id) => id.map_err(|ignored| Failure::usage(ignored.to_string()).hint(ignored.hint()))?,
            None => plugin(named)?,
        };
        let by_name = format!("{command} {id}{rest}");
        file.map_or(Ok(()), |file| require_served(config, &id, file, &by_name))?;
        let Some(folder) = folder else {
            return Ok(Self { id, folder: file.map(|file| folder_at(file).to_owned()) });
        };
        let is_of_another = is_file(folder) && plugin_of(folder).is_some_and(|other| other.is_ok_and(|own| own != id));
        if is_of_another {
            return Err(Failure::usage(format!("find {id} in {}: that is another plugin's file", folder.shown()))
                .hint(format!("name one of the two: {command} {}{rest}", shell_word(folder))));
        }
        if is_file(folder) {
            require_served(config, &id, folder, &by_name)?;
        }
        let folder = folder_at(folder);
        if let Some(file) = file.filter(|file| !is_same(folder_at(file), folder)) {
            return Err(Failure::usage(format!("find {} in {}", file.shown(), folder.shown()))
                .hint(format!("name the file alone: {command} {}{rest}", shell_word(file))));
        }
        Ok(Self { id, folder: Some(folder.to_owned()) })
    }
}

/// `by_name`: the command for the plugin, in whatever folder it is.
fn require_served(config: &Config, id: &PluginId, file: &Path, by_name: &str) -> Result<(), Failure> {
    if !file.exists() {
        let near = near_path(file);
        return Err(Failure::usage(format!("find the file {}", file.shown()))
            .hint(near.unwrap_or_else(|| format!("to name the plugin, and no file: {by_name}"))));
    }
    // What is wrong with the folder, the command says.
    let served = choice_in(config, folder_at(file)).ok();
    match served.as_ref().and_then(|files| files.get(id)).filter(|served| !is_same(served, file)) {
        None => Ok(()),
        Some(served) => Err(Failure::usage(format!("use {}: the plugin {id} is another file there", file.shown()))
            .hint(format!("a server takes {}; look at both, and remove or rename one of them", served.shown()))),
    }
}

/// Whether a path is one name.
fn is_plain(path: &Path) -> bool {
    path.components().count() == 1 && path.file_name() == Some(path.as_os_str())
}

/// Whether two paths lead to the same folder. One that is not there is another one.
pub(super) fn is_same(one: &Path, other: &Path) -> bool {
    let resolved = |path: &Path| path.canonicalize().ok();
    resolved(one).is_some_and(|one| resolved(other) == Some(one))
}

/// The plugin of this name, with or without `.wasm`; or the skill, named as `skill:NAME`.
///
/// # Errors
/// If no plugin can have the name.
pub(super) fn plugin(name: &str) -> Result<PluginId, Failure> {
    if let Some(skill) = PluginId::parse_skill(name) {
        return Ok(skill);
    }
    PluginId::of_file(name.strip_suffix(".wasm").unwrap_or(name)).map_err(|error| Failure::usage(error.to_string()))
}

/// The failure for a name of which a folder has no file, or only one that is left out. `command` is as for [`of_unknown`].
pub(super) fn unfound(id: &PluginId, dir: &Path, files: &Choice, command: Option<&str>) -> Failure {
    let is_named = |path: &Path| plugin_of(path).is_some_and(|named| named.is_ok_and(|own| own == *id));
    if let Some((path, why)) = files.left_out.iter().find(|(path, _)| is_named(path)) {
        return Failure::usage(format!("{why}: {}", path.shown())).hint(why.hint());
    }
    let skill = dir.join(skills::FOLDER).join(id.as_ref()).is_dir().then(|| PluginId::of_skill(id.as_ref()));
    let hint = match skill {
        Some(skill) => format!("did you mean the skill of that name, {skill}?"),
        None => of_unknown(id, files.names(), command),
    };
    Failure::usage(format!("find the plugin {id} in {}", dir.shown())).hint(hint)
}

/// The hint for a name that no plugin has. `names` are those that are known; `command` is the one that takes a folder, if
/// the person named none.
pub(super) fn of_unknown<'n>(
    id: &PluginId,
    names: impl Iterator<Item = &'n str> + Clone,
    command: Option<&str>,
) -> String {
    if let Some(meant) = meant(id, names.clone()) {
        return meant;
    }
    let mut known = nearest(id.as_ref(), names.clone(), SUGGESTIONS);
    known.sort_unstable();
    let known = known.join(", ");
    let known = match names.count().saturating_sub(SUGGESTIONS) {
        _ if known.is_empty() => "no plugin is known there".to_owned(),
        0 => format!("known plugins: {known}"),
        more => format!("known plugins: {known} and {more} more"),
    };
    match command {
        None => known,
        Some(command) if known.contains(':') => format!("{known}; or name the folder that its file is in: {command}"),
        Some(command) => format!("name the folder that its file is in: {command}"),
    }
}

/// The plugin that an unknown name most likely means: one of a similar name, or the one of the tool that has the name.
pub(super) fn meant<'n>(id: &PluginId, names: impl Iterator<Item = &'n str> + Clone) -> Option<String> {
    // A tool's public name is mapped to an id as a file's name is.
    let has_tool = |name: &&str| id.as_ref().strip_prefix(*name).is_some_and(|tool| tool.starts_with('-'));
    match names.clone().find(has_tool) {
        Some(name) => Some(format!("did you mean {name}? The plugin is named here, and not one of its tools")),
        None => did_you_mean(id.as_ref(), names).map(|near| format!("did you mean {near}?")),
    }
}
