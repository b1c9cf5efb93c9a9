//! The skills that a plugin carries: files of its component, which are served from memory.

use std::sync::Arc;

use serde_json::Value;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::abi::{ReadOutcome, ReadResult, ResourceBody, ResourceContents, ResourceDescription};
use super::fault::{CallError, Fault};
use super::id::PluginId;
use crate::byte_budget::ByteBudget;
use crate::skills::{MARKDOWN, MAX_COMPARED, Skill, Tree, unpack};

/// Maximum KiB of the skills of all plugins together.
pub(in crate::plugin) const MAX_KIB: usize = 64 << 10;

/// Skills that never change.
#[derive(Debug, Default, Clone)]
pub struct Skills {
    all: Vec<Skill>,
    trees: Vec<Arc<Tree>>,
    /// Of the bytes of all plugins.
    _room: Option<Arc<OwnedSemaphorePermit>>,
}

impl Skills {
    /// Those of a plugin, from the section of its component. `room`: KiB of the skills of all plugins. May take as long
    /// as hashing megabytes.
    ///
    /// # Errors
    /// What is wrong with them; reads after "failed to".
    pub(in crate::plugin) fn read(
        section: Option<&[u8]>,
        id: &PluginId,
        room: &Arc<Semaphore>,
    ) -> Result<Self, String> {
        let Some(section) = section else { return Ok(Self::default()) };
        let skills = Self::of(unpack(section, id.as_ref())?);
        let kib = skills.trees.iter().map(|tree| tree.size().div_ceil(1024)).sum::<u64>();
        let permits = u32::try_from(kib).ok().and_then(|kib| room.clone().try_acquire_many_owned(kib).ok());
        let permits = permits.ok_or_else(|| format!("keep more than {MAX_KIB} KiB of skills of all plugins"))?;
        Ok(Self { _room: Some(Arc::new(permits)), ..skills })
    }

    pub fn of(trees: Vec<Arc<Tree>>) -> Self {
        Self { all: trees.iter().flat_map(Tree::skills).collect(), trees, _room: None }
    }

    pub fn all(&self) -> &[Skill] {
        &self.all
    }

    /// What a person approves of them: files, whose names begin with that of the skill.
    pub(in crate::plugin) fn approved_files(&self) -> Vec<Value> {
        let mut room = MAX_COMPARED;
        self.trees.iter().flat_map(|tree| tree.approved_files(&format!("skills/{}/", tree.name()), &mut room)).collect()
    }

    /// Each `SKILL.md` as a resource.
    pub fn resources(&self) -> impl Iterator<Item = ResourceDescription> {
        self.all.iter().map(|skill| ResourceDescription {
            uri: skill.uri().to_owned(),
            name: skill.name().to_owned(),
            title: None,
            description: Some(skill.description().to_owned()),
            mime_type: Some(MARKDOWN.to_owned()),
            size: skill.tree().file(skill.uri()).map(|file| file.bytes.len() as u64),
            annotations: None,
            icons: Vec::new(),
            meta: None,
        })
    }

    /// Reads a file, unless `unread` is closed: the caller has not read what it got before. `None`: it is of no skill.
    pub fn read_file(&self, uri: &str, unread: Option<&ByteBudget>) -> Option<Result<ReadOutcome, CallError>> {
        let file = self.trees.iter().find_map(|tree| tree.file(uri))?;
        if unread.is_some_and(|unread| !unread.is_open()) {
            return Some(Err(CallError::Fault(Fault::Busy)));
        }
        let body = match file.text() {
            Some(text) => ResourceBody::Text(text.to_owned()),
            None => ResourceBody::Blob(file.bytes.clone()),
        };
        let mime_type = Some(file.media_type.to_owned());
        let contents = vec![ResourceContents { uri: uri.to_owned(), mime_type, body, meta: None }];
        Some(Ok(ReadOutcome::Complete(ReadResult { contents, caching: None, meta: None })))
    }

    /// Without those whose `SKILL.md` is not among the resources that are served.
    pub(in crate::plugin) fn retain(&mut self, served: &[ResourceDescription]) {
        self.all.retain(|skill| served.iter().any(|resource| resource.uri == skill.uri()));
    }
}
