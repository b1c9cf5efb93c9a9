//! `wharf upgrade`: replaces a project's folder `wharf/` by that of this program.

use std::path::Path;
use std::process::ExitCode;

use wharf_report::{DIM, Failure, NAME, ShowPath as _, line, message, shell_word};

use crate::project::Project;
use crate::wrapper::{self, FOLDER, Files, Record, VERSION};

/// Files that are named.
const MAX_NAMED: usize = 20;

pub(crate) fn run(dir: &Path, force: bool) -> Result<ExitCode, Failure> {
    let project = Project::read(dir)?;
    let folder = project.dir.join(FOLDER);
    if !project.uses_wrapper_folder() {
        let (file, text) = wrapper::reference(project.language);
        return Err(Failure::usage(format!("upgrade {}: the project does not use it", folder.shown()))
            .hint(format!("a project uses it with this line in {file}: {text}")));
    }
    let failed = |error: std::io::Error| Failure::new(format!("upgrade {}: {error}", folder.shown()));
    let Some(found) = wrapper::read(&project.dir).map_err(failed)? else {
        wrapper::restore(&project)?;
        return Ok(ExitCode::SUCCESS);
    };
    let own = wrapper::own(project.language);
    let record = wrapper::record(&project.dir);
    if found == own {
        if record != Some(Record::own(&own)) {
            wrapper::write(&project.dir, project.language).map_err(failed)?;
        }
        message(&format!("{NAME}{FOLDER}/{NAME:#} is that of Wharf {VERSION} already"));
        return Ok(ExitCode::SUCCESS);
    }
    let from = record.as_ref().map_or_else(|| "an unknown version".to_owned(), |record| line(&record.version));
    let changes = changes(&found, &own);
    if let Some(why) = objection(record.as_ref(), &found).filter(|_| !force) {
        message(&format!("{NAME}{FOLDER}/{NAME:#}, from {from} to Wharf {VERSION}, would be changed: {changes}"));
        return Err(Failure::new(format!("upgrade {}: {why}", folder.shown())).hint(format!(
            "keep elsewhere what you changed in it; to discard that: wharf upgrade --force {}",
            shell_word(dir)
        )));
    }
    wrapper::write(&project.dir, project.language).map_err(failed)?;
    message(&format!(
        "upgraded {NAME}{FOLDER}/{NAME:#} from {from} to Wharf {VERSION}: {changes}\n\
         Next: wharf build, and run your tests; commit {FOLDER}/ unless git ignores it"
    ));
    Ok(ExitCode::SUCCESS)
}

/// Why the folder is replaced only with `--force`.
fn objection(record: Option<&Record>, found: &Files) -> Option<String> {
    match record {
        None => Some("it records no version of Wharf, so it may have been changed since".to_owned()),
        Some(record) if record.digest != wrapper::digest(found) => {
            Some(format!("it was changed after Wharf {} wrote it", line(&record.version)))
        }
        Some(record) if record.is_newer() => Some(format!("it is of a newer version, {}", line(&record.version))),
        Some(_) => None,
    }
}

/// How many files change, and their names.
fn changes(found: &Files, own: &Files) -> String {
    let changed = own.iter().filter(|(path, hash)| found.get(*path).is_some_and(|old| old != *hash));
    let kinds: [(&str, Vec<&String>); 3] = [
        ("changed", changed.map(|(path, _)| path).collect()),
        ("new", own.keys().filter(|path| !found.contains_key(*path)).collect()),
        ("removed", found.keys().filter(|path| !own.contains_key(*path)).collect()),
    ];
    let counts: Vec<String> = kinds.iter().map(|(kind, paths)| format!("{} {kind}", paths.len())).collect();
    let mut text = counts.join(", ");
    let named = kinds.iter().flat_map(|(kind, paths)| paths.iter().map(move |path| (kind, path)));
    for (kind, path) in named.clone().take(MAX_NAMED) {
        text += &format!("\n  {kind:<8} {}", line(path));
    }
    let more = named.count().saturating_sub(MAX_NAMED);
    if more > 0 {
        text += &format!("\n  {DIM}and {more} more{DIM:#}");
    }
    text
}
