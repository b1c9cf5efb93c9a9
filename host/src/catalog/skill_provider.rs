//! The skills of one folder, as a provider of the catalog: resources that are read from memory.

use std::sync::Arc;

use async_trait::async_trait;

use crate::plugin::abi::{GuestError, ReadOutcome};
use crate::plugin::{Call, CallError, Digest, PluginId, Provider, Skills, Surface};
use crate::skills::Tree;

pub(super) struct SkillProvider {
    id: PluginId,
    digest: Digest,
    surface: Surface,
}

impl SkillProvider {
    /// `digest` is that of all that was approved.
    pub(super) fn new(id: PluginId, digest: Digest, tree: Arc<Tree>) -> Self {
        let skills = Skills::of(vec![tree]);
        let surface = Surface { resources: Some(skills.resources().collect()), skills, ..Surface::default() };
        Self { id, digest, surface }
    }
}

#[async_trait]
impl Provider for SkillProvider {
    fn id(&self) -> &PluginId {
        &self.id
    }

    fn digest(&self) -> &Digest {
        &self.digest
    }

    /// What an operator puts into the folder of skills comes before resources of the same name in plugins.
    fn is_host(&self) -> bool {
        true
    }

    fn surface(&self) -> &Surface {
        &self.surface
    }

    async fn read_resource(&self, uri: &str, call: Call) -> Result<ReadOutcome, CallError> {
        let read = self.surface.skills.read_file(uri, call.unread.as_ref());
        read.unwrap_or(Err(CallError::Guest(GuestError::NotFound)))
    }
}
