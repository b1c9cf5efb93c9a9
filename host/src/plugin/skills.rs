//! The skills that a plugin carries: files of its component, which are served from memory.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use serde_json::Value;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::abi::{ReadOutcome, ReadResult, ResourceBody, ResourceContents, ResourceDescription};
use super::fault::{CallError, Fault};
use super::id::{Digest, PluginId};
use crate::byte_budget::ByteBudget;
use crate::skills::{MARKDOWN, MAX_COMPARED, Skill, Tree, unpack};
use crate::sync::{Mutex, lock};

/// Maximum KiB of the skills of all plugins together.
const MAX_KIB: usize = 64 << 10;

/// Skills that never change.
#[derive(Debug, Default, Clone)]
pub struct Skills {
    all: Vec<Skill>,
    kept: Arc<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    trees: Vec<Arc<Tree>>,
    /// Of those that are not kept for lack of room, what a person approves: they are a part of what the plugin offers, as
    /// it was approved, at every start.
    left_out: Vec<Value>,
    /// Of the bytes of all plugins.
    _room: Option<OwnedSemaphorePermit>,
}

/// The room for the skills of all plugins, and those in it: one component is read more than once while it is loaded.
pub(in crate::plugin) struct SkillRoom {
    kib: Arc<Semaphore>,
    /// By the plugin and the digest of its section.
    kept: Mutex<HashMap<(PluginId, Digest), Weak<Kept>>>,
}

impl Default for SkillRoom {
    fn default() -> Self {
        Self { kib: Arc::new(Semaphore::new(MAX_KIB)), kept: Mutex::default() }
    }
}

impl SkillRoom {
    /// The skills of a plugin, from the section of its component; and why they are left out, which reads after "failed
    /// to". May take as long as hashing megabytes.
    pub(in crate::plugin) fn read(&self, section: Option<&[u8]>, id: &PluginId) -> (Skills, Option<String>) {
        let Some(section) = section else { return (Skills::default(), None) };
        let key = (id.clone(), Digest::of(section));
        if let Some(kept) = lock(&self.kept).get(&key).and_then(Weak::upgrade) {
            return (Skills::kept(kept), None);
        }
        let trees = match unpack(section, id.as_ref()) {
            Ok(trees) => trees,
            Err(why) => return (Skills::default(), Some(why)),
        };
        let kib = trees.iter().map(|tree| tree.size().div_ceil(1024)).sum::<u64>();
        let permits = u32::try_from(kib).ok().and_then(|kib| self.kib.clone().try_acquire_many_owned(kib).ok());
        let Some(permits) = permits else {
            let left_out = Kept { left_out: approved_files(&trees), ..Kept::default() };
            let why = format!("keep more than {MAX_KIB} KiB of skills of all plugins");
            return (Skills::kept(Arc::new(left_out)), Some(why));
        };
        let new = Arc::new(Kept { trees, left_out: Vec::new(), _room: Some(permits) });
        let mut kept = lock(&self.kept);
        kept.retain(|_, kept| kept.strong_count() > 0);
        kept.insert(key, Arc::downgrade(&new));
        (Skills::kept(new), None)
    }
}

impl Skills {
    pub fn of(trees: Vec<Arc<Tree>>) -> Self {
        Self::kept(Arc::new(Kept { trees, ..Kept::default() }))
    }

    fn kept(kept: Arc<Kept>) -> Self {
        Self { all: kept.trees.iter().flat_map(Tree::skills).collect(), kept }
    }

    /// Those that are served.
    pub fn all(&self) -> &[Skill] {
        &self.all
    }

    /// Whether the plugin carries none; it may carry some of which none is served.
    pub fn is_empty(&self) -> bool {
        self.kept.trees.is_empty() && self.kept.left_out.is_empty()
    }

    /// What a person approves of them: files, whose names begin with that of the skill.
    pub fn approved_files(&self) -> Vec<Value> {
        if self.kept.trees.is_empty() { self.kept.left_out.clone() } else { approved_files(&self.kept.trees) }
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
        let file = self.kept.trees.iter().find_map(|tree| tree.file(uri))?;
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

fn approved_files(trees: &[Arc<Tree>]) -> Vec<Value> {
    let mut room = MAX_COMPARED;
    trees.iter().flat_map(|tree| tree.approved_files(&format!("skills/{}/", tree.name()), &mut room)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plugin::surface::Listed;

    /// Otherwise a plugin would be held at a start at which others leave it no room.
    #[test]
    fn what_is_pinned_does_not_depend_on_the_room() {
        let section = br#"{"demo":{"SKILL.md":{"text":"---\nname: demo\ndescription: d\n---\n"}}}"#;
        let id = PluginId::parse("p").expect("an id");
        let read = |room: &SkillRoom| room.read(Some(section), &id);
        let surface = |skills| Listed { skills, ..Listed::default() }.freeze().expect("a surface").0;
        let (room, none) =
            (SkillRoom::default(), SkillRoom { kib: Arc::new(Semaphore::new(0)), ..SkillRoom::default() });
        let ((kept, why), (left_out, why_not)) = (read(&room), read(&none));
        assert!(why.is_none() && why_not.is_some_and(|why| why.starts_with("keep more than 65536 KiB")));
        let (kept, left_out) = (surface(kept), surface(left_out));
        assert_eq!((kept.skills.all().len(), left_out.skills.all().len()), (1, 0));
        assert_eq!(kept.canonical(), left_out.canonical());
        assert!(!kept.stored().contains("demo") && kept.resources.is_some_and(|resources| resources.len() == 1));
        // Read twice while it is loaded, it takes its room once.
        let again = read(&room).0;
        assert_eq!(room.kib.available_permits(), MAX_KIB - 1);
        drop((again, kept.skills));
        assert_eq!(room.kib.available_permits(), MAX_KIB);
    }
}
