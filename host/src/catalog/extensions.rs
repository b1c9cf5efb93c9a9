//! The methods and capabilities that plugins add to the protocol.
//!
//! Does not know which names the protocol itself uses.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::Member;
use super::names::Warning;
use crate::plugin::abi::Capability;
use crate::plugin::{PluginId, Provider};

#[derive(Default)]
pub struct Extensions {
    /// By `<plugin>/<method>`.
    methods: HashMap<String, Arc<dyn Provider>>,
    pub experimental: Capabilities,
    pub extensions: Capabilities,
}

/// By name: the declaring plugin, and the settings as JSON text. Of two plugins that declare the same
/// name, the first one owns it.
pub type Capabilities = BTreeMap<String, (PluginId, String)>;

impl Extensions {
    /// `members` are sorted by plugin id.
    pub(super) fn of(members: &[Member], warnings: &mut Vec<Warning>) -> Self {
        let mut all = Self::default();
        for provider in members.iter().map(|member| &member.provider) {
            let Some(offer) = &provider.surface().offer else { continue };
            let id = provider.id();
            all.methods.extend(offer.methods.iter().map(|method| (method_name(id, method), provider.clone())));
            declare(&mut all.experimental, id, &offer.experimental, warnings);
            declare(&mut all.extensions, id, &offer.extensions, warnings);
        }
        all
    }

    /// The plugin that handles a method, and its name within the plugin.
    pub fn method<'n>(&self, name: &'n str) -> Option<(&Arc<dyn Provider>, &'n str)> {
        let (_, own) = name.split_once('/')?;
        Some((self.methods.get(name)?, own))
    }
}

/// The public name of a plugin's method.
pub fn method_name(plugin: &PluginId, own: &str) -> String {
    format!("{plugin}/{own}")
}

fn declare(declared: &mut Capabilities, id: &PluginId, offered: &[Capability], warnings: &mut Vec<Warning>) {
    for Capability { name, settings } in offered {
        match declared.get(name) {
            None => {
                declared.insert(name.clone(), (id.clone(), settings.clone()));
            }
            Some((owner, _)) => warnings.push(Warning::CapabilityTaken {
                name: name.clone(),
                owner: owner.clone(),
                refused: id.clone(),
            }),
        }
    }
}
