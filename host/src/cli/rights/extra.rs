//! The extra grants and limits of plugins, and whether somebody has them.

use serde_json::{Value, json};
use wharf_report::DIM;

use crate::cli::extra::ShownExtra;
use crate::config::Config;
use crate::identity::Identity;
use crate::plugin::text::printable;
use crate::plugin::{Extra, PluginId};

/// One entry of a plugin.
pub(super) struct Given {
    plugin: PluginId,
    extra: ShownExtra,
    /// Whether its condition holds.
    holds: bool,
}

impl Given {
    pub(super) fn to_json(&self) -> Value {
        let mut shown = self.extra.to_json();
        shown["plugin"] = json!(self.plugin.as_ref());
        shown["holds"] = json!(self.holds);
        shown
    }
}

/// All that the configuration has for some callers.
pub(super) fn all(config: &Config, who: &Identity) -> Vec<Given> {
    let plugins = config.plugins.keys().filter_map(|name| PluginId::parse(name).ok());
    plugins
        .flat_map(|plugin| {
            let extras = config.grants(&plugin).extras;
            let holding = extras.holding(Some(who));
            let given = |(at, extra): (usize, &Extra)| Given {
                plugin: plugin.clone(),
                extra: ShownExtra::of(extra),
                holds: holding.has(at),
            };
            extras.all().iter().enumerate().map(given).collect::<Vec<Given>>()
        })
        .collect()
}

pub(super) fn shown(all: &[Given]) -> String {
    let line = |Given { plugin, extra, holds }: &Given| {
        let word = if *holds { "has    " } else { "has not" };
        format!("  {word}  {plugin}  {}  {DIM}{}{DIM:#}", extra.what(), printable(&extra.name))
    };
    all.iter().map(line).collect::<Vec<_>>().join("\n")
}
