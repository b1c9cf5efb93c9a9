//! Components that are compiled and linked: one for each content, however often it is loaded.
//!
//! Nothing in one belongs to a plugin: names, limits and grants come with each call's own store.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, PoisonError, Weak};

use tokio::sync::Mutex;
use wasmtime::component::types::ComponentItem;
use wasmtime::component::{InstancePre, Linker};

use super::Dialect;
use crate::plugin::component::cache::Code;
use crate::plugin::component::inspect;
use crate::plugin::error::LoadError;
use crate::plugin::id::Digest;
use crate::plugin::imports::state::State;
use crate::plugin::limits::Limits;
use crate::plugin::policy::access::Access;

/// What all plugins of one content share.
pub(in crate::plugin) struct Linked {
    code: Code,
    pub(in crate::plugin) pre: InstancePre<State>,
    pub(in crate::plugin) dialect: Box<dyn Dialect>,
    /// The kinds of access that its imports need.
    pub(in crate::plugin) needs: BTreeSet<Access>,
}

impl Linked {
    /// Links a component and finds its functions. `bytes` are the component's.
    ///
    /// # Errors
    /// It imports what there is not, or exports nothing that could be called.
    pub(in crate::plugin) fn new(linker: &Linker<State>, code: Code, bytes: &[u8]) -> Result<Self, LoadError> {
        let (component, engine) = (code.component(), linker.engine());
        let kind = component.component_type();
        let mut needs = BTreeSet::new();
        for (name, item) in kind.imports(engine) {
            // Types alone ask for nothing.
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
        Ok(Self { code, pre, dialect, needs })
    }

    /// Whether an instance can begin under these limits.
    pub(in crate::plugin) fn fits(&self, limits: &Limits) -> Result<(), LoadError> {
        let required = self.code.component().resources_required();
        let pages = required.and_then(|required| required.max_initial_memory_size).unwrap_or(0);
        let bytes = pages.saturating_mul(64 << 10);
        if bytes > limits.memory { Err(LoadError::DeclaredMemory { bytes, limit: limits.memory }) } else { Ok(()) }
    }

    /// Gives the pages of its code back to the system; the next call maps them again.
    pub(in crate::plugin) fn unmap_code(&self) {
        self.code.unmap();
    }
}

/// Those that are in use. Whoever wants one that another is making waits for it.
#[derive(Default)]
pub(in crate::plugin) struct InUse(std::sync::Mutex<HashMap<Digest, Arc<Mutex<Weak<Linked>>>>>);

impl InUse {
    /// The one of this content, or the one that is made.
    pub(in crate::plugin) async fn get_or_make(
        &self,
        digest: Digest,
        make: impl Future<Output = Result<Linked, LoadError>>,
    ) -> Result<Arc<Linked>, LoadError> {
        let place = self.place(digest);
        let mut place = place.lock().await;
        if let Some(linked) = place.upgrade() {
            return Ok(linked);
        }
        let made = Arc::new(make.await?);
        *place = Arc::downgrade(&made);
        Ok(made)
    }

    fn place(&self, digest: Digest) -> Arc<Mutex<Weak<Linked>>> {
        let mut places = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // A place that somebody holds is one where something is being made.
        places.retain(|_, place| {
            Arc::strong_count(place) > 1 || place.try_lock().is_ok_and(|place| place.strong_count() > 0)
        });
        places.entry(digest).or_default().clone()
    }
}
