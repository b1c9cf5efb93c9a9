//! The syntax of an entry of the grant `http`: a URL, or a table with options.
//!
//! Entries are interpreted and validated in `plugin`.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use crate::plugin::HttpGrant;

/// One entry of `http`.
#[derive(Clone, Debug, PartialEq)]
pub struct HttpEntry(pub HttpGrant);

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Table {
    url: String,
    methods: Option<Vec<String>>,
    #[serde(default)]
    private: bool,
    #[serde(default)]
    headers: BTreeMap<String, String>,
}

impl Table {
    fn grant(self) -> Result<HttpGrant, String> {
        let mut grant = HttpGrant::new(&self.url)?.private(self.private);
        if let Some(methods) = &self.methods {
            grant = grant.methods(methods)?;
        }
        self.headers.iter().try_fold(grant, |grant, (name, value)| grant.header(name, value))
    }
}

impl<'de> Deserialize<'de> for HttpEntry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Entry)
    }
}

struct Entry;

impl<'de> Visitor<'de> for Entry {
    type Value = HttpEntry;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("\"https://HOST\" or { url = \"https://HOST\", methods = [\"POST\"] }")
    }

    fn visit_str<E: Error>(self, url: &str) -> Result<HttpEntry, E> {
        HttpGrant::new(url).map(HttpEntry).map_err(E::custom)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<HttpEntry, A::Error> {
        let table = Table::deserialize(MapAccessDeserializer::new(map))?;
        table.grant().map(HttpEntry).map_err(A::Error::custom)
    }
}
