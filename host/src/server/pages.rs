//! Pages of lists, each written once for a revision and kept until its list changes.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::handlers::Answer;
use crate::protocol::Revision;
use crate::protocol::cursor::ListKind;

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Page {
    pub(super) kind: ListKind,
    pub(super) revision: Revision,
    pub(super) offset: u64,
}

/// The pages of all lists as they were last written: every client gets the same.
#[derive(Default)]
pub(super) struct Pages(Mutex<HashMap<Page, (u64, Arc<str>)>>);

impl Pages {
    /// The page of that generation of its list.
    pub(super) fn get(&self, page: Page, generation: u64, write: impl FnOnce() -> Answer) -> Answer {
        let mut pages = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // What has become older is replaced, and no cursor leads beyond the end of a list: there are
        // never many.
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
