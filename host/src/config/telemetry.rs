//! `[telemetry]`: where traces and metrics are exported to, by OTLP.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::limits::nonzero_time;
use super::{Config, ConfigError, SecretConfig, WrongValue};
use crate::telemetry::{self, Configured, endpoint, header};

/// Minimum characters of a token, and of a header's value.
const MIN_TOKEN: usize = 8;
const MIN_HEADER: usize = 1;

#[derive(Clone, Debug, Default, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct TelemetryConfig {
    /// The collector's URL, without the path of a signal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<String>,
    /// What the collector gets as a bearer token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token: Option<SecretConfig>,
    /// Further header fields, by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, SecretConfig>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub traces: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metrics: Option<bool>,
    /// The share of requests whose spans are exported, from 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sample: Option<f64>,
    /// Which requests that is the share of; unset: those whose senders do not say whether they are sampled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sampler: Option<SamplerConfig>,
    /// Between two exports of metrics.
    #[serde(
        serialize_with = "super::duration::serialize",
        deserialize_with = "nonzero_time",
        skip_serializing_if = "Option::is_none"
    )]
    pub interval: Option<Duration>,
}

/// By the names of `OTEL_TRACES_SAMPLER`.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, PartialEq)]
pub enum SamplerConfig {
    #[serde(rename = "parentbased_traceidratio")]
    ParentBased,
    /// Whatever senders say.
    #[serde(rename = "traceidratio")]
    Ratio,
}

impl TelemetryConfig {
    /// # Errors
    /// If nothing could be exported so.
    pub(super) fn check(&self) -> Result<(), WrongValue> {
        if let Some(token) = &self.token {
            token.check("token", "OTLP_TOKEN", "otlp-token")?;
        }
        for (name, source) in &self.headers {
            if let Err(why) = header(name, "") {
                return Err(WrongValue::at(&["headers", name], why)
                    .hint("write it like this: headers = { x-api-key = { env = \"OTLP_KEY\" } }"));
            }
            source.check(name, "OTLP_KEY", "otlp-key").map_err(|wrong| wrong.below(&["headers"]))?;
        }
        if let Some(sample) = self.sample.filter(|sample| !(0.0..=1.0).contains(sample)) {
            return Err(WrongValue::at(&["sample"], format!("must be from 0 to 1, found {sample}"))
                .hint("for one request of a hundred write sample = 0.01"));
        }
        let Some(url) = &self.endpoint else { return Ok(()) };
        if !telemetry::SUPPORTED {
            return Err(WrongValue::at(&["endpoint"], "this build has no telemetry")
                .hint("build it with the feature telemetry, or remove it"));
        }
        endpoint(url, "v1/traces").map(drop).map_err(|why| {
            WrongValue::at(&["endpoint"], why).hint("write it like this: endpoint = \"http://127.0.0.1:4318\"")
        })
    }
}

impl Config {
    /// What the file says of telemetry. `instance`: the id of this process.
    ///
    /// # Errors
    /// If a secret cannot be read.
    pub fn telemetry(&self, instance: String) -> Result<Configured, ConfigError> {
        let own = &self.telemetry;
        let mut headers = Vec::new();
        if let Some(token) = &own.token {
            let token = token.read(self, "telemetry.token: the token", MIN_TOKEN)?;
            headers.push(("authorization".to_owned(), format!("Bearer {token}")));
        }
        for (name, source) in &own.headers {
            headers
                .push((name.clone(), source.read(self, &format!("telemetry.headers.{name}: the value"), MIN_HEADER)?));
        }
        Ok(Configured {
            endpoint: own.endpoint.clone(),
            headers,
            no_traces: own.traces == Some(false),
            no_metrics: own.metrics == Some(false),
            sample: own.sample,
            ignores_parents: own.sampler == Some(SamplerConfig::Ratio),
            interval: own.interval,
            service: self.server.name.clone(),
            instance,
        })
    }
}
