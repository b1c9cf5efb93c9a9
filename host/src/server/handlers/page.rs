//! The list methods: a page of names, and a cursor for the next one.
//!
//! Source: MCP, server/utilities/pagination of each revision.

use std::sync::Arc;

use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};

use crate::catalog::{Entry, Item, Names, Snapshot};
use crate::protocol::Revision;
use crate::protocol::cursor::{Cursor, ListKind};
use crate::protocol::result::{self, Caching, Envelope};
use crate::server::Server;
use crate::server::pages::Page;
use crate::server::permissions::{Allowed, is_listed};
use crate::server::response::{Dispatched, Response};
use crate::server::scope::Scope;

/// Maximum bytes of a page, as estimated.
const MAX_PAGE: usize = 1 << 20;

/// What differs between the lists.
pub(in crate::server) trait Listed: Item + Allowed + Sized {
    const KIND: ListKind;
    /// The member of the result.
    const MEMBER: &'static str;
    /// An entry in the wire's form.
    type View<'a>: Serialize;

    fn names(snapshot: &Snapshot) -> &Names<Self>;

    fn view(entry: &Entry<Self>, revision: Revision) -> Self::View<'_>;

    /// About how many bytes it takes in the list, if a page of them may be very large.
    fn size(&self) -> usize {
        0
    }
}

/// A page, after the first scan of the plugins or the time that a first list may take.
pub(in crate::server) fn list<T: Listed>(server: &Arc<Server>, scope: Scope, cursor: Option<&str>) -> Dispatched {
    if server.catalog.listable_now().is_some() {
        return Dispatched::Now(page::<T>(server, &scope, cursor));
    }
    let (server, cursor) = (server.clone(), cursor.map(str::to_owned));
    Dispatched::Later(Box::pin(async move {
        server.catalog.listable(server.settings.first_list).await;
        page::<T>(&server, &scope, cursor.as_deref())
    }))
}

fn page<T: Listed>(server: &Server, scope: &Scope, cursor: Option<&str>) -> Response {
    let snapshot = server.catalog.snapshot();
    let names = T::names(&snapshot);
    let offset = match cursor {
        Some(cursor) => server.keys.offset(cursor, T::KIND, names.digest())?,
        None => 0,
    };
    let page = Page { kind: T::KIND, revision: scope.revision, offset, permissions: scope.permissions.key() };
    server.pages.get(page, (names.generation(), server.keys.generation()), || write(server, scope, names, offset))
}

/// The whole result. Offsets count what is not shown too, so that cursors stay valid when rights change.
fn write<T: Listed>(server: &Server, scope: &Scope, names: &Names<T>, offset: u64) -> Response {
    let revision = scope.revision;
    // A valid cursor never points past the end of its own list.
    let rest = names.entries().get(offset as usize..).unwrap_or_default();
    let mut visible = rest.iter().enumerate().filter(|(_, entry)| is_listed(&scope.permissions, entry)).peekable();
    let (mut shown, mut size) = (Vec::new(), 0);
    while let Some((_, entry)) = visible.next_if(|(_, entry)| {
        size += entry.item().size();
        shown.is_empty() || shown.len() < server.settings.page_size && size <= MAX_PAGE
    }) {
        shown.push(entry);
    }
    let next = visible
        .next()
        .map(|(at, _)| server.keys.sign(Cursor { kind: T::KIND, list: names.digest(), offset: offset + at as u64 }));
    let envelope = Envelope { caching: Some(Caching::NONE), ..Envelope::default() };
    result::object(revision, &server.implementation, &ListResult { revision, shown, next }, envelope)
}

/// The wire's `ListToolsResult` and the like, without the envelope.
struct ListResult<'a, T> {
    revision: Revision,
    shown: Vec<&'a Entry<T>>,
    next: Option<String>,
}

impl<T: Listed> Serialize for ListResult<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let views: Vec<_> = self.shown.iter().map(|entry| T::view(entry, self.revision)).collect();
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry(T::MEMBER, &views)?;
        if let Some(next) = &self.next {
            map.serialize_entry("nextCursor", next)?;
        }
        map.end()
    }
}
