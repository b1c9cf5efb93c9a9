//! `[[plugins.NAME.extra]]`: grants and limits for the callers for whom a condition holds.
//!
//! Checks the syntax; `plugin` decides for each call which of them hold.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use super::rights::{WhenConfig, checked_name};
use super::{Config, FolderConfig, GrantsConfig, KeyvalueConfig, LimitsConfig, PluginConfig, WrongValue};
use crate::plugin::{Extra, ExtraLimits, Extras, MAX_EXTRAS};

/// One entry of `plugins.NAME.extra`.
#[derive(Clone, Debug, Default, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct ExtraConfig {
    /// For people; unset: its number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// For whom it holds, as in rules of `[rights]`.
    pub when: WhenConfig,
    pub grants: GrantsConfig,
    pub limits: LimitsConfig,
}

impl ExtraConfig {
    pub(super) fn shown_name(&self, at: usize) -> String {
        self.name.clone().unwrap_or_else(|| format!("extra {}", at + 1))
    }

    fn check(&self, at: usize, config: &Config) -> Result<(), WrongValue> {
        let wrong = |keys: &[&str], why: &str, hint: &str| Err(WrongValue::at(keys, why).hint(hint));
        let name = checked_name(self.shown_name(at))?;
        if name.contains(',') {
            return wrong(&["name"], "must have no comma: the audit log has several names in one text", "shorten it");
        }
        if self.when == WhenConfig::default() {
            let why = "needs a condition: what all callers have is in grants and limits of the plugin";
            return wrong(&["when"], why, "write it like this: when = { scope = \"notes:write\" }");
        }
        self.when.build().and_then(|_| config.check_when(&self.when)).map_err(|wrong| wrong.below(&["when"]))?;
        if self.grants == GrantsConfig::default() && self.limits == LimitsConfig::default() {
            let hint = "write grants or limits: grants = { keyvalue = true }, limits = { timeout = \"2m\" }";
            return wrong(&[], "gives nothing", hint);
        }
        if self.grants.keyvalue == Some(KeyvalueConfig::Short(false)) {
            let why = "must not be false: an entry adds to what all callers have, and takes nothing away";
            return wrong(&["grants", "keyvalue"], why, "omit it, or grant it in entries for those who are to have it");
        }
        self.grants.check().map_err(|wrong| wrong.below(&["grants"]))?;
        if self.grants.change_lists {
            let why = "is for the plugin: it has the same lists for all callers";
            return wrong(&["grants", "change-lists"], why, "write it under the plugin's own grants");
        }
        for (key, is_set) in
            [("concurrency", self.limits.concurrency.is_some()), ("queue", self.limits.queue.is_some())]
        {
            if is_set {
                let hint = "write it under the plugin's own limits; [[budgets]] limits calls at a time by caller";
                return wrong(&["limits", key], "is of all calls of the plugin together", hint);
            }
        }
        if self.limits.isolation.is_some() {
            let why = "is for the plugin: calls of all its callers run in the same process";
            return wrong(&["limits", "isolation"], why, "write it under the plugin's own limits");
        }
        Ok(())
    }

    fn limits(&self) -> ExtraLimits {
        let LimitsConfig { timeout, cpu, memory, output, log, concurrency: _, queue: _, isolation: _ } = &self.limits;
        let bytes = |size: &Option<bytesize::ByteSize>| size.map(|size| size.as_u64());
        ExtraLimits { timeout: *timeout, cpu: *cpu, memory: bytes(memory), output: bytes(output), log: bytes(log) }
    }
}

impl Config {
    /// The grants of all plugins, to all callers and to some, each with the keys that lead to it.
    pub(super) fn all_grants(&self) -> impl Iterator<Item = (Vec<String>, &GrantsConfig)> {
        self.plugins.iter().flat_map(|(name, plugin)| {
            let below = |(keys, grants): (Vec<String>, _)| {
                let above = ["plugins".to_owned(), name.clone()];
                (above.into_iter().chain(keys).collect(), grants)
            };
            plugin.all_grants().map(below)
        })
    }
}

impl PluginConfig {
    /// The grants to all callers, and then those to some, each with the keys that lead to it.
    fn all_grants(&self) -> impl Iterator<Item = (Vec<String>, &GrantsConfig)> {
        let extras = self.extra.iter().enumerate();
        let extras = extras.map(|(at, extra)| (vec!["extra".into(), at.to_string(), "grants".into()], &extra.grants));
        std::iter::once((vec!["grants".into()], &self.grants)).chain(extras)
    }

    /// # Errors
    /// If an entry is malformed or gives nothing, or there are too many.
    pub(super) fn check_extra(&self, config: &Config) -> Result<(), WrongValue> {
        if self.extra.len() > MAX_EXTRAS {
            return Err(WrongValue::at(&[], format!("must have at most {MAX_EXTRAS} entries"))
                .hint("conditions with several values need fewer: when = { group = [\"staff\", \"editors\"] }"));
        }
        let mut names = HashSet::new();
        for (at, extra) in self.extra.iter().enumerate() {
            let number = at.to_string();
            extra.check(at, config).map_err(|wrong| wrong.below(&[&number]))?;
            let name = extra.shown_name(at);
            if !names.insert(name.clone()) {
                let why = format!("two entries have the name {name:?}");
                return Err(WrongValue::at(&[&number, "name"], why).hint("give each a name of its own"));
            }
            let before = self.all_grants().take(at + 1).flat_map(|(_, grants)| &grants.fs);
            FolderConfig::check_personal(before, &extra.grants.fs)
                .map_err(|wrong| wrong.below(&[&number, "grants"]))?;
        }
        Ok(())
    }

    /// What some callers have in addition. `place` is as for [`GrantsConfig::grants`].
    pub(super) fn extras(&self, config: &Config, place: &str) -> Extras {
        let extra = |(at, extra): (usize, &ExtraConfig)| {
            Some(Extra {
                name: extra.shown_name(at).into(),
                // Of a file that was read: it was checked.
                when: extra.when.build().ok()?,
                grants: extra.grants.grants(config, place.to_owned()),
                limits: extra.limits(),
            })
        };
        let all: Vec<Extra> = self.extra.iter().enumerate().filter_map(extra).collect();
        match all.is_empty() {
            true => Extras::default(),
            false => Extras::new(all, config.rights().implied),
        }
    }
}
