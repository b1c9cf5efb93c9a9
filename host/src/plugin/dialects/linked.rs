//! Compiled and linked components: one per digest, however often it is loaded.
//!
//! Independent of the plugin: id, limits and grants are in each call's store.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Weak};

use tokio::sync::Mutex;
use wasmtime::component::types::ComponentItem;
use wasmtime::component::{InstancePre, Linker};

use super::Dialect;
use crate::plugin::component::cache::Code;
use crate::plugin::component::engine::EngineKind;
use crate::plugin::component::inspect;
use crate::plugin::error::LoadError;
use crate::plugin::id::Digest;
use crate::plugin::imports::state::GuestState;
use crate::plugin::limits::Limits;
use crate::plugin::policy::access::Access;
use crate::sync::lock;

/// Shared by all plugins with the same digest.
pub(in crate::plugin) struct Linked {
    runs: Runs,
    pub(in crate::plugin) dialect: Box<dyn Dialect>,
    /// The kinds of access that its imports require.
    pub(in crate::plugin) needs: BTreeSet<Access>,
}

enum Runs {
    Here(Here),
    /// In another process, whose engine is of that kind.
    Elsewhere(EngineKind),
}

/// What runs in this process.
struct Here {
    code: Code,
    pre: InstancePre<GuestState>,
}

impl Linked {
    /// One that runs in another process, with which the dialect speaks.
    pub(in crate::plugin) fn elsewhere(kind: EngineKind, dialect: Box<dyn Dialect>, needs: BTreeSet<Access>) -> Self {
        Self { runs: Runs::Elsewhere(kind), dialect, needs }
    }

    fn here(&self) -> Option<&Here> {
        match &self.runs {
            Runs::Here(here) => Some(here),
            Runs::Elsewhere(_) => None,
        }
    }

    /// Whether it cannot run in this process, whatever its settings say.
    pub(in crate::plugin) fn is_only_elsewhere(&self) -> bool {
        matches!(self.runs, Runs::Elsewhere(EngineKind::Asynchronous))
    }

    /// `None`: it runs in another process.
    pub(in crate::plugin) fn pre(&self) -> Option<&InstancePre<GuestState>> {
        self.here().map(|here| &here.pre)
    }

    /// Links a component and finds its functions. `bytes` are the component's.
    ///
    /// # Errors
    /// If an import is unknown, or there is no callable export.
    pub(in crate::plugin) fn new(linker: &Linker<GuestState>, code: Code, bytes: &[u8]) -> Result<Self, LoadError> {
        let (component, engine) = (code.component(), linker.engine());
        let kind = component.component_type();
        let mut needs = BTreeSet::new();
        for (name, item) in kind.imports(engine) {
            // Importing only types requires no access.
            let wanted = match &item.ty {
                ComponentItem::Type(_) => false,
                ComponentItem::ComponentInstance(instance) => {
                    instance.exports(engine).any(|(_, item)| !matches!(item.ty, ComponentItem::Type(_)))
                }
                _ => true,
            };
            if wanted && !inspect::is_linked(name) {
                return Err(LoadError::unknown_import(name));
            }
            needs.extend(inspect::grant(name));
        }
        let pre = linker.instantiate_pre(component).map_err(LoadError::unlinkable)?;
        let dialect = super::find(&pre, bytes)?;
        Ok(Self { runs: Runs::Here(Here { code, pre }), dialect, needs })
    }

    /// Checks that its initial memory is within the limits.
    pub(in crate::plugin) fn fits(&self, limits: &Limits) -> Result<(), LoadError> {
        let required = self.here().and_then(|here| here.code.component().resources_required());
        let pages = required.and_then(|required| required.max_initial_memory_size).unwrap_or(0);
        let bytes = pages.saturating_mul(64 << 10);
        if bytes > limits.memory { Err(LoadError::DeclaredMemory { bytes, limit: limits.memory }) } else { Ok(()) }
    }

    /// Returns the pages of its code to the OS; the next call maps them again.
    pub(in crate::plugin) fn unmap_code(&self) {
        if let Some(here) = self.here() {
            here.code.unmap();
        }
    }
}

/// The linked components in use. Concurrent loads of the same digest wait for the first one.
#[derive(Default)]
pub(in crate::plugin) struct InUse(std::sync::Mutex<HashMap<Digest, Arc<Mutex<Weak<Linked>>>>>);

impl InUse {
    /// The component of this digest, made if there is none.
    pub(in crate::plugin) async fn get_or_make(
        &self,
        digest: Digest,
        make: impl Future<Output = Result<Linked, LoadError>>,
    ) -> Result<Arc<Linked>, LoadError> {
        let entry = self.entry(digest);
        let mut entry = entry.lock().await;
        if let Some(linked) = entry.upgrade() {
            return Ok(linked);
        }
        let made = Arc::new(make.await?);
        *entry = Arc::downgrade(&made);
        Ok(made)
    }

    fn entry(&self, digest: Digest) -> Arc<Mutex<Weak<Linked>>> {
        let mut entries = lock(&self.0);
        // An entry with another owner, or locked, is in use by a load.
        entries.retain(|_, entry| {
            Arc::strong_count(entry) > 1 || entry.try_lock().is_ok_and(|entry| entry.strong_count() > 0)
        });
        entries.entry(digest).or_default().clone()
    }
}
