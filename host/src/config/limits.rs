//! The limits of calls in the file, for all plugins or for one. The sandbox enforces them.

use std::fmt::Display;
use std::time::Duration;

use bytesize::ByteSize;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use wharf_report::wrong_value;

use crate::plugin::{Isolation, Limits};

/// The error for a zero limit.
const ZERO: &str = "with 0 no call could run: use a larger value, or omit it for the default";

/// What a component with memory has at least.
const PAGE: ByteSize = ByteSize::kib(64);

/// Limits of a plugin; what is absent falls back to `[limits]`, then to the defaults.
#[derive(Clone, Debug, Default, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct LimitsConfig {
    /// Wall-clock time of a call.
    #[serde(
        serialize_with = "super::duration::serialize",
        deserialize_with = "nonzero_time",
        skip_serializing_if = "Option::is_none"
    )]
    pub timeout: Option<Duration>,
    /// CPU time of a call.
    #[serde(
        serialize_with = "super::duration::serialize",
        deserialize_with = "nonzero_time",
        skip_serializing_if = "Option::is_none"
    )]
    pub cpu: Option<Duration>,
    /// Bytes of all memories and tables of one instance.
    #[serde(
        serialize_with = "super::size::serialize",
        deserialize_with = "memory",
        skip_serializing_if = "Option::is_none"
    )]
    pub memory: Option<ByteSize>,
    /// Bytes of one result.
    #[serde(
        serialize_with = "super::size::serialize",
        deserialize_with = "nonzero_size",
        skip_serializing_if = "Option::is_none"
    )]
    pub output: Option<ByteSize>,
    /// Calls that run at the same time.
    #[serde(
        deserialize_with = "concurrency_up_to::<_, { Limits::MAX_CONCURRENCY }>",
        skip_serializing_if = "Option::is_none"
    )]
    pub concurrency: Option<u32>,
    /// Calls that may wait for a slot; more are refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<u32>,
    /// Bytes that one call may log.
    #[serde(with = "super::size", skip_serializing_if = "Option::is_none")]
    pub log: Option<ByteSize>,
    /// The process in which calls run: that of the server, or one of the plugin's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub isolation: Option<IsolationConfig>,
}

/// As [`Isolation`].
#[derive(Clone, Copy, Debug, Deserialize, Serialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum IsolationConfig {
    Shared,
    Process,
}

impl From<IsolationConfig> for Isolation {
    fn from(config: IsolationConfig) -> Self {
        match config {
            IsolationConfig::Shared => Self::Shared,
            IsolationConfig::Process => Self::Process,
        }
    }
}

impl LimitsConfig {
    pub(super) fn apply(&self, limits: &mut Limits) {
        let bytes = |size: ByteSize| size.as_u64();
        limits.timeout = self.timeout.unwrap_or(limits.timeout);
        limits.cpu = self.cpu.unwrap_or(limits.cpu);
        limits.memory = self.memory.map_or(limits.memory, bytes);
        limits.output = self.output.map_or(limits.output, bytes);
        limits.concurrency = self.concurrency.unwrap_or(limits.concurrency);
        limits.queue = self.queue.unwrap_or(limits.queue);
        limits.log = self.log.map_or(limits.log, bytes);
        limits.isolation = self.isolation.map_or(limits.isolation, Isolation::from);
    }
}

impl From<&Limits> for LimitsConfig {
    fn from(limits: &Limits) -> Self {
        Self {
            timeout: Some(limits.timeout),
            cpu: Some(limits.cpu),
            memory: Some(ByteSize(limits.memory)),
            output: Some(ByteSize(limits.output)),
            concurrency: Some(limits.concurrency),
            queue: Some(limits.queue),
            log: Some(ByteSize(limits.log)),
            isolation: Some(match limits.isolation {
                Isolation::Shared => IsolationConfig::Shared,
                Isolation::Process => IsolationConfig::Process,
            }),
        }
    }
}

/// A non-zero duration.
pub(super) fn nonzero_time<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    require_nonzero(super::duration::deserialize(deserializer)?)
}

/// A non-zero size.
fn nonzero_size<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<ByteSize>, D::Error> {
    require_nonzero(super::size::deserialize(deserializer)?)
}

fn memory<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<ByteSize>, D::Error> {
    let size = at_most(nonzero_size(deserializer)?, ByteSize(Limits::MAX_MEMORY))?;
    match size {
        Some(size) if size < PAGE => {
            let bytes = size.as_u64();
            let why = format!("{bytes} bytes are less than a page of WebAssembly memory, {PAGE}: no call could run");
            let hint = format!("write it with a unit: memory = \"{bytes} MiB\"");
            Err(Error::custom(wrong_value(&why, &hint)))
        }
        size => Ok(size),
    }
}

/// A number of calls, not zero.
pub(super) fn concurrency_up_to<'de, D: Deserializer<'de>, const MAX: u32>(
    deserializer: D,
) -> Result<Option<u32>, D::Error> {
    at_most(require_nonzero(u32::deserialize(deserializer)?)?, MAX)
}

fn at_most<T: PartialOrd + Display, E: Error>(value: Option<T>, max: T) -> Result<Option<T>, E> {
    match value {
        Some(value) if value > max => Err(E::custom(format!("{value} is over the maximum of {max}"))),
        value => Ok(value),
    }
}

fn require_nonzero<T: Default + PartialEq, E: Error>(value: T) -> Result<Option<T>, E> {
    if value == T::default() { Err(E::custom(ZERO)) } else { Ok(Some(value)) }
}
