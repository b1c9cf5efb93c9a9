//! The counters of each plugin and tool, resolved once: a call finds them without a lock and without an allocation.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwap;

use super::OTHER;
use super::families::PerTool;

/// Plugins that have labels of their own, and tools of each of them, and tools of all of them: further ones are
/// counted as `other`. What was replaced or removed keeps its labels until the process ends.
pub(super) const MAX_PLUGINS: usize = 100;
pub(super) const MAX_TOOLS_OF_PLUGIN: usize = 100;
pub(super) const MAX_TOOLS: usize = 1000;
/// Maximum bytes of a label; a longer name is counted as `other`.
pub(super) const MAX_NAME: usize = 200;

type ByPlugin = HashMap<Arc<str>, HashMap<Arc<str>, Arc<PerTool>>>;

#[derive(Default)]
pub(super) struct Tools {
    known: ArcSwap<ByPlugin>,
    /// Held while one is added.
    adding: Mutex<()>,
}

impl Tools {
    /// The counters of a tool, made with its labels by `make` when it is first called.
    pub(super) fn get(&self, plugin: &str, tool: &str, make: impl Fn(Arc<str>, Arc<str>) -> PerTool) -> Arc<PerTool> {
        if let Some(found) = find(&self.known.load(), plugin, tool) {
            return found;
        }
        let _adding = self.adding.lock().unwrap_or_else(PoisonError::into_inner);
        let known = self.known.load();
        let (plugin, tool) = labels(&known, plugin, tool);
        if let Some(found) = find(&known, plugin, tool) {
            return found;
        }
        let mut next = ByPlugin::clone(&known);
        let made: Arc<PerTool> = Arc::new(make(plugin.into(), tool.into()));
        next.entry(plugin.into()).or_default().insert(tool.into(), made.clone());
        self.known.store(Arc::new(next));
        made
    }
}

fn find(known: &ByPlugin, plugin: &str, tool: &str) -> Option<Arc<PerTool>> {
    known.get(plugin)?.get(tool).cloned()
}

/// The labels that a tool gets.
fn labels<'a>(known: &ByPlugin, plugin: &'a str, tool: &'a str) -> (&'a str, &'a str) {
    let is_new = !known.contains_key(plugin);
    if plugin.len() > MAX_NAME || is_new && known.len() >= MAX_PLUGINS {
        return (OTHER, OTHER);
    }
    let of_plugin = known.get(plugin).map_or(0, HashMap::len);
    let of_all: usize = known.values().map(HashMap::len).sum();
    let fits = tool.len() <= MAX_NAME && of_plugin < MAX_TOOLS_OF_PLUGIN && of_all < MAX_TOOLS;
    (plugin, if fits { tool } else { OTHER })
}
