//! For whom a rule holds.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::Pattern;
use crate::identity::Identity;

/// All that is set must hold. Of several alternatives, one must.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct Condition {
    /// Alternatives of scopes; each of one alternative is needed.
    pub scopes: Vec<Vec<Box<str>>>,
    pub groups: Vec<Pattern>,
    /// Names of static tokens; `local` is who needs none.
    pub tokens: Vec<Pattern>,
    pub subjects: Vec<Pattern>,
    /// Issuer and subject in one, as [`Identity::name`] has them.
    pub names: Vec<Pattern>,
    pub issuers: Vec<Pattern>,
    pub clients: Vec<Pattern>,
    /// Paths into the claims, and the values that are accepted.
    pub claims: Vec<(Box<str>, Vec<Accepted>)>,
}

/// An accepted value of a claim: a text by its pattern, or another scalar.
#[derive(Debug, Clone, PartialEq)]
pub enum Accepted {
    Text(Pattern),
    Scalar(Value),
}

impl Condition {
    /// Whether it holds for an identity, `scopes` being those that it has.
    pub fn holds(&self, identity: &Identity, scopes: &BTreeSet<&str>) -> bool {
        self.missing(identity, scopes).is_some_and(|missing| missing.is_empty())
    }

    /// The scopes that an identity lacks for it, `scopes` being those that it has. `None`: scopes alone do not help.
    pub(super) fn missing(&self, identity: &Identity, scopes: &BTreeSet<&str>) -> Option<Vec<Box<str>>> {
        let any = |patterns: &[Pattern], text: Option<&str>| {
            patterns.is_empty() || text.is_some_and(|text| patterns.iter().any(|pattern| pattern.matches(text)))
        };
        let grant = identity.grant.as_ref();
        let token = identity.name().as_ref();
        let holds = any(&self.tokens, grant.is_none().then_some(token))
            && (self.subjects.is_empty() && self.names.is_empty()
                || grant.is_some_and(|grant| {
                    let is = |patterns: &[Pattern], text: &str| patterns.iter().any(|pattern| pattern.matches(text));
                    is(&self.subjects, &grant.subject) || is(&self.names, token)
                }))
            && any(&self.issuers, grant.map(|grant| &*grant.issuer))
            && any(&self.clients, grant.and_then(|grant| grant.client.as_deref()))
            && (self.groups.is_empty()
                || grant.is_some_and(|grant| grant.groups.iter().any(|group| any(&self.groups, Some(group)))))
            && self.claims.iter().all(|(path, accepted)| {
                grant.and_then(|grant| grant.claims.at(path)).is_some_and(|value| is_accepted(value, accepted))
            });
        if !holds {
            return None;
        }
        if self.scopes.is_empty() {
            return Some(Vec::new());
        }
        // Only an access token has scopes.
        grant?;
        let lacking = |needed: &[Box<str>]| needed.iter().filter(|scope| !scopes.contains(&***scope)).count();
        let nearest = self.scopes.iter().min_by_key(|needed| lacking(needed))?;
        // All scopes of what is done are asked for: the client unites them with what it has.
        Some(if lacking(nearest) == 0 { Vec::new() } else { nearest.clone() })
    }
}

/// Of a list, one value must be accepted.
fn is_accepted(value: &Value, accepted: &[Accepted]) -> bool {
    let one = |value: &Value| {
        accepted.iter().any(|accepted| match (accepted, value) {
            (Accepted::Text(pattern), Value::String(text)) => pattern.matches(text),
            (Accepted::Scalar(scalar), value) => scalar == value,
            (Accepted::Text(_), _) => false,
        })
    };
    match value {
        Value::Array(values) => values.iter().any(one),
        value => one(value),
    }
}

/// Scopes that include others.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct Implications(pub BTreeMap<Box<str>, Vec<Box<str>>>);

impl Implications {
    /// The scopes of an identity, with those that they include.
    pub fn all_of<'a>(&'a self, identity: &'a Identity) -> BTreeSet<&'a str> {
        let mut all = BTreeSet::new();
        let mut found: Vec<&str> =
            identity.grant.iter().flat_map(|grant| grant.scopes.iter().map(|scope| &**scope)).collect();
        while let Some(scope) = found.pop() {
            if all.insert(scope) {
                found.extend(self.0.get(scope).into_iter().flatten().map(|scope| &**scope));
            }
        }
        all
    }
}
