//! What the sender of a request may use, and the errors for what it may not.

use std::sync::Arc;

use arc_swap::ArcSwap;
use tokio::sync::watch;

use super::Server;
use super::built_in::DISCOVERY_ID;
use super::scope::Scope;
use crate::catalog::{Entry, Item as _, Names};
use crate::identity::Identity;
use crate::plugin::Provider;
use crate::plugin::abi::{Prompt, ResourceDescription};
use crate::plugin::{FrozenTemplate, FrozenTool};
use crate::protocol::{ErrorObject, error};
use crate::rights::{Ask, Asking, Item, Permissions, Rights, Verdict};
use crate::skills::Skill;

/// The rights in force, which can be replaced while the server runs.
pub(super) struct CurrentRights {
    rights: ArcSwap<Rights>,
    changed: watch::Sender<()>,
}

impl CurrentRights {
    pub(super) fn new(rights: Arc<Rights>) -> Self {
        Self { rights: ArcSwap::new(rights), changed: watch::Sender::default() }
    }

    /// The number of times that they were replaced.
    pub(super) fn generation(&self) -> u64 {
        self.rights.load().generation
    }

    /// Changes when they are replaced.
    pub(super) fn watch(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }
}

impl Server {
    /// Another number when other rights are in force.
    pub fn rights_generation(&self) -> u64 {
        self.rights.generation()
    }

    /// Replaces the rights (by one task), from the next request on. Clients are told that their lists may have changed.
    pub fn set_rights(&self, rights: Rights) {
        let generation = self.rights.generation() + 1;
        self.rights.rights.store(Arc::new(Rights { generation, ..rights }));
        self.rights.changed.send_replace(());
    }

    /// What an identity may use, by the rights in force.
    pub fn permissions_of(&self, identity: &Identity) -> Permissions {
        let rights = self.rights.rights.load();
        if rights.is_open() { Permissions::open() } else { rights.of(identity) }
    }

    /// Whether a person is asked before somebody with those permissions runs a tool that they may use, and how.
    pub(super) fn asks(&self, permissions: &Permissions, provider: &dyn Provider, tool: &FrozenTool) -> (Ask, Asking) {
        let rights = self.rights.rights.load();
        (asks(&rights, permissions, provider, tool), rights.asking)
    }

    /// Whether somebody may read a resource that is there.
    pub(super) fn may_read(&self, permissions: &Permissions, uri: &str) -> bool {
        permissions.is_open() || {
            let provider = self.catalog.snapshot().provider_of(uri);
            provider.is_some_and(|provider| permissions.allows(provider.id().as_ref(), Item::Resource(uri)))
        }
    }

    /// Whether a plugin that somebody may use offers completions, or may do so once it is loaded.
    pub(super) fn offers_completions(&self, permissions: &Permissions) -> bool {
        if permissions.is_open() {
            return self.catalog.offers_completions();
        }
        let snapshot = self.catalog.snapshot();
        let prompts = snapshot.prompts.entries().iter();
        let templates = snapshot.templates.entries().iter();
        prompts.filter(|entry| entry.provider.surface().completions).any(|entry| is_listed(permissions, entry))
            || templates.filter(|entry| entry.provider.surface().completions).any(|entry| is_listed(permissions, entry))
    }
}

/// What rules can name.
pub trait Allowed {
    fn item(&self) -> Item<'_>;
}

impl Allowed for FrozenTool {
    fn item(&self) -> Item<'_> {
        Item::Tool(self.own_name())
    }
}

impl Allowed for Prompt {
    fn item(&self) -> Item<'_> {
        Item::Prompt(self.own_name())
    }
}

impl Allowed for ResourceDescription {
    fn item(&self) -> Item<'_> {
        Item::Resource(self.own_name())
    }
}

impl Allowed for FrozenTemplate {
    fn item(&self) -> Item<'_> {
        Item::Template(self.own_name())
    }
}

/// A skill is named by its `SKILL.md`.
impl Allowed for Skill {
    fn item(&self) -> Item<'_> {
        Item::Resource(self.own_name())
    }
}

/// Whether somebody may use something of a plugin. All may use the tools of discovery, which find and call only what
/// may be used.
pub fn verdict<'a>(permissions: &'a Permissions, provider: &dyn Provider, item: Item<'_>) -> Verdict<'a> {
    if is_discovery(provider) {
        return Verdict::Allowed(None);
    }
    permissions.verdict(provider.id().as_ref(), item)
}

/// Whether a person is asked before somebody with those permissions runs a tool that they may use. Nobody is about those
/// of discovery: it is asked about the tool that they call.
pub fn asks(rights: &Rights, permissions: &Permissions, provider: &dyn Provider, tool: &FrozenTool) -> Ask {
    if is_discovery(provider) {
        return Ask::Never;
    }
    rights.ask(permissions, provider.id().as_ref(), tool.own_name(), may_destroy(tool))
}

/// Whether a tool may destroy something, by what its author says of it.
pub fn may_destroy(tool: &FrozenTool) -> bool {
    let said = tool.tool.annotations.as_ref();
    // The defaults are those of MCP, schema `ToolAnnotations`.
    let is_read_only = said.and_then(|said| said.read_only).unwrap_or(false);
    !is_read_only && said.and_then(|said| said.destructive).unwrap_or(true)
}

fn is_discovery(provider: &dyn Provider) -> bool {
    provider.is_host() && provider.id().as_ref() == DISCOVERY_ID
}

/// Whether an entry is in the list of somebody with those permissions.
pub(super) fn is_listed<T: Allowed + crate::catalog::Item>(permissions: &Permissions, entry: &Entry<T>) -> bool {
    permissions.shows(&verdict(permissions, &*entry.provider, entry.item().item()))
}

/// The names in the list of somebody with those permissions, for an error that suggests some.
pub(super) fn listed<'a, T: Allowed + crate::catalog::Item>(
    names: &'a Names<T>,
    permissions: &'a Permissions,
) -> impl Iterator<Item = &'a str> {
    let listed = names.entries().iter().filter(|entry| is_listed(permissions, entry));
    listed.map(|entry| entry.name.as_str())
}

/// Whether the sender of a request may use what it names.
pub(super) struct Checked<'a> {
    /// The rule that says so, by its name.
    pub(super) rule: Option<&'a str>,
    pub(super) result: Result<(), ErrorObject>,
}

impl Scope {
    /// Whether its sender may use it. If not, the error is `not_found` if it does not exist for the sender, or says the
    /// scopes that it needs if it is listed.
    pub(super) fn check(
        &self,
        provider: &dyn Provider,
        item: Item<'_>,
        not_found: impl FnOnce() -> ErrorObject,
    ) -> Checked<'_> {
        let verdict = verdict(&self.permissions, provider, item);
        let result = match verdict {
            Verdict::Allowed(_) => Ok(()),
            Verdict::Denied { scopes, .. } if self.permissions.shows(&verdict) => {
                Err(error::insufficient_scope(scopes))
            }
            Verdict::Denied { .. } => Err(not_found()),
        };
        Checked { rule: verdict.rule(), result }
    }
}
