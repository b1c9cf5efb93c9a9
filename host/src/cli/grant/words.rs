//! The words of `wharf grant` and `wharf ungrant`: a plugin, its folder, and grants.

use std::path::{Path, PathBuf};

use wharf_report::{ShowPath as _, warning};

use crate::cli::folder::is_file;
use crate::cli::survey::choice_in;
use crate::cli::target::{Target, meant};
use crate::cli::wiring::lock;
use crate::config::{Config, GrantWord, base};
use crate::plugin::PluginId;
use crate::report::{self, Failure};

/// What is given on the command line.
pub(super) struct Words {
    pub(super) target: Target,
    pub(super) grants: Vec<GrantWord>,
}

impl Words {
    /// `named`: the plugin, as [`Target::of`] takes it. `words`: the grants, and a folder before or behind them.
    pub(super) fn read(config: &Config, command: &str, named: &str, words: &[String]) -> Result<Self, Failure> {
        let is_plugin = Path::new(named).is_dir() && words.len() > 1;
        let is_folder = |at: usize, word: &str| {
            let path = Path::new(word);
            // Where the first word is a folder, the next one may be the plugin.
            !GrantWord::is_meant(word) && (path.is_dir() || is_file(path) || is_plugin && at == 0)
        };
        let mut grants = words.to_vec();
        let folder = words.iter().enumerate().position(|(at, word)| is_folder(at, word)).map(|at| grants.remove(at));
        let folder = folder.as_deref().map(Path::new);
        Ok(Self { target: Target::of(config, command, named, folder, &grants)?, grants: parsed(&grants)? })
    }
}

fn parsed(words: &[String]) -> Result<Vec<GrantWord>, Failure> {
    let failed = |(why, hint): (String, Option<String>)| {
        let all = || {
            "grants are keyvalue, http=URL, read=PATH, write=PATH, env=KEY=VALUE, config=KEY=VALUE, secrets=NAME, \
             elicit, sample, roots and change-lists"
                .to_owned()
        };
        Failure::usage(format!("read the grant: {why}")).hint(hint.unwrap_or_else(all))
    };
    match words {
        [] => Err(failed(("none is given".to_owned(), None))),
        // In the place of a folder.
        [first, _, ..] if !GrantWord::is_meant(first) && !first.contains('=') => {
            let near = GrantWord::meant(first).map_or_else(String::new, |near| format!("; did you mean {near}?"));
            Err(failed((format!("there is no grant or folder {first:?}{near}"), None)))
        }
        words => words.iter().map(|word| GrantWord::parse(word)).collect::<Result<_, _>>().map_err(failed),
    }
}

/// Warns if the folder has no plugin of that name. Without a folder, only a similar name in the user's own one
/// is worth a warning: the plugin may be in any.
pub(super) fn warn_of_name(config: &Config, id: &PluginId, folder: Option<&Path>) {
    let own = || base().map(|base| base.plugins);
    let Some(searched) = folder.map(PathBuf::from).or_else(own) else { return };
    // The own folder need not be there yet.
    let files = match choice_in(config, &searched) {
        Err(_) if folder.is_some() => return,
        found => found.unwrap_or_default(),
    };
    if files.get(id).is_some() {
        return;
    }
    let near = meant(id, files.names());
    if folder.is_some() || near.is_some() {
        let near = near.map_or_else(String::new, |near| format!("; {near}"));
        warning(&format!("no plugin in {} is called {id}{near}", searched.shown()));
        return;
    }
    let has_run = lock(config).ok().and_then(|lock| lock.read().ok()).is_some_and(|pins| pins.get(id).is_some());
    if !has_run && !config.plugins.contains_key(id.as_ref()) {
        let command = format!("{} grant {id} DIR …", config.program());
        report::message(&format!(
            "no plugin called {id} is known yet; to check the name, add the folder of its file: {command}"
        ));
    }
}
