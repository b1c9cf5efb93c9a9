//! An immutable snapshot of all plugins: every list, and which plugin owns each entry.
//!
//! Ordered: the host's own first, then by plugin id, then as the plugin lists; so equal folders list equally.

use std::sync::Arc;

use super::Member;
use super::extensions::Extensions;
use super::names::{Entry, Names, Owners, Warning};
use crate::plugin::abi::{Prompt, ResourceDescription};
use crate::plugin::{FrozenTemplate, FrozenTool, PluginId, Provider};

/// The generations of all lists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Listings {
    pub tools: u64,
    pub prompts: u64,
    /// Of resources and of their templates.
    pub resources: u64,
}

#[derive(Default)]
pub struct Snapshot {
    /// The host's own, then by plugin id.
    members: Vec<Member>,
    pub tools: Names<FrozenTool>,
    pub prompts: Names<Prompt>,
    pub resources: Names<ResourceDescription>,
    pub templates: Names<FrozenTemplate>,
    pub extensions: Extensions,
    /// Of schemes and authorities.
    uris: Owners,
}

impl Snapshot {
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// The plugin that serves a URI: the one that listed it, else one with a matching template. Of
    /// several templates the one with the most literal characters wins; of equals the first. No
    /// plugin serves another's scheme and authority.
    pub fn provider_of(&self, uri: &str) -> Option<Arc<dyn Provider>> {
        if let Some(entry) = self.resources.get(uri) {
            return Some(entry.provider.clone());
        }
        let owner = self.uris.of_uri(uri);
        let mut nearest: Option<&Entry<FrozenTemplate>> = None;
        for entry in self.templates.entries() {
            let literals = |entry: &Entry<FrozenTemplate>| entry.item().uri.literals();
            if nearest.is_none_or(|nearest| literals(entry) > literals(nearest))
                && owner.is_none_or(|owner| owner == entry.provider.id())
                && entry.item().uri.matches(uri)
            {
                nearest = Some(entry);
            }
        }
        nearest.map(|entry| entry.provider.clone())
    }

    /// Whether another plugin than `id` holds the URI's scheme and authority.
    pub fn is_of_another(&self, uri: &str, id: &PluginId) -> bool {
        self.uris.of_uri(uri).is_some_and(|owner| owner != id)
    }

    pub fn listings(&self) -> Listings {
        Listings {
            tools: self.tools.generation(),
            prompts: self.prompts.generation(),
            resources: self.resources.generation() + self.templates.generation(),
        }
    }

    /// The next snapshot, with `members` in service, and the warnings about names that were not in
    /// this one. Names already `told` to clients stay with their owners.
    pub(super) fn succeed(&self, mut members: Vec<Member>, told: bool) -> (Self, Vec<Warning>) {
        members.sort_by_key(|member| (!member.provider.is_host(), member.provider.id().clone()));
        let mut warnings = Vec::new();
        let (mut tools, mut prompts, mut uris) = (Owners::default(), Owners::default(), Owners::default());
        tools.claim(&self.tools, &members, told);
        prompts.claim(&self.prompts, &members, told);
        uris.claim(&self.resources, &members, told);
        uris.claim(&self.templates, &members, told);
        let next = Self {
            tools: self.tools.succeed(&members, &tools, &mut warnings),
            prompts: self.prompts.succeed(&members, &prompts, &mut warnings),
            resources: self.resources.succeed(&members, &uris, &mut warnings),
            templates: self.templates.succeed(&members, &uris, &mut warnings),
            extensions: Extensions::of(&members, &mut warnings),
            uris,
            members,
        };
        (next, warnings)
    }
}
