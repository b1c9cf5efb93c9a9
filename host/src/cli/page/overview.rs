//! All plugins in a few words each.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Map, Value, json};
use wharf_report::ShowPath as _;

use super::board::Unserved;
use super::desk::OperatorDesk;
use crate::activity::Totals;
use crate::catalog::{Item, Names, Snapshot};
use crate::plugin::PluginId;

/// How much of each kind a plugin offers.
type Counts<'s> = HashMap<&'s PluginId, usize>;

/// `has_folder`: whether the plugin folder is there.
pub(super) fn to_json(all: &OperatorDesk, has_folder: bool) -> Value {
    let snapshot = all.desk.catalog.snapshot();
    let totals: BTreeMap<String, Totals> = all.activity.totals().into_iter().collect();
    let (tools, prompts) = (counts(&snapshot.tools), counts(&snapshot.prompts));
    let (resources, templates) = (counts(&snapshot.resources), counts(&snapshot.templates));
    let mut unserved = all.board.all();
    let config = all.desk.config.get();
    let running = all.desk.sandbox.get().map(|sandbox| sandbox.running());
    let served = snapshot.members().iter().map(|member| {
        let (provider, id) = (&member.provider, member.provider.id());
        let count = |counts: &Counts<'_>| counts.get(id).copied().unwrap_or_default();
        let newer = unserved.remove(id.as_ref());
        let powers: Vec<&str> = config.grants(id).kinds().iter().map(|access| access.name()).collect();
        let mut entry = json!({
            "name": id.as_ref(),
            "state": "runs",
            "host": provider.is_host(),
            "content": provider.digest().to_string(),
            "tools": count(&tools),
            "prompts": count(&prompts),
            "resources": count(&resources) + count(&templates),
            "powers": powers,
            "missing": provider.missing_grants().len() + provider.unusable_grants().len(),
        });
        if let Some(members) = entry.as_object_mut() {
            add_totals(members, totals.get(id.as_ref()));
            members.extend(newer.map(|newer| ("newer".to_owned(), json!(newer))));
        }
        entry
    });
    let mut plugins: Vec<Value> = served.collect();
    plugins.extend(unserved.iter().map(|(name, why)| of_unserved(name, why, &totals)));
    json!({
        "server": {
            "name": config.server.name,
            "version": env!("CARGO_PKG_VERSION"),
            "program": config.program(),
            "folder": all.desk.dir.shown().to_string(),
            "has_folder": has_folder,
            "ready": all.desk.catalog.is_ready(),
            "running": running.map_or(0, |running| running.calls),
            "waiting": running.map_or(0, |running| running.waiting),
            "memory_bytes": running.map_or(0, |running| running.memory),
        },
        "plugins": plugins,
    })
}

fn of_unserved(name: &str, why: &Unserved, totals: &BTreeMap<String, Totals>) -> Value {
    let mut entry = json!(why);
    if let Some(members) = entry.as_object_mut() {
        members.insert("name".to_owned(), name.into());
        add_totals(members, totals.get(name));
    }
    entry
}

fn add_totals(members: &mut Map<String, Value>, totals: Option<&Totals>) {
    members.extend(totals.map(|totals| ("cost".to_owned(), json!(totals))));
}

fn counts<T: Item>(names: &Names<T>) -> Counts<'_> {
    let mut counts = HashMap::new();
    for entry in names.entries() {
        *counts.entry(entry.provider.id()).or_default() += 1;
    }
    counts
}

/// What a snapshot lists of one plugin.
pub(super) fn entries_of<'s, T: Item>(
    names: &'s Names<T>,
    id: &'s PluginId,
) -> impl Iterator<Item = (&'s str, &'s T)> + use<'s, T> {
    let own = names.entries().iter().filter(move |entry| entry.provider.id() == id);
    own.map(|entry| (entry.name.as_str(), entry.item()))
}

/// Whether a plugin is in service.
pub(super) fn is_served(snapshot: &Snapshot, id: &PluginId) -> bool {
    snapshot.members().iter().any(|member| member.provider.id() == id)
}
