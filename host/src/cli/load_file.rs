//! Loading one file, and why it is refused.

use std::path::Path;
use std::sync::Arc;

use wharf_report::shell_word;

use super::folder::near_path;
use super::wiring;
use crate::catalog::{Ignored, LoadStage, Loaded, NotServed, PluginSettings, admit, load_hint, load_plugin, plugin_of};
use crate::config::Config;
use crate::os::paths::folder_of;
use crate::pins::Reason;
use crate::plugin::{LoadError, Plugin, PluginId, Sandbox, read_component};
use crate::report::Failure;

/// Why a file was refused, and a hint.
pub(super) type Refused = (String, Option<String>);

pub(super) fn refused(error: LoadError, path: &Path) -> Refused {
    (error.to_string(), load_hint(&error, path))
}

/// The plugin id that the file would have in a folder.
pub(super) fn id_of(config: &Config, path: &Path) -> Result<PluginId, Refused> {
    let named = plugin_of(path).map(|named| match named {
        Ok(id) if wiring::is_reserved(config, &id) => Err(Ignored::NameReserved(id)),
        named => named,
    });
    match named {
        Some(Ok(id)) => Ok(id),
        Some(Err(reason)) => Err((reason.to_string(), reason.hint())),
        None if !path.exists() => Err(("find the file or folder".into(), near_path(path))),
        None => Err(("find a component: the file name does not end in .wasm".into(), to_build(config, path))),
    }
}

/// How the component of a source file is built.
fn to_build(config: &Config, path: &Path) -> Option<String> {
    let project = folder_of(path).filter(|folder| folder.join("plugin.toml").is_file())?;
    Some(format!("build it first: {} build {}", config.program(), shell_word(project)))
}

/// Loads one file if it may run.
pub(super) async fn load_admitted(
    config: &Arc<Config>,
    sandbox: &Arc<Sandbox>,
    path: &Path,
    id: &PluginId,
    settings: &PluginSettings,
) -> Result<Plugin, Refused> {
    let folder = folder_of(path).unwrap_or(Path::new("."));
    let denied = |denial| match denial {
        NotServed::Refused(error) => refused(error, path),
        NotServed::Held(held) => {
            let hint = held.1.hint(&config.program(), folder);
            let is_changed = held.1.outcome.as_ref().is_err_and(Reason::needs_approval);
            let own = if cfg!(feature = "dev") && is_changed {
                "while you work on it, wharf dev in its project needs no approval; otherwise: "
            } else {
                ""
            };
            (held.1.refusal(), Some(format!("{own}{hint}")))
        }
    };
    let guard = wiring::read_only_guard(config).map_err(Failure::into_parts)?;
    let guard = Arc::new(guard);
    let stage = LoadStage::new(true, Arc::default());
    let listed = match load_plugin(sandbox, &guard, path, id, settings, None, &stage).await.map_err(denied)? {
        Loaded::Listed(listed) => vec![listed],
        Loaded::Uncompiled(_) | Loaded::Unchanged => Vec::new(),
    };
    match admit(&guard, listed).await.pop() {
        Some(admitted) => Ok(admitted.map_err(denied)?.plugin),
        None => Err(("load a version that is already serving".into(), None)),
    }
}

/// Loads one file, whether or not it may run.
pub(super) async fn load_file(
    sandbox: &Arc<Sandbox>,
    path: &Path,
    id: &PluginId,
    settings: PluginSettings,
) -> Result<Plugin, LoadError> {
    let component = read_component(path).await?;
    sandbox.load(id.clone(), component, settings.limits, settings.grants).await
}
