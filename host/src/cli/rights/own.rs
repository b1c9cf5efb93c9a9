//! What somebody has of their own: where a person puts or finds it.

use serde_json::{Value, json};
use wharf_report::{DIM, column};

use crate::config::Config;
use crate::identity::Identity;
use crate::plugin::text::printable;

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
    secrets.collect()
}

pub(super) fn shown(all: &[Own]) -> String {
    let width = column(all.iter().map(|own| own.what.as_str()));
    let line = |Own { what, place, problem }: &Own| {
        let problem = problem.as_ref().map_or_else(String::new, |why| format!("  {DIM}{}{DIM:#}", printable(why)));
        format!("  {:<width$}  {}{problem}", printable(what), printable(place))
    };
    all.iter().map(line).collect::<Vec<_>>().join("\n")
}
