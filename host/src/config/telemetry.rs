//! `[telemetry]`: where traces and metrics are exported to, by OTLP.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::limits::nonzero_time;
use super::{Config, ConfigError, SecretConfig, WrongValue};
use crate::telemetry::{self, Configured, endpoint};

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
    /// The share of requests whose spans are exported, from 0 to 1, if their senders do not decide it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sample: Option<f64>,
    /// Between two exports of metrics.
    #[serde(
        serialize_with = "super::duration::serialize",
        deserialize_with = "nonzero_time",
        skip_serializing_if = "Option::is_none"
    )]
    pub interval: Option<Duration>,
}

impl TelemetryConfig {
    /// # Errors
    /// If nothing could be exported so.
    pub(super) fn check(&self) -> Result<(), WrongValue> {
        if self.token.as_ref().is_some_and(|token| !token.has_one_source()) {
            return Err(WrongValue::at(&["token"], "needs either env or file")
                .hint("write { env = \"OTLP_TOKEN\" } or { file = \"otlp-token\" }"));
        }
        for (name, source) in &self.headers {
            if http::HeaderName::try_from(name).is_err() {
                return Err(WrongValue::at(&["headers", name], "is no name of a header field")
                    .hint("write it like this: headers = { x-api-key = { env = \"OTLP_KEY\" } }"));
            }
            if !source.has_one_source() {
                return Err(WrongValue::at(&["headers", name], "needs either env or file")
                    .hint("write { env = \"OTLP_KEY\" } or { file = \"otlp-key\" }"));
            }
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
            WrongValue::at(&["endpoint"], format!("{why}: {url:?}"))
                .hint("write it like this: endpoint = \"http://127.0.0.1:4318\"")
        })
    }
}

impl Config {
    /// What the file says of telemetry.
    ///
    /// # Errors
    /// If a secret cannot be read.
    pub fn telemetry(&self) -> Result<Configured, ConfigError> {
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
            interval: own.interval,
            service: self.server.name.clone(),
        })
    }
}
