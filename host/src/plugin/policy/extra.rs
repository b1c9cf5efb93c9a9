//! What some callers have in addition to a plugin's own grants and limits.

use std::sync::Arc;
use std::time::Duration;

use super::grants::Grants;
use super::secret::Secret;
use crate::identity::Identity;
use crate::plugin::limits::Limits;
use crate::rights::{Condition, Implications};

/// Maximum entries of one plugin: each combination of them is prepared when it is first needed.
pub const MAX_EXTRAS: usize = 8;

/// Grants and limits for the callers for whom a condition holds.
#[derive(Debug, Clone, PartialEq)]
pub struct Extra {
    /// For people: what `wharf rights` and the audit log show.
    pub name: Box<str>,
    pub when: Condition,
    pub grants: Grants,
    pub limits: ExtraLimits,
}

/// Limits of one call that differ from the plugin's. There are none of what all its calls share.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ExtraLimits {
    pub timeout: Option<Duration>,
    pub cpu: Option<Duration>,
    pub memory: Option<u64>,
    pub output: Option<u64>,
    pub log: Option<u64>,
}

/// The entries of one plugin, in the order of the configuration.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Extras(Arc<Entries>);

#[derive(Debug, Default, PartialEq)]
struct Entries {
    all: Vec<Extra>,
    implied: Implications,
}

/// Which entries hold for a caller: bit n for entry n. Zero: none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Holding(u16);

impl Holding {
    pub(in crate::plugin) fn number(self) -> usize {
        self.0.into()
    }

    /// Whether that entry holds.
    pub fn has(self, at: usize) -> bool {
        self.0 >> at & 1 == 1
    }
}

impl Extras {
    /// At most [`MAX_EXTRAS`]; more are ignored.
    pub fn new(mut all: Vec<Extra>, implied: Implications) -> Self {
        all.truncate(MAX_EXTRAS);
        Self(Arc::new(Entries { all, implied }))
    }

    pub fn all(&self) -> &[Extra] {
        &self.0.all
    }

    /// How many values [`Holding::number`] can have besides zero.
    pub(in crate::plugin) fn combinations(&self) -> usize {
        (1 << self.0.all.len()) - 1
    }

    /// Which of them hold for a caller. `None` is the host itself, for which none holds.
    pub fn holding(&self, caller: Option<&Identity>) -> Holding {
        let (Some(caller), false) = (caller, self.0.all.is_empty()) else { return Holding::default() };
        let scopes = self.0.implied.all_of(caller);
        let holds = |extra: &Extra| extra.when.holds(caller, &scopes);
        let bits = self.0.all.iter().enumerate().map(|(at, extra)| u16::from(holds(extra)) << at);
        Holding(bits.fold(0, |all, bit| all | bit))
    }

    /// The names of those that hold for a caller.
    pub(in crate::plugin) fn names(&self, caller: &Identity) -> Vec<Box<str>> {
        self.of(self.holding(Some(caller))).map(|extra| extra.name.clone()).collect()
    }

    /// The entries that hold.
    pub fn of(&self, holding: Holding) -> impl Iterator<Item = &Extra> {
        self.0.all.iter().enumerate().filter(move |(at, _)| holding.has(*at)).map(|(_, extra)| extra)
    }
}

impl Grants {
    /// These with what such callers have in addition. Where two say something of the same folder, variable or value,
    /// or cover the same request, the later one applies.
    pub fn with_extras(&self, holding: Holding) -> Self {
        let base = Self { extras: Extras::default(), ..self.clone() };
        self.extras.of(holding).fold(base, |grants, extra| grants.overridden(&extra.grants))
    }

    fn overridden(self, more: &Self) -> Self {
        let Self { keyvalue, mut http, mut secrets, elicit, sample, roots, mut folders, private, .. } = more.clone();
        http.extend(self.http);
        folders
            .splice(..0, self.folders.into_iter().filter(|own| more.folders.iter().all(|new| new.guest != own.guest)));
        for own in self.secrets {
            match secrets.iter_mut().find(|new| new.name == own.name) {
                Some(new) => new.readable |= own.readable,
                None => secrets.push(own),
            }
        }
        secrets.sort_by(|one: &Secret, other| one.name.cmp(&other.name));
        Self {
            keyvalue: keyvalue.or(self.keyvalue),
            http,
            secrets,
            elicit: elicit || self.elicit,
            sample: sample || self.sample,
            roots: roots || self.roots,
            folders,
            private: if private.is_empty() { self.private } else { private },
            env: keyed(self.env, &more.env),
            config: keyed(self.config, &more.config),
            pages: self.pages,
            program: self.program,
            place: self.place,
            command: self.command,
            extras: Extras::default(),
        }
    }
}

/// Pairs with those of `more`, which replace the ones of the same key.
fn keyed<T: Clone>(own: Vec<(String, T)>, more: &[(String, T)]) -> Vec<(String, T)> {
    let kept = own.into_iter().filter(|(key, _)| more.iter().all(|(new, _)| new != key));
    kept.chain(more.iter().cloned()).collect()
}

impl Limits {
    /// These as calls of such callers have them.
    pub(in crate::plugin) fn with_extras(&self, extras: &Extras, holding: Holding) -> Self {
        extras.of(holding).fold(self.clone(), |limits, Extra { limits: more, .. }| Self {
            timeout: more.timeout.unwrap_or(limits.timeout),
            cpu: more.cpu.unwrap_or(limits.cpu),
            memory: more.memory.unwrap_or(limits.memory).min(Self::MAX_MEMORY),
            output: more.output.unwrap_or(limits.output),
            log: more.log.unwrap_or(limits.log),
            ..limits
        })
    }
}
