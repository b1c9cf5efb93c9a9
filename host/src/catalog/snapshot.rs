//! An immutable picture of all plugins: every list, and who answers for what.
//!
//! Order is by plugin id and then as the plugin lists, so equal folders list equally.

use super::Member;
use super::extensions::Extensions;
use super::names::{Names, Owners, Warning};
use crate::plugin::FrozenTool;
use crate::plugin::abi::{Prompt, ResourceDescription, ResourceTemplate};

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
    /// By plugin id.
    members: Vec<Member>,
    pub tools: Names<FrozenTool>,
    pub prompts: Names<Prompt>,
    pub resources: Names<ResourceDescription>,
    pub templates: Names<ResourceTemplate>,
    pub extensions: Extensions,
}

impl Snapshot {
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    pub fn listings(&self) -> Listings {
        Listings {
            tools: self.tools.generation(),
            prompts: self.prompts.generation(),
            resources: self.resources.generation() + self.templates.generation(),
        }
    }

    /// The snapshot that follows this one when `members` are in service, and what there is
    /// to say about names that were not in it before. Names that `told` clients know stay
    /// with their owners.
    pub(super) fn succeed(&self, mut members: Vec<Member>, told: bool) -> (Self, Vec<Warning>) {
        members.sort_by(|a, b| a.provider.id().cmp(b.provider.id()));
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
            members,
        };
        (next, warnings)
    }
}
