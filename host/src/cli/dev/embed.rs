//! `wharf embed`: writes into components what they list.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use wharf_dev::{Described, PluginName, Server as _, replace, without_custom_section};
use wharf_report::{ShowPath as _, shell_word};

use crate::catalog::load_hint;
use crate::cli::load_file::id_of;
use crate::cli::options::Options;
use crate::plugin::read_component;
use crate::report::{Failure, Screen, message};
use crate::skills::{Collection, SECTION, SKILL_FILE, collect};

pub(super) async fn run(
    options: &Options,
    files: &[PathBuf],
    skills: Option<&Path>,
    without_skills: bool,
    screen: &Screen,
) -> Result<ExitCode, Failure> {
    let config = options.config()?;
    if let Some(folder) = skills {
        check_folder(folder)?;
    }
    for file in files {
        let id = id_of(&config, file);
        let id = id.map_err(|(why, hint)| Failure::usage(format!("{why}: {}", file.shown())).hint(hint))?;
        let name = PluginName::parse(id.as_ref()).map_err(|why| Failure::usage(format!("embed a listing: {why}")))?;
        let component = read_component(file)
            .await
            .map_err(|error| Failure::new(format!("{error}: {}", file.shown())).hint(load_hint(&error, file)))?;
        let component = if without_skills { without_custom_section(&component, SECTION) } else { component };
        let described = options.describe(&name, component.into(), skills, file);
        let Described { component, carried, .. } =
            screen.timed(&format!("compiling {}", file.shown()), described).await?;
        replace(&component, file)?;
        let carried = if carried.is_empty() { String::new() } else { format!(", with {carried}") };
        message(&format!("embedded the listing of {}{carried}", file.shown()));
    }
    Ok(ExitCode::SUCCESS)
}

/// Whether there are skills in a folder.
fn check_folder(folder: &Path) -> Result<(), Failure> {
    if !folder.is_dir() {
        return Err(Failure::usage(format!("read skills: it is not a folder: {}", folder.shown())));
    }
    if folder.join(SKILL_FILE).exists() {
        let above = folder.canonicalize().ok().and_then(|full| Some(full.parent()?.to_owned()));
        let failure = Failure::usage(format!("read skills: the folder is one itself: {}", folder.shown()));
        let hint = |above: PathBuf| format!("name the folder that it is in: --skills {}", shell_word(&above));
        return Err(failure.hint(above.map(hint)));
    }
    if collect(folder, &Collection::default(), true).skills.is_empty() {
        let failure = Failure::usage(format!("find skills: no folder is in {}", folder.shown()));
        return Err(failure
            .hint("each is a folder with a SKILL.md; to remove those of a component: --without-skills".to_owned()));
    }
    Ok(())
}
