//! Listings of earlier loads, stored beside the compiled code: what a plugin offers is known at once also when its code
//! has to be compiled, for example by a newer version of the engine.

use std::sync::Arc;

use super::component::compile::Compilation;
use super::id::Digest;
use super::policy::grants::Grants;
use super::sandbox::Sandbox;
use super::surface::{Listed, Surface};

/// The format of stored listings; one in another format is not found.
const FORMAT: u32 = 1;

/// Where the listing of a component is stored.
pub(in crate::plugin) struct KeptListing {
    compilation: Arc<Compilation>,
    entry: Digest,
}

impl KeptListing {
    /// Of the component with that digest, under these grants: what a plugin lists may depend on them.
    pub(in crate::plugin) fn new(sandbox: &Sandbox, component: Digest, grants: &Grants) -> Self {
        let grants: Vec<String> = grants.texts().into_iter().collect();
        let key = format!("{FORMAT} {:?}\n{component}\n{}", sandbox.runtime.schemas, grants.join("\n"));
        Self { compilation: sandbox.compilation.clone(), entry: Digest::of(key.as_bytes()) }
    }

    pub(in crate::plugin) fn store(&self, surface: &Surface) {
        if let Some(cache) = self.compilation.cache() {
            cache.put_listing(self.entry, surface.stored().as_bytes());
        }
    }

    fn read(&self) -> Option<Surface> {
        let text = self.compilation.cache()?.listing(self.entry)?;
        let listed = Listed::of_stored(str::from_utf8(&text).ok()?)?;
        listed.freeze().ok().map(|(surface, _)| surface)
    }
}

impl Sandbox {
    /// What a component offered when it was last loaded under these grants, if its code has to be compiled first.
    pub async fn kept_surface(self: &Arc<Self>, component: Digest, grants: &Grants) -> Option<Surface> {
        let kept = KeptListing::new(self, component, grants);
        let read = move || {
            let is_compiled = kept.compilation.cache()?.has_code(component);
            if is_compiled { None } else { kept.read() }
        };
        // As when it is listed: schemas are compiled.
        let _freezing = self.runtime.freezing.acquire().await;
        self.runtime.guests().spawn_blocking(read).await.ok()?
    }
}
