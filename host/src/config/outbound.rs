//! The syntax of an entry of the grant `http`: a URL, or a table with options.
//!
//! Entries are interpreted and validated in `plugin`.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use wharf_report::wrong_value;

use crate::plugin::HttpGrant;

/// What to write in an entry.
const URL: &str = "write url = \"https://api.example.com\"";
const METHODS: &str = "write methods = [\"POST\"]";
const HEADERS: &str = "write headers = { Accept = \"application/json\" }";

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
        let grant = HttpGrant::new(&self.url).map_err(|why| wrong_value(&why, URL))?;
        let mut grant = grant.private(self.private);
        if let Some(names) = &self.methods {
            let upper: Vec<String> = names.iter().map(|name| name.to_ascii_uppercase()).collect();
            let meant = grant
                .clone()
                .methods(&upper)
                .map_or_else(|_| METHODS.to_owned(), |_| format!("write methods = {upper:?}"));
            grant = grant.methods(names).map_err(|why| wrong_value(&why, &meant))?;
        }
        let mut headers = self.headers.iter();
        headers
            .try_fold(grant, |grant, (name, value)| grant.header(name, value))
            .map_err(|why| wrong_value(&why, HEADERS))
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
