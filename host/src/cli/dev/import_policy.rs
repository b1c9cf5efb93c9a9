//! `wharf import-policy`: converts a Wassette policy file to grants for the configuration.
//!
//! Prints equivalent grants, and reports entries that have none, and folders that would not be given to
//! a plugin; it never guesses.

mod policy;

use std::path::Path;
use std::process::ExitCode;

use crate::cli::options::Options;
use crate::config::{self, Config};
use crate::json::Foreign;
use crate::os::files;
use crate::plugin::{FolderGrant, PluginId, folder_objection};
use crate::report::{self, Failure};
use policy::Imported;
use serde_json::Value;
use wharf_report::ShowPath as _;

/// Maximum bytes of a policy.
const MAX_SIZE: u64 = 1 << 20;

/// The grants of a policy for a plugin, in lines of the configuration; `None` if it is no policy.
pub(super) async fn grants_of(options: &Options, id: &PluginId, text: &str) -> Option<Vec<String>> {
    let Foreign(policy) = serde_saphyr::from_str(text).ok()?;
    let imported = import(options, id.clone(), policy).await.ok()?.ok()?;
    let lines = imported.toml.lines().filter(|line| !line.is_empty() && !line.starts_with('['));
    Some(lines.map(str::to_owned).collect())
}

pub(super) async fn run(options: &Options, file: &Path, name: Option<&str>) -> Result<ExitCode, Failure> {
    let name = match name {
        Some(name) => name.to_owned(),
        None => name_of(file)?,
    };
    let id = PluginId::parse(&name)
        .map_err(|error| Failure::usage(error.to_string()).hint("add --name PLUGIN".to_owned()))?;
    let read = |why: String| Failure::usage(format!("read the policy: {why}: {}", file.shown()));
    let text = files::read_text(file, MAX_SIZE).map_err(|error| read(error.to_string()))?;
    let Foreign(policy) = serde_saphyr::from_str(&text).map_err(|error| read(format!("not YAML: {error}")))?;
    let Imported { toml, warnings } = import(options, id, policy).await?.map_err(read)?;
    for why in &warnings {
        wharf_report::warning(why);
    }
    // The output is for the configuration file, and must parse as one.
    Config::parse(&toml).map_err(|error| Failure::new(format!("write the grants: {error}")))?;
    report::print(&toml)?;
    Ok(ExitCode::SUCCESS)
}

/// Why a policy is none, or the failure to import it.
async fn import(options: &Options, id: PluginId, policy: Value) -> Result<Result<Imported, String>, Failure> {
    let config = options.config()?;
    let protected = options.protected(&config, &[], config::base().as_ref());
    let private = config.private_files();
    let importing = move || {
        let objection = |grant: &FolderGrant| Some(folder_objection(&id, grant, &private, &protected)?.why);
        policy::import(&policy, &id, objection)
    };
    // Looks through the folders.
    let imported = tokio::task::spawn_blocking(importing).await;
    imported.map_err(|error| Failure::new(format!("read the policy: {error}")))
}

/// The plugin of a policy file, named `NAME.policy.yaml` by Wassette.
fn name_of(file: &Path) -> Result<String, Failure> {
    let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let stem = [".policy.yaml", ".policy.yml"].iter().find_map(|end| name.strip_suffix(end));
    stem.map(str::to_owned).ok_or_else(|| {
        Failure::usage(format!("derive the plugin from the file name: {name}")).hint("add --name PLUGIN".to_owned())
    })
}
