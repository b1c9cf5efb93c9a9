//! `wharf new`: creates a plugin project that builds as it is.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::ValueEnum as _;
use wharf_report::ShowPath as _;
use wharf_report::{Failure, NAME, message};

use crate::language::Language;
use crate::name::PluginName;
use crate::{embedded, wrapper};

/// Keeps `wharf/` out of the author's repository.
const IGNORED: &str = "# The library; written again by `wharf build` and `wharf upgrade`.\n/wharf/\n";

/// The language to write the plugin in.
pub(crate) fn chosen(language: Option<Language>) -> Result<Language, Failure> {
    language.ok_or_else(|| {
        let names: Vec<&str> = Language::value_variants().iter().map(|language| language.name()).collect();
        Failure::usage("create the project: --lang is missing")
            .hint(format!("add --lang with one of these: {}", names.join(", ")))
    })
}

pub(crate) fn run(name: &str, language: Language, dir: Option<PathBuf>, vendor: bool) -> Result<ExitCode, Failure> {
    let id = plugin_name(name)?;
    let dir = dir.unwrap_or_else(|| PathBuf::from(name));
    let failed = |error: io::Error| Failure::new(format!("create the project: {error}: {}", dir.shown()));
    require_empty(&dir)?;
    let files = embedded::template(language);
    for (path, bytes) in &files {
        let path = PathBuf::from(substitute(&path.to_string_lossy(), &id));
        let mut bytes = substitute_in(bytes, &id);
        if !vendor && path == Path::new(".gitignore") {
            bytes.extend_from_slice(IGNORED.as_bytes());
        }
        write_new(&dir.join(path), &bytes).map_err(failed)?;
    }
    wrapper::write(&dir, language).map_err(failed)?;
    message(&summary(&dir, &id, language, files.len(), vendor));
    Ok(ExitCode::SUCCESS)
}

/// Parses the plugin name. For a name that only other tools allow, the error suggests a similar one.
fn plugin_name(name: &str) -> Result<PluginName, Failure> {
    PluginName::parse(name).map_err(|reason| {
        let near = PluginName::near(name).map(|near| format!("did you mean `{near}`?"));
        Failure::usage(format!("create the project: {reason}")).hint(near)
    })
}

/// Refuses a folder that is not empty: existing files are never overwritten.
pub(crate) fn require_empty(dir: &Path) -> Result<(), Failure> {
    match fs::read_dir(dir).map(|mut entries| entries.next().is_some()) {
        Ok(false) => Ok(()),
        Ok(true) => Err(Failure::usage(format!("create the project: the folder is not empty: {}", dir.shown()))
            .hint("choose another folder with --dir, or another name".to_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(Failure::usage(format!("create the project: {error}: {}", dir.shown()))),
    }
}

/// The text with the plugin's names substituted.
fn substitute(text: &str, id: &PluginName) -> String {
    text.replace("{{name}}", id.as_ref()).replace("{{ident}}", &id.as_ref().replace('-', "_"))
}

/// As [`substitute`], for a file's content; binary files are unchanged.
fn substitute_in(bytes: &[u8], id: &PluginName) -> Vec<u8> {
    std::str::from_utf8(bytes).map_or_else(|_| bytes.to_owned(), |text| substitute(text, id).into_bytes())
}

/// Creates a file, with its folders.
pub(crate) fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    fs::create_dir_all(path.parent().unwrap_or(path))?;
    fs::File::create_new(path)?.write_all(bytes)
}

/// What was created, and the next commands. Files of the library are not counted.
fn summary(dir: &Path, id: &PluginName, language: Language, files: usize, vendor: bool) -> String {
    let folder = dir.shown();
    let library = if vendor { "to commit with them" } else { "which git ignores" };
    format!(
        "created {NAME}{folder}{NAME:#}: plugin {id} in {}, {files} files, and the library in wharf/, {library}. \
         README.md explains how to test it. Next:\n  \
         cd {folder}\n  \
         wharf build --install\n  \
         wharf test\n  \
         wharf call dist/{id}.wasm greet name=Ada",
        language.name()
    )
}

#[cfg(test)]
mod tests;
