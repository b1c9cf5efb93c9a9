//! The combined list of all plugins: the public name of each item, and its plugin.
//!
//! Generic over the kind of item, an [`Item`].

use std::borrow::Borrow;
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use super::Member;
use crate::plugin::abi::{Prompt, ResourceDescription};
use crate::plugin::{FrozenTemplate, FrozenTool, PluginId, Provider, own_pages};
use crate::skills::Skill;

/// A kind of thing that plugins list.
pub trait Item: 'static {
    fn all(provider: &dyn Provider) -> &[Self]
    where
        Self: Sized;
    /// The name within the plugin, or the URI.
    fn own_name(&self) -> &str;
    /// Whether the public name is prefixed with the plugin's.
    const PREFIXED: bool;
    /// The public name under [`Naming::Long`].
    fn long_name(&self) -> Option<&str> {
        None
    }
    /// Whether what clients see of it depends on pages: their contents, and what they may reach.
    const OF_PAGES: bool = false;
    /// The part of a public name that only one plugin may use.
    fn claim(name: &str) -> &str {
        name
    }
    /// Whether clients see no difference from `other`.
    fn lists_as(&self, other: &Self) -> bool;
}

impl Item for FrozenTool {
    fn all(provider: &dyn Provider) -> &[Self] {
        provider.surface().tools.as_deref().unwrap_or_default()
    }
    fn own_name(&self) -> &str {
        &self.tool.name
    }
    const PREFIXED: bool = true;
    fn long_name(&self) -> Option<&str> {
        self.long_name.as_deref()
    }
    fn lists_as(&self, other: &Self) -> bool {
        self.tool == other.tool
    }
}

impl Item for Prompt {
    fn all(provider: &dyn Provider) -> &[Self] {
        provider.surface().prompts.as_deref().unwrap_or_default()
    }
    fn own_name(&self) -> &str {
        &self.name
    }
    const PREFIXED: bool = true;
    fn lists_as(&self, other: &Self) -> bool {
        self == other
    }
}

impl Item for ResourceDescription {
    fn all(provider: &dyn Provider) -> &[Self] {
        provider.surface().resources.as_deref().unwrap_or_default()
    }
    fn own_name(&self) -> &str {
        &self.uri
    }
    const PREFIXED: bool = false;
    const OF_PAGES: bool = true;
    fn claim(name: &str) -> &str {
        scheme_and_authority(name)
    }
    fn lists_as(&self, other: &Self) -> bool {
        self == other
    }
}

impl Item for FrozenTemplate {
    fn all(provider: &dyn Provider) -> &[Self] {
        &provider.surface().templates
    }
    fn own_name(&self) -> &str {
        &self.template.uri_template
    }
    const PREFIXED: bool = false;
    const OF_PAGES: bool = true;
    fn claim(name: &str) -> &str {
        scheme_and_authority(name)
    }
    fn lists_as(&self, other: &Self) -> bool {
        self.template == other.template
    }
}

impl Item for Skill {
    fn all(provider: &dyn Provider) -> &[Self] {
        provider.surface().skills.all()
    }
    fn own_name(&self) -> &str {
        self.uri()
    }
    const PREFIXED: bool = false;
    fn claim(name: &str) -> &str {
        scheme_and_authority(name)
    }
    fn lists_as(&self, other: &Self) -> bool {
        self == other
    }
}

/// `scheme://authority` of a URI or a template, or `scheme:` without an authority. Variables of a
/// template are part of it as they are written.
fn scheme_and_authority(uri: &str) -> &str {
    let scheme = uri.find(':').map_or(uri.len(), |colon| colon + 1);
    match uri[scheme..].strip_prefix("//") {
        Some(rest) => {
            let authority = rest.find(['/', '?', '#']).unwrap_or(rest.len());
            &uri[..scheme + 2 + authority]
        }
        None => &uri[..scheme],
    }
}

/// How the public names of a plugin's tools and prompts are formed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Naming {
    /// `<plugin>_<tool>`.
    #[default]
    Prefixed,
    /// `<tool>`.
    Plain,
    /// `<package>_<interface>_<function>` for tools made of functions; otherwise as prefixed.
    Long,
}

/// The name under which clients know an item.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PublicName(Arc<str>);

impl PublicName {
    /// `<plugin>_<name>`, or `<plugin>` if the name equals the plugin's. A plugin id has no underscore, so
    /// the first one separates the two.
    fn new(plugin: &PluginId, name: &str, prefix: bool) -> Self {
        if !prefix || plugin.as_ref() == name { Self(name.into()) } else { Self(format!("{plugin}_{name}").into()) }
    }

    /// The plugin id that a name begins with, if it has that prefix.
    pub fn prefix(name: &str) -> &str {
        name.split('_').next().unwrap_or(name)
    }

    fn of<T: Item>(plugin: &PluginId, item: &T, naming: Naming) -> Self {
        match (naming, item.long_name()) {
            (Naming::Long, Some(name)) => Self(name.into()),
            (Naming::Plain, _) => Self(item.own_name().into()),
            (Naming::Long | Naming::Prefixed, _) => Self::new(plugin, item.own_name(), T::PREFIXED),
        }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Borrow<str> for PublicName {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for PublicName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// One item of a list, and its plugin.
pub struct Entry<T> {
    pub name: PublicName,
    pub provider: Arc<dyn Provider>,
    naming: Naming,
    index: usize,
    kind: PhantomData<fn() -> T>,
}

impl<T> Clone for Entry<T> {
    fn clone(&self) -> Self {
        Self {
            name: self.name.clone(),
            provider: self.provider.clone(),
            naming: self.naming,
            index: self.index,
            kind: PhantomData,
        }
    }
}

impl<T: Item> Entry<T> {
    fn of(member: &Member) -> impl Iterator<Item = Self> {
        T::all(&*member.provider).iter().enumerate().map(|(index, item)| Self {
            name: PublicName::of(member.provider.id(), item, member.naming),
            provider: member.provider.clone(),
            naming: member.naming,
            index,
            kind: PhantomData,
        })
    }

    pub fn item(&self) -> &T {
        &T::all(&*self.provider)[self.index]
    }

    /// The plugin id that the names of the plugin's other tools begin with.
    pub fn prefix(&self) -> Option<&PluginId> {
        (T::PREFIXED && self.naming != Naming::Plain).then(|| self.provider.id())
    }

    fn lists_as(&self, other: &Self) -> bool {
        // Clients keep pages: they are told of other contents, too.
        let page = |entry: &Self| entry.provider.surface().pages.get(entry.item().own_name()).copied();
        let reaches = || self.provider.page_reach() == other.provider.page_reach();
        let same_pages = || !T::OF_PAGES || page(self) == page(other) && reaches();
        let same_item = || self.item().lists_as(other.item()) && same_pages();
        self.name == other.name && (Arc::ptr_eq(&self.provider, &other.provider) || same_item())
    }
}

/// An item is served differently from what its author or user may expect.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Warning {
    /// Another plugin owns the name.
    NameTaken { name: PublicName, owner: PluginId, refused: PluginId },
    /// Another plugin declares the same capability; its settings are used.
    CapabilityTaken { name: String, owner: PluginId, refused: PluginId },
    /// Some clients reject names of more than 64 characters.
    NameLong { name: PublicName },
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NameTaken { name, owner, refused } => {
                write!(f, "plugin '{refused}' may not use the name '{name}': it belongs to plugin '{owner}'")
            }
            Self::CapabilityTaken { name, owner, refused } => {
                write!(f, "plugin '{refused}' may not declare the capability '{name}': plugin '{owner}' does")
            }
            Self::NameLong { name } => write!(f, "some clients reject names over 64 characters: '{name}'"),
        }
    }
}

/// A whole list, in the order in which clients see it.
pub struct Names<T> {
    entries: Vec<Entry<T>>,
    index: HashMap<PublicName, usize>,
    /// The number of changes since the start; equal generations mean equal lists.
    generation: u64,
    digest: u64,
}

impl<T> Default for Names<T> {
    fn default() -> Self {
        Self { entries: Vec::new(), index: HashMap::new(), generation: 0, digest: 0 }
    }
}

impl<T: Item> Names<T> {
    pub fn entries(&self) -> &[Entry<T>] {
        &self.entries
    }

    pub fn get(&self, name: &str) -> Option<&Entry<T>> {
        self.index.get(name).map(|&at| &self.entries[at])
    }

    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// A digest of the names in order. Equal in all processes whose lists have the same names in the same
    /// order; descriptions may differ.
    pub fn digest(&self) -> u64 {
        self.digest
    }

    /// All names, for an error that lists them.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|entry| entry.name.as_str())
    }

    /// The list with `members` in service. An item whose claim belongs to another plugin is left out.
    pub(super) fn next(&self, members: &[Member], owners: &Owners, warnings: &mut Vec<Warning>) -> Self {
        let mut entries: Vec<Entry<T>> = Vec::new();
        for entry in members.iter().flat_map(Entry::of) {
            if let Some(owner) = owners.owner_other_than(entry.provider.id(), T::claim(entry.name.as_str())) {
                warnings.push(Warning::NameTaken {
                    name: entry.name,
                    owner: owner.clone(),
                    refused: entry.provider.id().clone(),
                });
                continue;
            }
            if T::PREFIXED && entry.name.as_str().len() > 64 && self.get(entry.name.as_str()).is_none() {
                warnings.push(Warning::NameLong { name: entry.name.clone() });
            }
            entries.push(entry);
        }
        let same = entries.len() == self.entries.len()
            && entries.iter().zip(&self.entries).all(|(new, old)| new.lists_as(old));
        let index = entries.iter().enumerate().map(|(at, entry)| (entry.name.clone(), at)).collect();
        let digest = digest(&entries);
        Self { entries, index, generation: self.generation + u64::from(!same), digest }
    }
}

fn digest<T>(entries: &[Entry<T>]) -> u64 {
    let mut hash = blake3::Hasher::new();
    for entry in entries {
        let name = entry.name.as_str().as_bytes();
        // Prefixed with its length, so that different lists do not concatenate to the same bytes.
        hash.update(&(name.len() as u64).to_le_bytes()).update(name);
    }
    let mut digest = [0; 8];
    hash.finalize_xof().fill(&mut digest);
    u64::from_le_bytes(digest)
}

/// Which plugin owns which name. A name claimed by two plugins stays with the one that was published to
/// clients, otherwise it goes to the first in order: the result of a first scan does not depend on load
/// times.
#[derive(Default)]
pub(super) struct Owners(HashMap<Box<str>, PluginId>);

impl Owners {
    /// Adds the claims of one kind of item.
    pub(super) fn claim<T: Item>(&mut self, before: &Names<T>, members: &[Member], published: bool) {
        let entries: Vec<Entry<T>> = members.iter().flat_map(Entry::of).collect();
        let claims: HashSet<(&PluginId, &str)> =
            entries.iter().map(|entry| (entry.provider.id(), T::claim(entry.name.as_str()))).collect();
        for entry in before.entries().iter().filter(|_| published) {
            let (claim, id) = (T::claim(entry.name.as_str()), entry.provider.id());
            if claims.contains(&(id, claim)) {
                self.0.entry(claim.into()).or_insert_with(|| id.clone());
            }
        }
        for entry in &entries {
            self.0.entry(T::claim(entry.name.as_str()).into()).or_insert_with(|| entry.provider.id().clone());
        }
    }

    /// The pages of a plugin in service are its own: another one's would be shown its results.
    pub(super) fn reserve_pages(&mut self, members: &[Member]) {
        let ids = members.iter().map(|member| member.provider.id());
        self.0.extend(ids.map(|id| (own_pages(id).into(), id.clone())));
    }

    /// The plugin that owns the URI's scheme and authority.
    pub(super) fn of_uri(&self, uri: &str) -> Option<&PluginId> {
        self.0.get(scheme_and_authority(uri))
    }

    fn owner_other_than(&self, id: &PluginId, claim: &str) -> Option<&PluginId> {
        self.0.get(claim).filter(|owner| *owner != id)
    }
}
