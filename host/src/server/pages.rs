//! A cache of list pages, each serialized once per revision until its list changes.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use super::response::Response;
use crate::protocol::Revision;
use crate::protocol::cursor::ListKind;
use crate::sync::lock;

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Page {
    pub(super) kind: ListKind,
    pub(super) revision: Revision,
    pub(super) offset: u64,
}

/// The cached pages of all lists, shared by all clients.
#[derive(Default)]
pub(super) struct Pages(Mutex<HashMap<Page, (u64, Arc<str>)>>);

impl Pages {
    /// The page at that generation of its list.
    pub(super) fn get(&self, page: Page, generation: u64, write: impl FnOnce() -> Response) -> Response {
        let mut pages = lock(&self.0);
        // Bounded: an older generation is replaced, and no cursor points beyond the end of a list.
        let kept = pages.get(&page).filter(|(of, _)| *of == generation).map(|(_, text)| text.clone());
        let text = match kept {
            Some(text) => text,
            None => {
                let text: Arc<str> = write()?.into();
                pages.insert(page, (generation, text.clone()));
                text
            }
        };
        drop(pages);
        Ok(text.to_string())
    }
}
