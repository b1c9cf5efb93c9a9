//! How clients are shown the schemas of tools.

use serde::{Deserialize, Serialize};

use crate::plugin::SchemaStyle;

/// `server.schemas`.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum SchemasConfig {
    #[default]
    Compatible,
    Verbatim,
}

impl From<SchemasConfig> for SchemaStyle {
    fn from(schemas: SchemasConfig) -> Self {
        match schemas {
            SchemasConfig::Compatible => Self::Compatible,
            SchemasConfig::Verbatim => Self::Verbatim,
        }
    }
}
