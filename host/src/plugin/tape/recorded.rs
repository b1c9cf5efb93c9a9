//! A recorded call: what was called, under which settings, what it asked, and how it ended.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::called::Called;
use super::event::{Event, size};
use super::kept::Kept;
use crate::plugin::abi::CallContext;
use crate::plugin::id::{Digest, PluginId};
use crate::plugin::limits::{Limits, TaskLimits};
use crate::plugin::policy::command::CommandSettings;
use crate::plugin::policy::grants::{Grants, KeyvalueGrant};
use crate::plugin::policy::redact::placeholder;
use crate::plugin::policy::template::SecretTemplate;

/// The version of the format: of what lines mean, and of the members that they have.
pub(super) const FORMAT: u64 = 1;

/// A recorded call.
#[derive(Debug, Clone, PartialEq)]
pub struct Recorded {
    pub input: Input,
    pub(in crate::plugin) context: CallContext,
    pub(in crate::plugin) surroundings: Surroundings,
    pub(in crate::plugin) events: Vec<Event>,
    pub(in crate::plugin) outcome: Value,
    pub cost: Spending,
}

/// What was called, and of which component.
#[derive(Debug, Clone, PartialEq)]
pub struct Input {
    pub plugin: PluginId,
    pub digest: Digest,
    /// The version of Wharf that recorded it.
    pub(in crate::plugin) wharf: String,
    pub(in crate::plugin) called: Called,
    /// Whether it was a call that may become a task, which has other limits.
    pub(in crate::plugin) as_task: bool,
}

/// The context of a call as it is kept.
pub(in crate::plugin) struct Asking(pub(super) Value);

impl Asking {
    pub(super) fn of(context: &CallContext) -> Self {
        Self(context.keep())
    }

    pub(super) fn context(&self) -> Option<CallContext> {
        CallContext::read(&self.0)
    }
}

/// What the guest saw of its grants, and its limits.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::plugin) struct Surroundings {
    pub(super) variables: Vec<(String, String)>,
    pub(super) settings: Vec<(String, String)>,
    keyvalue: bool,
    /// Whether it had any. A replay has none, but what was recorded of them.
    pub(super) folders: bool,
    /// The text of a command's description.
    pub(super) tool: Option<String>,
    json: bool,
    timeout: u64,
    cpu: u64,
    memory: u64,
    output: u64,
    log: u64,
}

/// What a call cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Spending {
    pub cpu: Duration,
    /// Bytes.
    pub memory: u64,
}

impl Spending {
    pub fn to_json(&self) -> Value {
        json!({"cpu_us": self.cpu.as_micros() as u64, "memory": self.memory})
    }

    /// Adds what another call cost: its time, and its memory if that is more.
    pub fn add(&mut self, other: &Self) {
        self.cpu += other.cpu;
        self.memory = self.memory.max(other.memory);
    }
}

/// Bounds of limits that a file may set.
const MAX_TIME: u64 = 3_600_000;
const MAX_OUTPUT: u64 = 64 << 20;

impl Surroundings {
    /// With placeholders in place of secrets.
    pub(super) fn of(grants: &Grants, limits: &Limits) -> Self {
        let secret = |name: &str| grants.secret(name).map(|_| placeholder(name));
        let filled = |template: &SecretTemplate| template.fill(secret);
        let readable = |name: &str| grants.secrets.iter().any(|own| own.readable && own.name == name);
        let setting = |(name, value): (String, String)| {
            let hidden = readable(&name) && grants.secret(&name).is_some();
            (name.clone(), if hidden { placeholder(&name) } else { value })
        };
        Self {
            variables: grants.env.iter().filter_map(|(name, value)| Some((name.clone(), filled(value)?))).collect(),
            settings: grants.configured().map(setting).collect(),
            keyvalue: grants.keyvalue.is_some(),
            folders: !grants.folders.is_empty(),
            tool: grants.program.tool.as_ref().and_then(|tool| tool.as_ref().ok()).map(|tool| tool.to_string()),
            json: grants.program.json,
            timeout: limits.timeout.as_millis() as u64,
            cpu: limits.cpu.as_millis() as u64,
            memory: limits.memory,
            output: limits.output,
            log: limits.log,
        }
    }

    pub(super) fn size(&self) -> usize {
        size(&self.keep())
    }

    /// The grants and limits under which a replay runs: nothing but what was recorded.
    pub(in crate::plugin) fn settings(&self) -> (Grants, Limits) {
        let literal = |(name, value): &(String, String)| (name.clone(), SecretTemplate::literal(value));
        let grants = Grants {
            keyvalue: self.keyvalue.then_some(KeyvalueGrant { quota: KeyvalueGrant::QUOTA, per_subject: None }),
            env: self.variables.iter().map(literal).collect(),
            config: self.settings.clone(),
            program: CommandSettings { json: self.json, tool: self.tool.as_deref().map(|tool| Ok(tool.into())) },
            ..Grants::default()
        };
        let (timeout, cpu) = (Duration::from_millis(self.timeout), Duration::from_millis(self.cpu));
        let limits = Limits {
            timeout,
            cpu,
            memory: self.memory,
            output: self.output,
            log: self.log,
            tasks: TaskLimits { timeout, cpu, ..TaskLimits::default() },
            ..Limits::default()
        };
        (grants, limits)
    }

    fn keep(&self) -> Value {
        let Self { variables, settings, keyvalue, folders, tool, json, timeout, cpu, memory, output, log } = self;
        json!({
            "env": variables.keep(),
            "config": settings.keep(),
            "keyvalue": keyvalue,
            "fs": folders,
            "tool": tool.keep(),
            "json": json,
            "limits": {"timeout_ms": timeout, "cpu_ms": cpu, "memory": memory, "output": output, "log": log},
        })
    }

    fn read(value: &Value) -> Option<Self> {
        let limit = |name: &str, most: u64| Some(value["limits"][name].as_u64()?.min(most));
        Some(Self {
            variables: Kept::read(&value["env"])?,
            settings: Kept::read(&value["config"])?,
            keyvalue: Kept::read(&value["keyvalue"])?,
            folders: value["fs"] == true,
            tool: Kept::read(&value["tool"])?,
            json: Kept::read(&value["json"])?,
            timeout: limit("timeout_ms", MAX_TIME)?,
            cpu: limit("cpu_ms", MAX_TIME)?,
            memory: limit("memory", Limits::MAX_MEMORY)?,
            output: limit("output", MAX_OUTPUT)?,
            log: limit("log", MAX_OUTPUT)?,
        })
    }
}

impl Input {
    /// What was called, for people.
    pub fn name(&self) -> &str {
        self.called.name()
    }

    /// Roughly, how many bytes it takes.
    pub(super) fn size(&self) -> usize {
        size(&Value::Object(self.keep()))
    }

    fn keep(&self) -> Map<String, Value> {
        let mut line = Map::new();
        line.insert("recording".into(), FORMAT.into());
        line.insert("wharf".into(), self.wharf.as_str().into());
        line.insert("plugin".into(), self.plugin.as_ref().into());
        line.insert("component".into(), self.digest.to_string().into());
        line.extend(self.called.keep());
        if self.as_task {
            line.insert("task".into(), true.into());
        }
        line
    }

    fn read(line: &Value) -> Option<Self> {
        Some(Self {
            plugin: PluginId::parse(line["plugin"].as_str()?).ok()?,
            digest: Digest::parse(line["component"].as_str()?)?,
            wharf: Kept::read(&line["wharf"])?,
            called: Called::read(line)?,
            as_task: line["task"] == true,
        })
    }
}

impl Recorded {
    /// Its lines: the call, what it asked, and how it ended.
    pub fn lines(&self) -> impl Iterator<Item = String> {
        let mut first = self.input.keep();
        first.insert("context".into(), self.context.keep());
        first.insert("grants".into(), self.surroundings.keep());
        let last = json!({"outcome": self.outcome, "cost": self.cost.to_json()});
        let lines = std::iter::once(Value::Object(first)).chain(self.events.iter().map(Event::keep));
        lines.chain([last]).map(|line| line.to_string() + "\n")
    }

    /// A call without its events, from its first line.
    pub(super) fn begin(line: &Value) -> Option<Self> {
        Some(Self {
            input: Input::read(line)?,
            context: CallContext::read(&line["context"])?,
            surroundings: Surroundings::read(&line["grants"])?,
            events: Vec::new(),
            outcome: Value::Null,
            cost: Spending::default(),
        })
    }

    /// Its last line.
    pub(super) fn end(&mut self, line: &Value) -> Option<()> {
        self.outcome = line.get("outcome")?.clone();
        let cost = &line["cost"];
        let cpu = Duration::from_micros(cost["cpu_us"].as_u64()?);
        self.cost = Spending { cpu, memory: cost["memory"].as_u64()? };
        Some(())
    }
}
