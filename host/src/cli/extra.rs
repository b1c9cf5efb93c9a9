//! What some callers of a plugin have in addition, for people and as JSON.

use std::time::Duration;

use bytesize::ByteSize;
use serde_json::{Map, Value, json};

use crate::plugin::{Extra, ExtraLimits, Grants};
use crate::text::printable;

/// One entry.
pub(super) struct ShownExtra {
    pub(super) name: String,
    grants: Vec<String>,
    /// By the keys of the configuration, and as they are written there.
    limits: Vec<(&'static str, String)>,
}

impl ShownExtra {
    /// Those of a plugin.
    pub(super) fn all(grants: &Grants) -> impl Iterator<Item = Self> {
        grants.extras.all().iter().map(Self::of)
    }

    pub(super) fn of(extra: &Extra) -> Self {
        let ExtraLimits { timeout, cpu, memory, output, log } = &extra.limits;
        let time = |time: &Option<Duration>| time.map(|time| humantime::format_duration(time).to_string());
        let size = |size: &Option<u64>| size.map(|size| ByteSize(size).to_string());
        let limits = [
            ("timeout", time(timeout)),
            ("cpu", time(cpu)),
            ("memory", size(memory)),
            ("output", size(output)),
            ("log", size(log)),
        ];
        Self {
            name: extra.name.to_string(),
            grants: extra.grants.texts().into_iter().collect(),
            limits: limits.into_iter().filter_map(|(key, value)| Some((key, value?))).collect(),
        }
    }

    /// Its grants and limits.
    pub(super) fn what(&self) -> String {
        let limits = self.limits.iter().map(|(key, value)| format!("{key} {value}"));
        let what: Vec<String> = self.grants.iter().map(|grant| printable(grant)).chain(limits).collect();
        what.join(", ")
    }

    /// Whose it is, and what.
    pub(super) fn shown(&self) -> String {
        format!("to callers of {}: {}", printable(&self.name), self.what())
    }

    pub(super) fn to_json(&self) -> Value {
        let Self { name, grants, limits } = self;
        let limits: Map<String, Value> = limits.iter().map(|(key, value)| ((*key).to_owned(), json!(value))).collect();
        json!({ "name": name, "grants": grants, "limits": limits })
    }
}
