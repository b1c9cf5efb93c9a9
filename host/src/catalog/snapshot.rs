//! An immutable snapshot of all plugins: every list, and which plugin owns each entry.
//!
//! Lists are ordered: the host's own entries first, then by plugin id, then as the plugin lists them. So
//! equal folders give equal lists.

use std::sync::Arc;

use super::Member;
use super::extensions::Extensions;
use super::names::{Entry, Names, Owners, Warning};
use crate::plugin::abi::{Prompt, ResourceDescription};
use crate::plugin::{FrozenTemplate, FrozenTool, PluginId, Provider};
use crate::skills::{MAX_DEPTH, SKILL_FILE, Skill};

/// The generations of all lists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Listings {
    pub tools: u64,
    pub prompts: u64,
    /// Of resources and templates together.
    pub resources: u64,
}

impl Listings {
    /// Generations that no list has.
    pub fn never() -> Self {
        Self { tools: u64::MAX, prompts: u64::MAX, resources: u64::MAX }
    }
}

#[derive(Default)]
pub struct Snapshot {
    /// The host's own, then by plugin id.
    members: Vec<Member>,
    pub tools: Names<FrozenTool>,
    pub prompts: Names<Prompt>,
    pub resources: Names<ResourceDescription>,
    pub templates: Names<FrozenTemplate>,
    pub skills: Names<Skill>,
    pub extensions: Extensions,
    /// The owners of schemes and authorities.
    uris: Owners,
}

impl Snapshot {
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// The plugin that serves a URI: the one that listed it, or whose skill it is in, otherwise the one with the matching template
    /// that has the most literal characters, the first one on a tie. No plugin serves a URI whose scheme
    /// and authority another one owns.
    pub fn provider_of(&self, uri: &str) -> Option<Arc<dyn Provider>> {
        if let Some(entry) = self.resources.get(uri) {
            return Some(entry.provider.clone());
        }
        if let Some(entry) = self.skill_around(uri) {
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

    /// The innermost skill in whose folder a URI is, or which is that folder; the URI may be of nothing there.
    pub fn skill_around(&self, uri: &str) -> Option<&Entry<Skill>> {
        let ends = std::iter::once(uri.len()).chain(uri.rmatch_indices('/').map(|(at, _)| at));
        ends.take(MAX_DEPTH + 1).find_map(|end| self.skills.get(&format!("{}/{SKILL_FILE}", &uri[..end])))
    }

    /// Whether a plugin other than `id` owns the URI's scheme and authority.
    pub fn is_owned_by_other(&self, uri: &str, id: &PluginId) -> bool {
        self.uris.of_uri(uri).is_some_and(|owner| owner != id)
    }

    pub fn listings(&self) -> Listings {
        Listings {
            tools: self.tools.generation(),
            prompts: self.prompts.generation(),
            resources: self.resources.generation() + self.templates.generation(),
        }
    }

    /// The next snapshot, with `members` in service, and warnings about its names. If this one was
    /// `published` to clients, names stay with their owners.
    pub(super) fn next(&self, mut members: Vec<Member>, published: bool) -> (Self, Vec<Warning>) {
        members.sort_by_key(|member| (!member.provider.is_host(), member.provider.id().clone()));
        let mut warnings = Vec::new();
        let (mut tools, mut prompts, mut uris) = (Owners::default(), Owners::default(), Owners::default());
        tools.claim(&self.tools, &members, published);
        prompts.claim(&self.prompts, &members, published);
        uris.reserve_pages(&members);
        uris.claim(&self.resources, &members, published);
        uris.claim(&self.templates, &members, published);
        uris.claim(&self.skills, &members, published);
        let next = Self {
            tools: self.tools.next(&members, &tools, &mut warnings),
            prompts: self.prompts.next(&members, &prompts, &mut warnings),
            resources: self.resources.next(&members, &uris, &mut warnings),
            templates: self.templates.next(&members, &uris, &mut warnings),
            // Left out with their resources, of which it is warned.
            skills: self.skills.next(&members, &uris, &mut Vec::new()),
            extensions: Extensions::of(&members, &mut warnings),
            uris,
            members,
        };
        (next, warnings)
    }
}
