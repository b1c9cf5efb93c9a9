//! One task: whose it is, the call, where it stands, and its outcome.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::identity::{AccessGrant, Claims, Identity};
use crate::json;
use crate::random_id::random_id;

/// Whether a result of a tool says that it has failed.
pub fn is_error(result: &str) -> bool {
    let found = json::members(result, ["isError"]);
    found.is_ok_and(|[is_error]| is_error.map(RawValue::get) == Some("true"))
}

/// Random bytes of an id, which is in hexadecimal: no command takes one for an option.
const ID_BYTES: usize = 18;

/// Where a task stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    Working,
    InputRequired,
    Completed,
    Failed,
    Cancelled,
}

impl Status {
    /// Whether it has ended, and stays so.
    pub fn is_final(self) -> bool {
        !matches!(self, Self::Working | Self::InputRequired)
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Working => "working",
            Self::InputRequired => "input_required",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }
}

/// Which of the two protocols for tasks it was made by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Flow {
    /// The extension of 2026-07-28.
    Extension,
    /// That of 2025-11-25.
    Core,
}

/// How it ended.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The result of the call, as its request would have got it.
    Result(Box<RawValue>),
    /// Its JSON-RPC error.
    Error(Box<RawValue>),
}

/// A question to the client, and the answer once it is there.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Asked {
    /// Used once in the life of the task.
    pub key: String,
    /// The plugin's own key.
    pub name: String,
    /// What is needed to read the answer.
    pub kind: Box<RawValue>,
    pub method: String,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub params: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub answer: Option<Box<RawValue>>,
    /// Why it was not asked.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub refused: Option<String>,
}

impl Asked {
    /// Whether the client has to answer it.
    pub fn is_open(&self) -> bool {
        self.answer.is_none() && self.refused.is_none()
    }
}

/// What a client gives for a question.
#[derive(Debug, Clone)]
pub struct Given {
    pub key: String,
    /// The answer, or why there is none.
    pub answer: Result<Box<RawValue>, String>,
}

/// Whose task it is, for when it goes on without a request.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Requester {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    grant: Option<Granted>,
}

/// What the access token said.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Granted {
    issuer: String,
    subject: String,
    client: Option<String>,
    scopes: Vec<Box<str>>,
    groups: Vec<Box<str>>,
    claims: String,
    /// Seconds since 1970.
    expires: u64,
}

impl Requester {
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl From<&Identity> for Requester {
    fn from(identity: &Identity) -> Self {
        let grant = identity.grant.as_ref().map(|grant| Granted {
            issuer: grant.issuer.to_string(),
            subject: grant.subject.to_string(),
            client: grant.client.as_ref().map(ToString::to_string),
            scopes: grant.scopes.to_vec(),
            groups: grant.groups.to_vec(),
            claims: grant.claims.as_text().to_owned(),
            expires: grant.expires.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs(),
        });
        Self { name: identity.name().to_string(), grant }
    }
}

impl From<&Requester> for Identity {
    /// Without the token.
    fn from(requester: &Requester) -> Self {
        let Some(grant) = &requester.grant else {
            return Identity::token(&requester.name);
        };
        Identity::subject(AccessGrant {
            issuer: grant.issuer.as_str().into(),
            subject: grant.subject.as_str().into(),
            client: grant.client.as_deref().map(Into::into),
            scopes: grant.scopes.clone().into(),
            groups: grant.groups.clone().into(),
            claims: Claims::from_text(&grant.claims),
            expires: SystemTime::UNIX_EPOCH + Duration::from_secs(grant.expires),
        })
    }
}

/// One task.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Record {
    pub id: String,
    pub flow: Flow,
    pub requester: Requester,
    /// The key of fair sharing.
    pub caller: String,
    /// Of the call.
    pub revision: String,
    /// What the client declared that it can be asked for.
    pub capabilities: Vec<String>,
    pub plugin: String,
    /// Digest of the plugin's version, in hexadecimal.
    pub version: String,
    /// Names of extra grants and limits that the call has.
    pub extras: Vec<Box<str>>,
    /// By the name that clients know.
    pub tool: String,
    /// A JSON object.
    pub arguments: Box<RawValue>,
    /// The client's `_meta` for the plugin: a JSON object.
    pub meta: Box<RawValue>,
    /// Whether the call may be repeated.
    pub idempotent: bool,
    /// Milliseconds since 1970.
    pub created: u64,
    pub updated: u64,
    /// Milliseconds after its creation for which it is kept.
    pub ttl: u64,
    pub status: Status,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub message: Option<String>,
    /// Rounds so far.
    pub round: u32,
    /// The plugin's state for its next round, in base64.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub state: Option<String>,
    /// The questions of the last round.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub asked: Vec<Asked>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub outcome: Option<Outcome>,
    /// Whether its result says that the tool failed.
    #[serde(default)]
    pub is_error: bool,
    /// Whether its client has its outcome.
    #[serde(default)]
    pub fetched: bool,
    /// The process that runs it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub node: Option<String>,
}

impl Record {
    /// An id that nobody can guess.
    ///
    /// # Errors
    /// If the system's random number generator fails.
    pub fn new_id() -> Result<String, getrandom::Error> {
        random_id::<ID_BYTES>()
    }

    /// Whether a text can be an id.
    pub fn is_id(text: &str) -> bool {
        text.len() == 2 * ID_BYTES && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    }

    /// The id at the end of a key.
    pub fn id_of(key: &str) -> &str {
        key.rsplit('/').next().unwrap_or(key)
    }

    /// When it may be removed, in milliseconds since 1970.
    pub fn expires(&self) -> u64 {
        self.created.saturating_add(self.ttl)
    }

    /// An empty one, whose call has had so many rounds.
    pub fn at_round(round: u32) -> Self {
        let object = || RawValue::NULL.to_owned();
        Self {
            id: String::new(),
            flow: Flow::Extension,
            requester: Requester { name: String::new(), grant: None },
            caller: String::new(),
            revision: String::new(),
            capabilities: Vec::new(),
            plugin: String::new(),
            version: String::new(),
            extras: Vec::new(),
            tool: String::new(),
            arguments: object(),
            meta: object(),
            idempotent: false,
            created: 0,
            updated: 0,
            ttl: 0,
            status: Status::Working,
            message: None,
            round,
            state: None,
            asked: Vec::new(),
            outcome: None,
            is_error: false,
            fetched: false,
            node: None,
        }
    }

    /// The plugin's state, decoded.
    pub fn plugin_state(&self) -> Option<Vec<u8>> {
        self.state.as_ref().and_then(|state| URL_SAFE_NO_PAD.decode(state).ok())
    }

    /// It waits for answers; nobody runs it meanwhile. `false`: it has ended.
    pub fn ask(&mut self, asked: Vec<Asked>, state: Option<&[u8]>, round: u32) -> bool {
        if self.status.is_final() {
            return false;
        }
        self.state = state.map(|state| URL_SAFE_NO_PAD.encode(state));
        (self.asked, self.round, self.node) = (asked, round, None);
        self.set(Status::InputRequired);
        true
    }

    /// A process goes on with it in place of another one. `false`: that one does not run it.
    pub fn take_over(&mut self, from: &str, node: &str) -> bool {
        let is_orphan = self.status == Status::Working && self.node.as_deref() == Some(from);
        if is_orphan {
            self.node = Some(node.to_owned());
            self.updated = super::now();
        }
        is_orphan
    }

    /// Takes answers, by key. Those for no open question are ignored. Whether it can go on, which `node` does then.
    pub fn answer(&mut self, answers: Vec<Given>, node: &str) -> bool {
        if self.status != Status::InputRequired {
            return false;
        }
        for Given { key, answer } in answers {
            if let Some(asked) = self.asked.iter_mut().find(|asked| asked.key == key && asked.is_open()) {
                match answer {
                    Ok(answer) => asked.answer = Some(answer),
                    Err(why) => asked.refused = Some(why),
                }
            }
        }
        self.updated = super::now();
        let goes_on = !self.asked.iter().any(Asked::is_open);
        if goes_on {
            self.node = Some(node.to_owned());
            self.set(Status::Working);
        }
        goes_on
    }

    /// `false`: it has ended already.
    pub fn end(&mut self, status: Status, message: Option<String>, outcome: Option<Outcome>) -> bool {
        if self.status.is_final() {
            return false;
        }
        self.is_error = matches!(&outcome, Some(Outcome::Result(result)) if is_error(result.get()));
        (self.message, self.outcome, self.node, self.state) = (message, outcome, None, None);
        // What is needed to answer again with the same.
        self.asked.clear();
        self.set(status);
        true
    }

    /// What it does now, for people. `false`: it does not run.
    pub fn say(&mut self, message: &str) -> bool {
        let says = self.status == Status::Working;
        if says {
            self.message = Some(message.to_owned());
            self.updated = super::now();
        }
        says
    }

    fn set(&mut self, status: Status) {
        self.status = status;
        self.updated = super::now();
    }
}
