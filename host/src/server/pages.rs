//! A cache of list pages, each serialized once per revision until its list changes.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use super::response::Response;
use crate::protocol::Revision;
use crate::protocol::cursor::ListKind;
use crate::rights::PermissionsKey;
use crate::sync::lock;

/// Maximum bytes of the pages of those who may not use everything: there may be as many kinds of them as there are
/// sets of rules.
const MAX_PARTIAL: usize = 16 << 20;

#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Page {
    pub(super) kind: ListKind,
    pub(super) revision: Revision,
    pub(super) offset: u64,
    /// For whom; `None`: for those who may use everything.
    pub(super) permissions: Option<PermissionsKey>,
}

/// Of a list, and of keys.
type Generation = (u64, u64);

/// The cached pages of all lists, shared by all clients.
#[derive(Default)]
pub(super) struct Pages(Mutex<Cache>);

#[derive(Default)]
struct Cache {
    pages: HashMap<Page, (Generation, Arc<str>)>,
    /// Bytes of the partial ones.
    partial: usize,
}

impl Pages {
    /// The page at that generation of its list, and of the keys that sign its cursor.
    pub(super) fn get(&self, page: Page, generation: Generation, write: impl FnOnce() -> Response) -> Response {
        let kept = lock(&self.0).pages.get(&page).filter(|(of, _)| *of == generation).map(|(_, text)| text.clone());
        if let Some(text) = kept {
            return Ok(text.to_string());
        }
        // Without the lock: a page may have megabytes.
        let text = write()?;
        lock(&self.0).insert(page, generation, text.as_str().into());
        Ok(text)
    }
}

impl Cache {
    /// Whole pages are bounded: an older generation is replaced, and no cursor points beyond the end of a list.
    fn insert(&mut self, page: Page, generation: Generation, text: Arc<str>) {
        if page.permissions.is_some() {
            if self.partial + text.len() > MAX_PARTIAL {
                self.pages.retain(|page, _| page.permissions.is_none());
                self.partial = 0;
            }
            if text.len() > MAX_PARTIAL {
                return;
            }
            self.partial += text.len();
        }
        let is_partial = page.permissions.is_some();
        if let Some((_, old)) = self.pages.insert(page, (generation, text)).filter(|_| is_partial) {
            self.partial -= old.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{MAX_PARTIAL, Page, Pages};
    use crate::identity::Identity;
    use crate::protocol::Revision;
    use crate::protocol::cursor::ListKind;
    use crate::rights::Rights;

    #[test]
    fn pages_of_those_with_rules_are_bounded_in_bytes() {
        let rights = std::sync::Arc::new(Rights { otherwise: false, ..Rights::default() });
        let permissions = rights.of(&Identity::local()).key();
        let page = |offset| Page {
            kind: ListKind::Tools,
            revision: Revision::LATEST_LEGACY,
            offset,
            permissions: permissions.clone(),
        };
        let pages = Pages::default();
        let whole = Page { permissions: None, ..page(0) };
        pages.get(whole.clone(), (0, 0), || Ok("whole".into())).expect("a page");
        for offset in 0..40 {
            pages.get(page(offset), (0, 0), || Ok("x".repeat(1 << 20))).expect("a page");
            let cache = pages.0.lock().expect("no panic");
            let partial: usize = cache
                .pages
                .iter()
                .filter(|(page, _)| page.permissions.is_some())
                .map(|(_, (_, text))| text.len())
                .sum();
            assert!(partial == cache.partial && partial <= MAX_PARTIAL, "{partial} {}", cache.partial);
        }
        // The same again, of another generation.
        pages.get(page(39), (1, 0), || Ok("x".into())).expect("a page");
        assert_eq!(pages.0.lock().expect("no panic").partial, 7 << 20 | 1);
        pages.get(page(41), (0, 0), || Ok("x".repeat(MAX_PARTIAL + 1))).expect("a page");
        assert_eq!(pages.0.lock().expect("no panic").partial, 0);
        let again = pages.get(whole, (0, 0), || Ok("again".into())).expect("a page");
        assert_eq!(again, "whole");
    }
}
