//! The grants of plugins with extra grants and limits, and which of these somebody has.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use wharf_report::DIM;

use crate::catalog::Snapshot;
use crate::cli::extra::ShownExtra;
use crate::config::Config;
use crate::identity::Identity;
use crate::plugin::{Extra, PluginId};
use crate::report::NAME;
use crate::text::printable;

/// One entry of a plugin.
pub(super) struct Given {
    plugin: PluginId,
    extra: ShownExtra,
    /// Whether its condition holds.
    holds: bool,
    /// What all callers have.
    base: String,
    /// Whether the folder has the plugin.
    is_present: bool,
}

impl Given {
    pub(super) fn to_json(&self) -> Value {
        let mut shown = self.extra.to_json();
        shown["plugin"] = json!(self.plugin.as_ref());
        shown["holds"] = json!(self.holds);
        shown["present"] = json!(self.is_present);
        shown
    }
}

/// All that the configuration has for some callers.
pub(super) fn all(config: &Config, who: &Identity, snapshot: &Snapshot) -> Vec<Given> {
    let present: BTreeSet<&PluginId> = snapshot.members().iter().map(|member| member.provider.id()).collect();
    let plugins = config.plugins.keys().filter_map(|name| PluginId::parse(name).ok());
    plugins
        .flat_map(|plugin| {
            let grants = config.grants(&plugin);
            let extras = &grants.extras;
            let base: Vec<String> = grants.own_texts().into_iter().collect();
            let base = if base.is_empty() { "no grants".to_owned() } else { printable(&base.join(", ")) };
            let holding = extras.holding(Some(who));
            let given = |(at, extra): (usize, &Extra)| Given {
                plugin: plugin.clone(),
                extra: ShownExtra::of(extra),
                holds: holding.has(at),
                base: base.clone(),
                is_present: present.contains(&plugin),
            };
            extras.all().iter().enumerate().map(given).collect::<Vec<Given>>()
        })
        .collect()
}

pub(super) fn shown(all: &[Given]) -> String {
    let one = |entries: &[Given]| {
        let Some(Given { plugin, base, is_present, .. }) = entries.first() else { return String::new() };
        let absent = if *is_present { "" } else { ", which the folder does not have" };
        let lines = entries.iter().map(|Given { extra, holds, .. }| {
            let word = if *holds { "has    " } else { "has not" };
            format!("\n  {word}  {}  {DIM}{}{DIM:#}", extra.what(), printable(&extra.name))
        });
        format!("{NAME}{plugin}{NAME:#}{absent}\n  all      {base}{}", lines.collect::<String>())
    };
    all.chunk_by(|one, other| one.plugin == other.plugin).map(one).collect::<Vec<_>>().join("\n\n")
}
