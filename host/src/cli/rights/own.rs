//! What somebody has of their own: where a person puts or finds it.

use serde_json::{Value, json};
use wharf_report::{DIM, ShowPath as _, column};

use crate::config::Config;
use crate::identity::Identity;
use crate::plugin::{FolderGrant, FolderMode, PluginId, folder_of};
use crate::text::printable;

/// One secret or folder.
pub(super) struct Own {
    /// Of whom it is: the key in the configuration.
    what: String,
    /// The file, variable or folder; or why there is none.
    place: String,
    /// Why it cannot be used; `None`: it can.
    problem: Option<String>,
}

impl Own {
    pub(super) fn to_json(&self) -> Value {
        let Self { what, place, problem } = self;
        json!({ "what": what, "place": place, "problem": problem })
    }
}

/// All that the configuration has for each user.
pub(super) fn all(config: &Config, who: &Identity) -> Vec<Own> {
    let personal = config.secrets.iter().filter(|(_, secret)| secret.is_personal());
    let secrets = personal.map(|(name, secret)| {
        let what = format!("secret {name}");
        match secret.place_of(config, who) {
            Ok(place) => {
                // What is after the colon is the place again.
                let problem = config.secret_of(name, who).err().map(|missing| missing.outline().to_owned());
                Own { what, place: place.to_string(), problem }
            }
            Err(why) => Own { what, place: "none".into(), problem: Some(why) },
        }
    });
    let plugins = config.plugins.keys().filter_map(|name| PluginId::parse(name).ok());
    let folders = plugins.flat_map(|id| {
        let grants = config.grants(&id);
        let grants = grants.with_extras(grants.extras.holding(Some(who)));
        grants.folders.iter().filter_map(|grant| folder(&id, grant, who)).collect::<Vec<Own>>()
    });
    secrets.chain(folders).collect()
}

fn folder(id: &PluginId, grant: &FolderGrant, who: &Identity) -> Option<Own> {
    grant.per_subject?;
    let what = format!("folder {} of {id}", grant.guest);
    let Some(below) = folder_of(who) else {
        let problem = Some("has no folder for this user, whose name is too long for it".to_owned());
        return Some(Own { what, place: "none".into(), problem });
    };
    let path = grant.host.join(below);
    let problem = match grant.mode {
        _ if path.is_dir() => None,
        FolderMode::Read => Some("does not exist".to_owned()),
        FolderMode::Write { .. } => Some("is created by the first call".to_owned()),
    };
    Some(Own { what, place: path.shown().to_string(), problem })
}

pub(super) fn shown(all: &[Own]) -> String {
    let width = column(all.iter().map(|own| own.what.as_str()));
    let line = |Own { what, place, problem }: &Own| {
        let problem = problem.as_ref().map_or_else(String::new, |why| format!("  {DIM}{}{DIM:#}", printable(why)));
        format!("  {:<width$}  {}{problem}", printable(what), printable(place))
    };
    all.iter().map(line).collect::<Vec<_>>().join("\n")
}
