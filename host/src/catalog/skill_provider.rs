//! The skills of one folder, as a provider of the catalog: resources that are read from memory.

use std::sync::Arc;

use async_trait::async_trait;

use crate::plugin::abi::{GuestError, ReadOutcome, ReadResult, ResourceBody, ResourceContents, ResourceDescription};
use crate::plugin::{Call, CallError, Digest, Fault, PluginId, Provider, Surface};
use crate::skills::{MARKDOWN, Skill, Tree};

pub(super) struct SkillProvider {
    id: PluginId,
    digest: Digest,
    surface: Surface,
    skills: Vec<Skill>,
    tree: Arc<Tree>,
}

impl SkillProvider {
    /// `digest` is that of all that was approved.
    pub(super) fn new(id: PluginId, digest: Digest, tree: Arc<Tree>) -> Self {
        let skills = tree.skills();
        let resources = skills.iter().map(|skill| ResourceDescription {
            uri: skill.uri().to_owned(),
            name: skill.name().to_owned(),
            title: None,
            description: Some(skill.description().to_owned()),
            mime_type: Some(MARKDOWN.to_owned()),
            size: tree.file(skill.uri()).map(|file| file.bytes.len() as u64),
            annotations: None,
            icons: Vec::new(),
            meta: None,
        });
        let surface = Surface { resources: Some(resources.collect()), ..Surface::default() };
        Self { id, digest, surface, skills, tree }
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

    fn skills(&self) -> &[Skill] {
        &self.skills
    }

    async fn read_resource(&self, uri: &str, call: Call) -> Result<ReadOutcome, CallError> {
        let file = self.tree.file(uri).ok_or(CallError::Guest(GuestError::NotFound))?;
        if call.unread.as_ref().is_some_and(|unread| !unread.is_open()) {
            return Err(CallError::Fault(Fault::Busy));
        }
        let body = match std::str::from_utf8(&file.bytes) {
            Ok(text) => ResourceBody::Text(text.to_owned()),
            Err(_) => ResourceBody::Blob(file.bytes.clone()),
        };
        let mime_type = Some(file.media_type.to_owned());
        let contents = vec![ResourceContents { uri: uri.to_owned(), mime_type, body, meta: None }];
        Ok(ReadOutcome::Complete(ReadResult { contents, caching: None, meta: None }))
    }
}
