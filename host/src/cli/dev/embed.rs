//! `wharf embed`: writes into components what they list.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use wharf_dev::{Described, PluginName, Server as _, replace};
use wharf_report::ShowPath as _;

use crate::catalog::load_hint;
use crate::cli::load_file::id_of;
use crate::cli::options::Options;
use crate::plugin::read_component;
use crate::report::{Failure, Screen, message};

pub(super) async fn run(
    options: &Options,
    files: &[PathBuf],
    skills: Option<&Path>,
    screen: &Screen,
) -> Result<ExitCode, Failure> {
    let config = options.config()?;
    if let Some(folder) = skills.filter(|folder| !folder.is_dir()) {
        return Err(Failure::usage(format!("read skills: it is not a folder: {}", folder.shown())));
    }
    for file in files {
        let id = id_of(&config, file);
        let id = id.map_err(|(why, hint)| Failure::usage(format!("{why}: {}", file.shown())).hint(hint))?;
        let name = PluginName::parse(id.as_ref()).map_err(|why| Failure::usage(format!("embed a listing: {why}")))?;
        let component = read_component(file)
            .await
            .map_err(|error| Failure::new(format!("{error}: {}", file.shown())).hint(load_hint(&error, file)))?;
        let described = options.describe(&name, component.into(), skills, file);
        let Described { component, .. } = screen.timed(&format!("compiling {}", file.shown()), described).await?;
        replace(&component, file)?;
        message(&format!("embedded the listing of {}", file.shown()));
    }
    Ok(ExitCode::SUCCESS)
}
