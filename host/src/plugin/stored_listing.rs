//! Listings that are known before a component's code is compiled: of an earlier load, stored beside the compiled code,
//! or in the component itself, where `wharf build` writes what it lists without grants.

use std::sync::Arc;

use super::component::compile::{Compilation, blocking};
use super::component::sections::custom_section;
use super::id::Digest;
use super::policy::grants::Grants;
use super::sandbox::Sandbox;
use super::surface::stored::SECTION;
use super::surface::{Listed, SchemaStyle, Surface};

/// The format of stored listings; one in another format is not found.
const FORMAT: u32 = 1;
/// Maximum bytes of the custom section with a listing.
const MAX_SECTION: usize = 1 << 20;

/// Where the listing of a component is stored.
pub(in crate::plugin) struct StoredListing {
    compilation: Arc<Compilation>,
    entry: Digest,
}

impl StoredListing {
    /// Of the component with that digest, under these grants: what a plugin lists may depend on them.
    pub(in crate::plugin) fn new(sandbox: &Sandbox, component: Digest, grants: &Grants) -> Self {
        let grants: Vec<String> = grants.own_texts().into_iter().collect();
        let key = format!("{FORMAT} {:?}\n{component}\n{}", sandbox.runtime.schemas, grants.join("\n"));
        Self { compilation: sandbox.compilation.clone(), entry: Digest::of(key.as_bytes()) }
    }

    pub(in crate::plugin) fn store(&self, surface: &Surface) {
        if let Some(cache) = self.compilation.cache() {
            cache.put_listing(self.entry, surface.stored().as_bytes());
        }
    }

    fn read(&self) -> Option<Surface> {
        frozen(&self.compilation.cache()?.listing(self.entry)?)
    }
}

fn frozen(stored: &[u8]) -> Option<Surface> {
    let listed = Listed::of_stored(str::from_utf8(stored).ok()?)?;
    listed.freeze().ok().map(|(surface, _)| surface)
}

/// The listing in a component's custom section. Nothing of it is checked.
pub struct EmbeddedListing(Vec<u8>);

/// What a component offers, known before it is loaded.
pub struct StoredSurface {
    pub surface: Surface,
    /// It is what the file says: no code has listed it yet.
    pub is_embedded: bool,
}

impl EmbeddedListing {
    /// May take as long as reading the component.
    pub fn of(component: &[u8]) -> Option<Self> {
        let section = custom_section(component, SECTION)?;
        (section.len() <= MAX_SECTION).then(|| Self(section.to_vec()))
    }

    /// What it says; `None` if that cannot be a plugin's listing.
    pub fn surface(&self) -> Option<Surface> {
        frozen(&self.0)
    }
}

impl Sandbox {
    /// Whether the code of a component is in the cache, and need not be compiled.
    pub async fn has_code(&self, component: Digest) -> bool {
        let compilation = self.compilation.clone();
        blocking(move || compilation.cache().is_some_and(|cache| cache.has_code(component))).await.unwrap_or(false)
    }

    /// What a component offers as far as that is known before it is loaded: what it offered when it was last loaded
    /// under these grants, or what its file lists.
    pub async fn stored_surface(
        self: &Arc<Self>,
        component: Digest,
        grants: &Grants,
        embedded: Option<EmbeddedListing>,
    ) -> Option<StoredSurface> {
        let stored = StoredListing::new(self, component, grants);
        let embedded = embedded.filter(|_| self.runtime.schemas == SchemaStyle::default());
        let read = move || match stored.read() {
            Some(surface) => Some(StoredSurface { surface, is_embedded: false }),
            None => Some(StoredSurface { surface: embedded?.surface()?, is_embedded: true }),
        };
        // As when it is listed: schemas are compiled.
        let _freezing = self.runtime.freezing.acquire().await;
        self.runtime.guests().spawn_blocking(read).await.ok()?
    }

    /// Stores the code of one component also for another, which must differ from it in custom sections only.
    pub async fn reuse_code(&self, from: Digest, to: Digest) {
        let compilation = self.compilation.clone();
        // A failure costs a compilation.
        let _ = blocking(move || compilation.cache().map(|cache| cache.copy_code(from, to))).await;
    }
}
