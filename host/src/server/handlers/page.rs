//! The list methods: a page of names, and a cursor for the next one.
//!
//! Source: MCP, server/utilities/pagination of each revision.

use std::sync::Arc;

use super::{Answer, Reply};
use crate::catalog::{Item, Names, Snapshot};
use crate::protocol::Revision;
use crate::protocol::cursor::{Cursor, ListKind};
use crate::protocol::result::{self, Caching, Envelope};
use crate::server::pages::Page;
use crate::server::scope::Scope;
use crate::server::{Server, wire};

/// What tells one list from another.
pub(in crate::server) struct List<T> {
    pub(in crate::server) kind: ListKind,
    /// The member of the result.
    pub(in crate::server) member: &'static str,
    pub(in crate::server) names: fn(&Snapshot) -> &Names<T>,
    pub(in crate::server) describe: fn(Revision, &str, &T) -> String,
}

impl<T: Item> List<T> {
    /// A page at once, or after the first scan of the plugins.
    pub(in crate::server) fn reply(&'static self, server: &Arc<Server>, scope: Scope, cursor: Option<&str>) -> Reply {
        if server.catalog.is_ready() {
            return Reply::Now(self.page(server, &scope, cursor));
        }
        let (server, cursor) = (server.clone(), cursor.map(str::to_owned));
        Reply::Later(Box::pin(async move {
            server.catalog.ready(server.settings.first_scan).await;
            self.page(&server, &scope, cursor.as_deref())
        }))
    }

    fn page(&self, server: &Server, scope: &Scope, cursor: Option<&str>) -> Answer {
        let snapshot = server.catalog.snapshot();
        let names = (self.names)(&snapshot);
        let offset = match cursor {
            Some(cursor) => Cursor::decode(cursor, &server.cursor_key, self.kind, names.digest())?,
            None => 0,
        };
        let page = Page { kind: self.kind, revision: scope.revision, offset };
        Ok(server.pages.get(page, names.generation(), || self.write(server, scope.revision, names, offset)))
    }

    /// The whole result.
    fn write(&self, server: &Server, revision: Revision, names: &Names<T>, offset: u64) -> String {
        // A cursor of ours never lies past the end of its own list.
        let rest = names.entries().get(offset as usize..).unwrap_or_default();
        let shown = &rest[..rest.len().min(server.settings.page_size)];
        let items = shown.iter().map(|entry| (self.describe)(revision, entry.name.as_str(), entry.item()));
        let mut members = wire::Object::default().array(self.member, items);
        if shown.len() < rest.len() {
            let next = Cursor { kind: self.kind, list: names.digest(), offset: offset + shown.len() as u64 };
            members = members.string("nextCursor", &next.encode(&server.cursor_key));
        }
        let envelope = Envelope { caching: Some(Caching::NONE), ..Envelope::default() };
        result::object(revision, &server.implementation, &members.members(), envelope)
    }
}
