//! Settings of plugins that are not in the folder: a misspelt name would silently grant nothing.

use std::path::Path;

use wharf_report::ShowPath as _;

use crate::catalog::plugin_files;
use crate::config::Config;
use crate::plugin::PluginId;
use crate::protocol::nearest::did_you_mean;

/// Names in one message.
const MAX_NAMED: usize = 16;

/// A warning about settings without effect.
pub(super) struct Absent {
    /// The plugin that they may be meant for.
    pub(super) meant: Option<String>,
    pub(super) text: String,
}

/// Warnings about `[plugins.NAME]` of which the folder has no file. A folder that cannot be read gives none: that is
/// reported where it is loaded.
pub(super) fn warnings(config: &Config, dir: &Path) -> Vec<Absent> {
    plugin_files(dir).map_or_else(|_| Vec::new(), |files| of_names(config, dir, files.keys().map(PluginId::as_ref)))
}

fn of_names<'n>(config: &Config, dir: &Path, present: impl Iterator<Item = &'n str>) -> Vec<Absent> {
    let present: Vec<&str> = present.collect();
    let (mut warnings, mut others) = (Vec::new(), Vec::new());
    for name in config.plugins.keys().filter(|name| !present.contains(&name.as_str())) {
        // Another plugin's own settings are not the ones that were meant for it.
        let unset = present.iter().copied().filter(|present| !config.plugins.contains_key(*present));
        match did_you_mean(name, unset) {
            Some(near) if warnings.len() < MAX_NAMED => {
                let dir = dir.shown();
                let text = format!(
                    "[plugins.{name}] has no effect here: no plugin in {dir} is called {name}; did you mean {near}?"
                );
                warnings.push(Absent { meant: Some(near.to_owned()), text });
            }
            _ => others.push(name.as_str()),
        }
    }
    if !others.is_empty() {
        let more = others.len().saturating_sub(MAX_NAMED);
        others.truncate(MAX_NAMED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let names = others.join(", ");
        let text = format!("settings of plugins that are not in {} have no effect here: {names}{more}", dir.shown());
        warnings.push(Absent { meant: None, text });
    }
    warnings
}
