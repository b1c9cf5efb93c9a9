//! What a decision on a version depends on, in a few lines.

use std::path::Path;

use wharf_report::ShowPath as _;

use super::changes;
use super::extra::ShownExtra;
use crate::catalog::{Item, Names, Snapshot};
use crate::config::Config;
use crate::pins::ListedVersion;
use crate::plugin::{ListingWarning, Plugin, PluginId, Provider as _};
use crate::report::NAME;
use crate::text::printable;

/// The grant `change-lists`, in plain words.
pub(super) const CHANGE_LISTS: &str = "change-lists: its descriptions may change later, without approval";

/// Of a plugin that would load.
pub(super) const OFFERS_NOTHING: &str =
    "offers nothing: no tools, resources, prompts or methods, so clients would not see it";

/// Whether clients get all that a plugin lists.
pub(super) fn is_whole(plugin: &Plugin) -> bool {
    !plugin.warnings().iter().any(ListingWarning::is_of_dropped)
}

/// What its author should know of a plugin that loads.
pub(super) fn remarks(plugin: &Plugin) -> Vec<String> {
    let mut remarks: Vec<String> = plugin.warnings().iter().map(ToString::to_string).collect();
    let undescribed: Vec<&str> = plugin.surface().undescribed().collect();
    if !undescribed.is_empty() {
        remarks.push(format!("without a description, by which clients choose a tool: {}", listed(&undescribed)));
    }
    remarks
}

/// Names in one line.
const MAX_NAMED: usize = 24;

/// File, digest, signer, what it offers, what its imports need, what the configuration grants, and how many things are new
/// or changed. `published`: lines on where it is from; `old` is the surface of the pinned version.
pub(super) fn summary(
    path: &Path,
    published: Option<&str>,
    old: Option<&str>,
    plugin: &Plugin,
    new: &ListedVersion,
    config: &Config,
) -> String {
    let (id, version) = (plugin.id(), &new.version);
    let mut text = format!("{NAME}{id}{NAME:#} blake3:{}\n", version.content);
    // Several file names are normalized to one plugin name.
    text += &line("file", &path.shown().to_string());
    text += published.unwrap_or_default();
    match (&version.signer, published) {
        (Some(signer), _) => text += &line("signer", &signer.to_string()),
        (None, None) => text += &line("signer", "none"),
        // Its lines say who signed it where it is published.
        (None, Some(_)) => {}
    }
    for (label, names) in offers(plugin) {
        text += &line(label, &names);
    }
    let needs = version.needs.iter().map(|need| {
        let granted = if version.grants.contains(need) { "granted" } else { "not granted" };
        format!("{} ({granted})", need.name())
    });
    text += &line("needs", &or_nothing(needs.collect()));
    let mut granted: Vec<&str> = version.granted.iter().map(String::as_str).collect();
    granted.extend(config.may_change_lists(id).then_some(CHANGE_LISTS));
    if granted.is_empty() {
        granted.push("nothing");
    }
    for (at, grant) in granted.into_iter().enumerate() {
        text += &line(if at == 0 { "granted" } else { "" }, grant);
    }
    // Of what is granted, and limits.
    for extra in ShownExtra::all(&config.grants(id)) {
        text += &line("extra", &extra.shown());
    }
    let counts = changes::summary(old, &new.surface_text);
    if old.is_some() && !counts.is_empty() {
        text += &line("compared", &counts);
    }
    text
}

/// The skills that a plugin carries, in one line; empty if there are none.
pub(super) fn carried(plugin: &Plugin) -> String {
    let skills = plugin.surface().skills.all().iter();
    let shown = skills.map(|skill| match skill.files().count() {
        1 => format!("the skill {}", skill.name()),
        files => format!("the skill {} ({files} files)", skill.name()),
    });
    shown.collect::<Vec<_>>().join(", ")
}

/// The names of what a plugin offers, by kind.
pub(super) fn offers(plugin: &Plugin) -> Vec<(&'static str, String)> {
    let surface = plugin.surface();
    let tools = surface.tools.iter().flatten().map(|frozen| &*frozen.tool.name);
    let resources = surface.resources.iter().flatten().map(|resource| &*resource.uri);
    let templates = surface.templates.iter().map(|frozen| &*frozen.template.uri_template);
    let prompts = surface.prompts.iter().flatten().map(|prompt| &*prompt.name);
    let mut offers = by_kind(tools.collect(), resources.chain(templates).collect(), prompts.collect());
    offers.extend(Some(("carries", carried(plugin))).filter(|(_, carried)| !carried.is_empty()));
    offers
}

/// The same by the names that clients see.
pub(super) fn served(snapshot: &Snapshot, id: &PluginId) -> Vec<(&'static str, String)> {
    let resources = names_of(&snapshot.resources, id).chain(names_of(&snapshot.templates, id));
    by_kind(names_of(&snapshot.tools, id).collect(), resources.collect(), names_of(&snapshot.prompts, id).collect())
}

fn names_of<'s, T: Item>(names: &'s Names<T>, id: &PluginId) -> impl Iterator<Item = &'s str> {
    let own = names.entries().iter().filter(move |entry| entry.provider.id() == id);
    own.map(|entry| entry.name.as_str())
}

fn by_kind(tools: Vec<&str>, resources: Vec<&str>, prompts: Vec<&str>) -> Vec<(&'static str, String)> {
    let kinds = [("tools", tools), ("resources", resources), ("prompts", prompts)];
    kinds.into_iter().filter(|(_, names)| !names.is_empty()).map(|(kind, names)| (kind, listed(&names))).collect()
}

fn listed(names: &[&str]) -> String {
    let shown: Vec<String> = names.iter().take(MAX_NAMED).map(|name| printable(name)).collect();
    let more = names.len() - shown.len();
    let more = if more > 0 { format!(", and {more} more") } else { String::new() };
    format!("{}{more}", shown.join(", "))
}

fn or_nothing(names: Vec<String>) -> String {
    if names.is_empty() { "nothing".to_owned() } else { names.join(", ") }
}

fn line(label: &str, text: &str) -> String {
    format!("  {label:<8} {text}\n")
}
