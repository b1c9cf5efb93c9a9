//! What calls of this process change, for the other nodes of the server.

use std::collections::BTreeSet;
use std::sync::Mutex;

use crate::plugin::PluginId;
use crate::sync::lock;

/// Maximum resources that are named at a time, and bytes of their URIs.
const MAX_RESOURCES: usize = 512;
const MAX_BYTES: usize = 64 << 10;

/// Changes that calls have made.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OwnChanges {
    /// Resources that were updated.
    pub resources: BTreeSet<String>,
    /// There were more: any may have been updated.
    pub any: bool,
    /// Plugins that offer something else now.
    pub lists: BTreeSet<PluginId>,
}

impl OwnChanges {
    pub fn is_empty(&self) -> bool {
        let Self { resources, any, lists } = self;
        resources.is_empty() && !any && lists.is_empty()
    }

    /// Has the other ones too.
    pub fn add(&mut self, other: Self) {
        other.resources.iter().for_each(|uri| self.updated(uri));
        self.any |= other.any;
        self.lists.extend(other.lists);
    }

    fn updated(&mut self, uri: &str) {
        let bytes: usize = self.resources.iter().map(String::len).sum();
        if self.resources.len() < MAX_RESOURCES && bytes + uri.len() <= MAX_BYTES {
            self.resources.insert(uri.to_owned());
        } else if !self.resources.contains(uri) {
            self.any = true;
        }
    }
}

/// Those that have not been taken. Nothing is kept before somebody takes them for the first time.
#[derive(Default)]
pub(in crate::server) struct Own(Mutex<Option<OwnChanges>>);

impl Own {
    pub(in crate::server) fn take(&self) -> OwnChanges {
        lock(&self.0).replace(OwnChanges::default()).unwrap_or_default()
    }

    pub(in crate::server) fn updated(&self, uri: &str) {
        if let Some(own) = &mut *lock(&self.0) {
            own.updated(uri);
        }
    }

    pub(in crate::server) fn listed(&self, id: &PluginId) {
        if let Some(own) = &mut *lock(&self.0) {
            own.lists.insert(id.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_kept_for_who_takes_them_and_bounded() {
        let own = Own::default();
        own.updated("note://early");
        assert!(own.take().is_empty());
        own.updated("note://1");
        own.updated("note://1");
        let id = PluginId::parse("notes").expect("a name");
        own.listed(&id);
        let taken = own.take();
        assert_eq!((taken.resources.len(), taken.any, taken.lists.len()), (1, false, 1));
        assert!(own.take().is_empty());
        for n in 0..MAX_RESOURCES {
            own.updated(&format!("note://{n}"));
        }
        own.updated("note://0");
        assert!(!own.take().any);
        for n in 0..=MAX_RESOURCES {
            own.updated(&format!("note://{n}"));
        }
        let taken = own.take();
        assert!(taken.any && taken.resources.len() == MAX_RESOURCES);
        own.updated(&"x".repeat(MAX_BYTES + 1));
        assert!(own.take().any);
    }
}
