//! `skills/list`, `skills/get` and `resources/directory/read` of the extension `io.modelcontextprotocol/skills`. Files of
//! skills are read as resources.
//!
//! Source: SEP-2640.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::page::Listed;
use crate::catalog::{Catalog, Entry, Names, Snapshot};
use crate::protocol::cursor::{Cursor, ListKind};
use crate::protocol::result::{self, Caching, Envelope};
use crate::protocol::{ErrorObject, Revision, error};
use crate::server::Server;
use crate::server::call_record::CallRecord;
use crate::server::permissions::Allowed as _;
use crate::server::response::{Dispatched, Response};
use crate::server::scope::Scope;
use crate::server::wire::skill::{self, Child, GetSkillResult, ReadDirectoryResult};
use crate::skills::Skill;

/// The name of the extension.
const EXTENSION: &str = "io.modelcontextprotocol/skills";

impl Listed for Skill {
    const KIND: ListKind = ListKind::Skills;
    const MEMBER: &'static str = "skills";
    type View<'a> = skill::Skill<'a>;

    fn names(snapshot: &Snapshot) -> &Names<Self> {
        &snapshot.skills
    }

    fn view(entry: &Entry<Self>, _: Revision) -> Self::View<'_> {
        skill::Skill::new(entry.item())
    }

    fn size(&self) -> usize {
        // A digest and a size beside each URI.
        let files = self.files().map(|file| file.uri.len() + 128);
        self.frontmatter().len() + files.sum::<usize>()
    }
}

/// Declares the extension where it is defined, if there are skills or a folder for them.
pub(in crate::server) fn declare(catalog: &Catalog, revision: Revision, extensions: &mut Map<String, Value>) {
    if revision.is_modern() && catalog.offers_skills() {
        extensions.insert(EXTENSION.to_owned(), json!({ "directoryRead": true }));
    }
}

pub(in crate::server) fn get(server: &Arc<Server>, scope: Scope, uri: &str) -> Dispatched {
    let (server, uri) = (server.clone(), uri.to_owned());
    Dispatched::Later(Box::pin(async move {
        let mut record = CallRecord::begin(&server, &scope, "skills/get", &uri)?;
        let snapshot = server.snapshot_with(|snapshot| snapshot.skills.get(&uri).is_some()).await;
        let not_found = || error::skill_not_found(&uri);
        let answer = permitted(&scope, snapshot.skills.get(&uri), &mut record, &uri, not_found).and_then(|entry| {
            let members = GetSkillResult { skill: skill::Skill::new(entry.item()) };
            let envelope = Envelope { caching: Some(Caching::NONE), ..Envelope::default() };
            result::object(scope.revision, &server.implementation, &members, envelope)
        });
        record.finish(answer).await
    }))
}

pub(in crate::server) fn read_directory(
    server: &Arc<Server>,
    scope: Scope,
    uri: &str,
    cursor: Option<&str>,
) -> Dispatched {
    let (server, uri, cursor) = (server.clone(), uri.to_owned(), cursor.map(str::to_owned));
    Dispatched::Later(Box::pin(async move {
        let mut record = CallRecord::begin(&server, &scope, "resources/directory/read", &uri)?;
        let snapshot = server.snapshot_with(|snapshot| snapshot.skill_around(&uri).is_some()).await;
        let not_found = || error::directory_not_found(&uri);
        let found = permitted(&scope, snapshot.skill_around(&uri), &mut record, &uri, not_found);
        let answer = found.and_then(|entry| children(&server, &scope, entry.item(), &uri, cursor.as_deref()));
        record.finish(answer).await
    }))
}

/// A skill that the sender may use. Who may read its `SKILL.md` sees what it consists of.
fn permitted<'s>(
    scope: &Scope,
    found: Option<&'s Entry<Skill>>,
    record: &mut CallRecord,
    uri: &str,
    not_found: impl Fn() -> ErrorObject,
) -> Result<&'s Entry<Skill>, ErrorObject> {
    let Some(entry) = found else {
        record.set_code("not-found");
        return Err(not_found());
    };
    record.set_target(scope, &*entry.provider, uri);
    record.permitted(scope.check(&*entry.provider, entry.item().item(), not_found))?;
    Ok(entry)
}

fn children(server: &Server, scope: &Scope, skill: &Skill, uri: &str, cursor: Option<&str>) -> Response {
    let children = skill.tree().children(uri).ok_or_else(|| error::directory_not_found(uri))?;
    let list = digest(&children);
    let offset = match cursor {
        Some(cursor) => server.keys.offset(cursor, ListKind::Directory, list)? as usize,
        None => 0,
    };
    let end = offset.saturating_add(server.settings.page_size).min(children.len());
    let next_cursor = (end < children.len())
        .then(|| server.keys.sign(Cursor { kind: ListKind::Directory, list, offset: end as u64 }));
    let page = children.get(offset..end).unwrap_or_default();
    let members = ReadDirectoryResult { resources: page.iter().map(Child::new).collect(), next_cursor };
    result::object(scope.revision, &server.implementation, &members, Envelope::default())
}

/// Of the names in a folder, in order: a cursor is of one folder as it is.
fn digest(children: &[crate::skills::Child<'_>]) -> u64 {
    let mut hash = blake3::Hasher::new();
    for child in children {
        // A URI has no space.
        hash.update(child.uri.as_bytes()).update(b" ");
    }
    let mut digest = [0; 8];
    hash.finalize_xof().fill(&mut digest);
    u64::from_le_bytes(digest)
}
