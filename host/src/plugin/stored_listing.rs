//! Listings that are known before a component's code is compiled: of an earlier load, stored beside the compiled code,
//! or in the component itself, where `wharf build` writes what it lists without grants.

use std::sync::Arc;

use super::component::compile::{Compilation, blocking};
use super::component::kind::{Kind, summarize};
use super::component::sections::custom_section;
use super::id::{Digest, PluginId};
use super::policy::grants::Grants;
use super::sandbox::Sandbox;
use super::skills::Skills;
use super::surface::stored::SECTION;
use super::surface::{Listed, SchemaStyle, Surface};
use crate::skills;

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
        let described = Digest::of(grants.program.listing_key().as_bytes());
        let texts: Vec<String> = grants.own_texts().into_iter().collect();
        let key = format!("{FORMAT} {:?}\n{component}\n{described}\n{}", sandbox.runtime.schemas, texts.join("\n"));
        Self { compilation: sandbox.compilation.clone(), entry: Digest::of(key.as_bytes()) }
    }

    pub(in crate::plugin) fn store(&self, surface: &Surface) {
        if let Some(cache) = self.compilation.cache() {
            cache.put_listing(self.entry, surface.stored().as_bytes());
        }
    }

    fn read(&self, skills: &Skills) -> Option<Surface> {
        frozen(&self.compilation.cache()?.listing(self.entry)?, skills)
    }
}

/// `skills` are those of the file, which are not in what is stored.
fn frozen(stored: &[u8], skills: &Skills) -> Option<Surface> {
    let listed = Listed::of_stored(str::from_utf8(stored).ok()?)?;
    let listed = Listed { skills: skills.clone(), ..listed };
    listed.freeze().ok().map(|(surface, _)| surface)
}

/// What a component says of itself in custom sections. Nothing of it is checked.
pub struct Embedded {
    listing: Option<Vec<u8>>,
    skills: Option<Vec<u8>>,
}

/// What a component offers, known before it is loaded.
pub struct StoredSurface {
    pub surface: Surface,
    /// It is what the file says: no code has listed it yet.
    pub is_embedded: bool,
}

impl Embedded {
    /// May take as long as reading the component.
    pub fn of(component: &[u8]) -> Self {
        // What the tool of a command says is up to the host and its configuration.
        let lists = summarize(component).kind != Kind::Command;
        let listing = custom_section(component, SECTION).filter(|section| lists && section.len() <= MAX_SECTION);
        let skills = custom_section(component, skills::SECTION);
        Self { listing: listing.map(<[u8]>::to_vec), skills: skills.map(<[u8]>::to_vec) }
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
        id: &PluginId,
        component: Digest,
        grants: &Grants,
        embedded: Embedded,
    ) -> Option<StoredSurface> {
        let stored = StoredListing::new(self, component, grants);
        let sandbox = self.clone();
        let id = id.clone();
        let read = move || {
            // Broken ones are left out, of which its load warns.
            let (skills, _) = sandbox.runtime.skills.read(embedded.skills.as_deref(), &id);
            if let Some(surface) = stored.read(&skills) {
                return Some(StoredSurface { surface, is_embedded: false });
            }
            let surface = sandbox.embedded_surface(&embedded, &skills)?;
            Some(StoredSurface { surface, is_embedded: true })
        };
        // As when it is listed: schemas are compiled.
        let _freezing = self.runtime.freezing.acquire().await;
        self.runtime.guests().spawn_blocking(read).await.ok()?
    }

    /// What a component lists in its custom section, with these skills. `None`: nothing that can be a plugin's listing,
    /// or clients are shown schemas in another style.
    pub fn embedded_surface(&self, embedded: &Embedded, skills: &Skills) -> Option<Surface> {
        let listing = embedded.listing.as_deref().filter(|_| self.runtime.schemas == SchemaStyle::default());
        frozen(listing?, skills)
    }

    /// Stores the code of one component also for another, which must differ from it in custom sections only.
    pub async fn reuse_code(&self, from: Digest, to: Digest) {
        let compilation = self.compilation.clone();
        // A failure costs a compilation.
        let _ = blocking(move || compilation.cache().map(|cache| cache.copy_code(from, to))).await;
    }
}
