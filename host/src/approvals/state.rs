//! What is kept: requests with their decisions, and answers that were used. Pure; times are seconds since 1970, since
//! processes share them.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

/// Requests that wait for an operator, of one caller and in all.
const MAX_WAITING_OF_ONE: usize = 32;
const MAX_WAITING: usize = 256;
/// The same with those that were decided.
const MAX_OF_ONE: usize = 64;
const MAX_REQUESTS: usize = 512;
/// Answers that were used, of one caller and in all.
const MAX_SPENT_OF_ONE: usize = 256;
const MAX_SPENT: usize = 2048;
/// How much the clock may be set back before what was decided in the future counts as expired.
const LEEWAY: u64 = 60;

/// A call that somebody is asked about. What it is bound to is in two hashes; the rest is for people.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub struct Deed {
    /// Whose call it is, shortened.
    pub by: String,
    pub plugin: String,
    /// Digest of the plugin's version, in hexadecimal.
    pub version: String,
    /// The extra grants and limits that it has, with commas between their names.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub extras: String,
    /// By its name within the plugin.
    pub tool: String,
    /// By the name that clients know.
    pub name: String,
    /// JSON, escaped for a terminal, and shortened.
    pub arguments: String,
    /// Bytes of the arguments, and their digest in hexadecimal, as the client wrote them.
    pub bytes: u64,
    pub digest: String,
    caller: String,
    /// Of caller, plugin, version, extras and tool.
    any: String,
    /// The same with the arguments.
    this: String,
}

/// What a call is bound to.
#[derive(Clone, Copy)]
pub struct Bound<'a> {
    /// The principal, whole.
    pub caller: &'a str,
    pub plugin: &'a str,
    pub version: &'a str,
    /// Names of extra grants and limits.
    pub extras: &'a str,
    pub tool: &'a str,
    /// One spelling of equal arguments.
    pub arguments: &'a str,
}

impl Deed {
    /// `by` and `shown` are for people.
    pub fn new(bound: Bound<'_>, by: String, shown: String, written: &str) -> Self {
        let Bound { caller, plugin, version, extras, tool, arguments } = bound;
        Self {
            by,
            plugin: plugin.to_owned(),
            version: version.to_owned(),
            extras: extras.to_owned(),
            tool: tool.to_owned(),
            name: tool.to_owned(),
            arguments: shown,
            bytes: written.len() as u64,
            digest: blake3::hash(written.as_bytes()).to_hex().to_string(),
            caller: hash(&[caller]),
            any: hash(&[caller, plugin, version, extras, tool]),
            this: hash(&[caller, plugin, version, extras, tool, arguments]),
        }
    }

    /// The same with the name that clients know.
    pub fn named(self, name: &str) -> Self {
        Self { name: name.to_owned(), ..self }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Decision {
    Waiting,
    Allowed,
    Denied,
}

/// Who decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Decider {
    /// The user of the client.
    User,
    Operator,
}

impl Decider {
    pub fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Operator => "operator",
        }
    }
}

/// A request, and what was decided.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub struct Request {
    pub id: String,
    pub call: Deed,
    /// Whether a decision is for this call alone, once; otherwise for all calls of the tool by that caller.
    pub once: bool,
    pub decision: Decision,
    /// Set once it is decided.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub by: Option<Decider>,
    /// When it was asked, or decided last.
    since: u64,
    expires: u64,
    /// Seconds for which a decision holds.
    holds: u64,
}

impl Request {
    fn is_live(&self, now: u64) -> bool {
        self.since <= now.saturating_add(LEEWAY) && now < self.expires
    }

    pub fn since(&self) -> SystemTime {
        time(self.since)
    }

    pub fn expires(&self) -> SystemTime {
        time(self.expires)
    }
}

/// Which decisions count for a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wanted {
    /// Each call needs one of its own.
    pub once: bool,
    /// What users allowed does not count.
    pub of_operator: bool,
    /// Seconds for which one that allows holds at most, whatever held when it was made.
    pub holds: u64,
}

/// Whether a call may run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// Nobody decided yet.
    Open,
    Allowed {
        by: Decider,
    },
    Denied,
}

/// Too many are kept.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Full;

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize)]
pub(super) struct State {
    requests: Vec<Request>,
    spent: Vec<Spent>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
struct Spent {
    answer: String,
    caller: String,
    until: u64,
}

impl State {
    pub(super) fn live(mut self, now: u64) -> Vec<Request> {
        self.forget_expired(now);
        self.requests
    }

    fn forget_expired(&mut self, now: u64) {
        self.requests.retain(|request| request.is_live(now));
        self.spent.retain(|spent| now <= spent.until);
    }

    /// The request that decides on a call, and where it is. One that denies comes first; one for all calls of the tool
    /// before one that would be used up.
    fn deciding(&self, call: &Deed, wanted: Wanted, now: u64) -> Option<usize> {
        let Wanted { once, of_operator, holds } = wanted;
        let counts = |(_, request): &(usize, &Request)| {
            let is_trusted = !of_operator || request.by == Some(Decider::Operator);
            request.decision == Decision::Denied || is_trusted && now < request.since.saturating_add(holds)
        };
        let rank = |request: &Request| match request.decision {
            Decision::Denied if request.call.this == call.this => Some(0),
            Decision::Denied if !request.once && request.call.any == call.any => Some(0),
            Decision::Allowed if !once && !request.once && request.call.any == call.any => Some(1),
            Decision::Allowed if request.once && request.call.this == call.this => Some(2),
            _ => None,
        };
        let live = self.requests.iter().enumerate().filter(|(_, request)| request.is_live(now));
        let ranked = live.filter(counts).filter_map(|(at, request)| Some((rank(request)?, at)));
        ranked.min().map(|(_, at)| at)
    }

    pub(super) fn standing(&self, call: &Deed, wanted: Wanted, now: u64) -> Standing {
        let Some(request) = self.deciding(call, wanted, now).map(|at| &self.requests[at]) else {
            return Standing::Open;
        };
        match request.decision {
            Decision::Allowed => Standing::Allowed { by: request.by.unwrap_or(Decider::Operator) },
            _ => Standing::Denied,
        }
    }

    /// The same; what allows one call alone is used up.
    pub(super) fn take(&mut self, call: &Deed, wanted: Wanted, now: u64) -> Standing {
        let standing = self.standing(call, wanted, now);
        if let (Standing::Allowed { .. }, Some(at)) = (standing, self.deciding(call, wanted, now))
            && self.requests[at].once
        {
            self.requests.remove(at);
        }
        standing
    }

    /// Adds a request, or returns the one that there is already. `id` is new.
    pub(super) fn request(
        &mut self,
        id: String,
        call: Deed,
        once: bool,
        holds: u64,
        now: u64,
    ) -> Result<Request, Full> {
        self.forget_expired(now);
        let waits = |request: &&Request| request.decision == Decision::Waiting;
        let mut waiting = self.requests.iter().filter(waits);
        if let Some(same) = waiting.clone().find(|other| other.call.this == call.this && other.once == once) {
            return Ok(same.clone());
        }
        if waiting.clone().count() >= MAX_WAITING
            || waiting.by_ref().filter(|other| other.call.caller == call.caller).count() >= MAX_WAITING_OF_ONE
        {
            return Err(Full);
        }
        let expires = now.saturating_add(holds);
        self.add(Request { id, call, once, decision: Decision::Waiting, by: None, since: now, expires, holds })
    }

    /// Allows all calls of a tool, in place of what was decided on it before.
    pub(super) fn remember(&mut self, id: String, call: Deed, holds: u64, now: u64) -> Result<Request, Full> {
        self.forget_expired(now);
        let stays = |other: &Request| other.decision == Decision::Denied || other.by == Some(Decider::Operator);
        self.requests.retain(|other| other.once || other.call.any != call.any || stays(other));
        let expires = now.saturating_add(holds);
        let by = Some(Decider::User);
        self.add(Request { id, call, once: false, decision: Decision::Allowed, by, since: now, expires, holds })
    }

    fn add(&mut self, request: Request) -> Result<Request, Full> {
        let own = self.requests.iter().filter(|other| other.call.caller == request.call.caller).count();
        // An id that there is already is as unlikely as a guessed one.
        let is_known = self.requests.iter().any(|other| other.id == request.id);
        if self.requests.len() >= MAX_REQUESTS || own >= MAX_OF_ONE || is_known {
            return Err(Full);
        }
        self.requests.push(request.clone());
        Ok(request)
    }

    /// The request of that id, whatever was decided.
    pub(super) fn find(&self, id: &str, now: u64) -> Option<&Request> {
        self.requests.iter().find(|request| request.id == id && request.is_live(now))
    }

    /// Decides on a request that waits, or again on one that was decided.
    pub(super) fn decide(&mut self, id: &str, decision: Decision, now: u64) -> Option<Request> {
        self.forget_expired(now);
        let request = self.requests.iter_mut().find(|request| request.id == id)?;
        request.decision = decision;
        request.by = Some(Decider::Operator);
        request.since = now;
        request.expires = now.saturating_add(request.holds);
        let decided = request.clone();
        if decision == Decision::Denied && !decided.once {
            // Nothing else that allows all calls of the tool is left.
            let is_undone = |other: &Request| other.decision == Decision::Allowed && !other.once;
            self.requests.retain(|other| !(is_undone(other) && other.call.any == decided.call.any));
        }
        Some(decided)
    }

    /// Whether an answer was not used before. It is kept until then, by whom it was sent.
    pub(super) fn spend(&mut self, answer: &str, caller: &str, until: u64, now: u64) -> Result<bool, Full> {
        self.use_up(&hash(&[answer]), &hash(&[caller]), until, now)
    }

    /// The same by the hashes of both.
    pub(super) fn use_up(&mut self, answer: &str, caller: &str, until: u64, now: u64) -> Result<bool, Full> {
        self.forget_expired(now);
        if self.spent.iter().any(|spent| spent.answer == answer) {
            return Ok(false);
        }
        let own = self.spent.iter().filter(|spent| spent.caller == caller).count();
        if own >= MAX_SPENT_OF_ONE || self.spent.len() >= MAX_SPENT {
            return Err(Full);
        }
        self.spent.push(Spent { answer: answer.to_owned(), caller: caller.to_owned(), until });
        Ok(true)
    }

    /// Used answers: whose, which, and until when they are good; the first two are hashes.
    pub(super) fn used(&self) -> impl Iterator<Item = (&str, &str, u64)> {
        self.spent.iter().map(|spent| (&*spent.caller, &*spent.answer, spent.until))
    }

    /// The state without used answers, as JSON; `None`: there are no requests.
    pub(super) fn decisions(&self) -> serde_json::Result<Option<Vec<u8>>> {
        let state = Self { requests: self.requests.clone(), spent: Vec::new() };
        (!state.requests.is_empty()).then(|| serde_json::to_vec(&state)).transpose()
    }

    /// Has the requests of another state in place of its own.
    pub(super) fn decide_as(&mut self, other: &Self) {
        self.requests.clone_from(&other.requests);
    }
}

/// The first 128 bits of a hash. Each part has its length before it, so that different ones never hash the same.
pub(super) fn hash(parts: &[&str]) -> String {
    let mut hash = blake3::Hasher::new_derive_key("wharf approval v1");
    for part in parts {
        hash.update(&(part.len() as u64).to_le_bytes()).update(part.as_bytes());
    }
    hash.finalize().to_hex()[..32].to_owned()
}

fn time(seconds: u64) -> SystemTime {
    UNIX_EPOCH.checked_add(Duration::from_secs(seconds)).unwrap_or(UNIX_EPOCH)
}

#[cfg(test)]
mod tests;
