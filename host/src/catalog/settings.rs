//! The configured settings of a plugin.

use super::names::Naming;
use crate::plugin::{Grants, Limits};

#[derive(Clone, Debug, PartialEq)]
pub struct PluginSettings {
    pub limits: Limits,
    pub grants: Grants,
    pub naming: Naming,
}
