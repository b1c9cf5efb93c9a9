//! Doc comments of a component's functions, from the custom section `package-docs`, which WIT tools
//! write and Wassette's build injects.
//!
//! An unreadable section counts as no documentation.

use std::collections::HashMap;

use serde::Deserialize;

use crate::json;
use crate::plugin::component::sections::custom_section;
use crate::text;

/// Maximum bytes of the section.
const MAX_SECTION: usize = 1 << 20;
/// Maximum bytes of a description; a tool with a longer one would be dropped.
const MAX_DESCRIPTION: usize = 2 << 10;

/// The documentation of one package.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Docs {
    worlds: HashMap<String, World>,
    interfaces: HashMap<String, Interface>,
}

/// As wit-parser writes it: functions are marked as imports or exports where the name is in both.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct World {
    funcs: HashMap<String, Function>,
    func_exports: HashMap<String, Function>,
    interfaces: HashMap<String, Interface>,
    interface_exports: HashMap<String, Interface>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Interface {
    funcs: HashMap<String, Function>,
}

/// A string in the format's first version, a record since.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Function {
    Text(Option<String>),
    Record { docs: Option<String> },
}

impl Function {
    fn docs(&self) -> Option<&str> {
        match self {
            Self::Text(docs) | Self::Record { docs } => docs.as_deref(),
        }
    }
}

impl Docs {
    /// The documentation of the component itself, not of nested ones.
    pub(super) fn of(component: &[u8]) -> Self {
        match custom_section(component, "package-docs") {
            // One byte for the format's version, then JSON.
            Some([0 | 1, text @ ..]) if text.len() <= MAX_SECTION => {
                str::from_utf8(text).ok().and_then(|text| json::read(text).ok()).unwrap_or_default()
            }
            _ => Self::default(),
        }
    }

    /// The documentation of a function of an interface (`ns:package/name@version`, or a name in the
    /// world), or of the world itself.
    pub(super) fn function(&self, interface: Option<&str>, name: &str) -> Option<String> {
        let docs = match interface {
            None => self
                .worlds
                .values()
                .find_map(|world| world.func_exports.get(name).or_else(|| world.funcs.get(name)))?
                .docs(),
            Some(interface) => {
                let short = interface.split('@').next().unwrap_or_default();
                let short = short.rsplit('/').next().unwrap_or_default();
                let of_worlds =
                    || self.worlds.values().find_map(|w| w.interface_exports.get(short).or(w.interfaces.get(short)));
                self.interfaces.get(short).or_else(of_worlds)?.funcs.get(name)?.docs()
            }
        };
        let docs = docs?.trim();
        let cut = text::prefix(docs, MAX_DESCRIPTION);
        (!cut.is_empty()).then(|| cut.to_owned())
    }
}
