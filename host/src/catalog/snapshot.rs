//! An immutable picture of all plugins: every name, and who answers for it.
//!
//! Order is by plugin id and then as the plugin lists, so equal folders list equally.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use super::Member;
use crate::plugin::{FrozenTool, PluginId, Provider};

/// How often each list has changed since the start; equal generations mean equal lists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Listings {
    pub tools: u64,
}

/// The name under which clients know a tool.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PublicName(Arc<str>);

impl PublicName {
    /// `<plugin>_<name>`, or just `<plugin>` for what bears its plugin's own name. A plugin
    /// id has no underscore, so the first one divides.
    fn new(plugin: &PluginId, name: &str, prefix: bool) -> Self {
        if !prefix || plugin.as_ref() == name { Self(name.into()) } else { Self(format!("{plugin}_{name}").into()) }
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

/// One tool in the list: its public name, and where its plugin's surface holds the rest.
#[derive(Clone)]
pub struct Entry {
    pub name: PublicName,
    pub provider: Arc<dyn Provider>,
    index: usize,
}

impl Entry {
    fn of(member: &Member) -> impl Iterator<Item = Self> {
        let tools = member.provider.surface().tools.as_deref().unwrap_or_default();
        tools.iter().enumerate().map(|(index, frozen)| Self {
            name: PublicName::new(member.provider.id(), &frozen.tool.name, member.prefix),
            provider: member.provider.clone(),
            index,
        })
    }

    pub fn tool(&self) -> &FrozenTool {
        &self.provider.surface().tools.as_deref().unwrap_or_default()[self.index]
    }

    /// Whether a client that knows `other` would learn nothing from this.
    fn lists_as(&self, other: &Self) -> bool {
        self.name == other.name
            && (Arc::ptr_eq(&self.provider, &other.provider) || self.tool().tool == other.tool().tool)
    }
}

/// Something that is served differently from what its author or user may expect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Warning {
    /// The name was taken; its owner keeps it.
    NameTaken { name: PublicName, owner: PluginId, refused: PluginId },
    /// Some clients refuse names of more than 64 characters.
    NameLong { name: PublicName },
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NameTaken { name, owner, refused } => {
                write!(f, "plugin '{refused}' may not use the name '{name}': plugin '{owner}' holds it")
            }
            Self::NameLong { name } => write!(f, "some clients refuse names over 64 characters: '{name}'"),
        }
    }
}

#[derive(Default)]
pub struct Snapshot {
    /// By plugin id.
    members: Vec<Member>,
    tools: Vec<Entry>,
    tool_index: HashMap<PublicName, usize>,
    listings: Listings,
}

impl Snapshot {
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    pub fn listings(&self) -> Listings {
        self.listings
    }

    /// All tools, in the order in which clients see them.
    pub fn tools(&self) -> &[Entry] {
        &self.tools
    }

    pub fn tool(&self, name: &str) -> Option<&Entry> {
        self.tool_index.get(name).map(|&at| &self.tools[at])
    }

    /// The snapshot that follows this one when `members` are in service, and what there is
    /// to say about names that were not in it before. Names that `told` clients know stay
    /// with their owners.
    pub(super) fn succeed(&self, mut members: Vec<Member>, told: bool) -> (Self, Vec<Warning>) {
        members.sort_by(|a, b| a.provider.id().cmp(b.provider.id()));
        let mut warnings = Vec::new();
        let tools = self.name_tools(&members, told, &mut warnings);
        let tool_index = tools.iter().enumerate().map(|(at, entry)| (entry.name.clone(), at)).collect();
        let same = tools.len() == self.tools.len() && tools.iter().zip(&self.tools).all(|(new, old)| new.lists_as(old));
        let listings = Listings { tools: self.listings.tools + u64::from(!same) };
        (Self { members, tools, tool_index, listings }, warnings)
    }

    /// A name that two plugins want stays with the one that clients know it of, else goes to
    /// the one that comes first: what a first scan makes does not hang on who loads fastest.
    fn name_tools(&self, members: &[Member], told: bool, warnings: &mut Vec<Warning>) -> Vec<Entry> {
        let wanted: Vec<Entry> = members.iter().flat_map(Entry::of).collect();
        let mut owners: HashMap<&PublicName, &PluginId> = HashMap::new();
        for entry in &wanted {
            let before = self.tool(entry.name.as_str()).map(|old| old.provider.id());
            let owner = owners.entry(&entry.name).or_insert(entry.provider.id());
            if told && before == Some(entry.provider.id()) {
                *owner = entry.provider.id();
            }
        }
        let mut named = Vec::with_capacity(wanted.len());
        for entry in &wanted {
            let owner = owners[&entry.name];
            if owner != entry.provider.id() {
                warnings.push(Warning::NameTaken {
                    name: entry.name.clone(),
                    owner: owner.clone(),
                    refused: entry.provider.id().clone(),
                });
                continue;
            }
            if entry.name.as_str().len() > 64 && self.tool(entry.name.as_str()).is_none() {
                warnings.push(Warning::NameLong { name: entry.name.clone() });
            }
            named.push(entry.clone());
        }
        named
    }
}
