//! `[metrics]`: where Prometheus gets the metrics of the server.

use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

use super::{Config, ConfigError, SecretConfig, WrongValue, address};
use crate::metrics;

/// Minimum characters of a token.
const MIN_TOKEN: usize = 16;

#[derive(Clone, Debug, Default, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct MetricsConfig {
    /// Where `GET /metrics` is answered; unset: nothing is counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// What scrapers send as a bearer token; required unless the address is of this machine alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token: Option<SecretConfig>,
}

impl MetricsConfig {
    /// # Errors
    /// If the address is none, or others could read the metrics.
    pub(super) fn check(&self) -> Result<(), WrongValue> {
        if let Some(token) = &self.token {
            token.check("token", "METRICS_TOKEN", "metrics-token")?;
        }
        let Some(text) = &self.address else { return Ok(()) };
        if !metrics::SUPPORTED {
            return Err(WrongValue::at(&["address"], "this build has no metrics")
                .hint("build it with the feature metrics, or remove it"));
        }
        let checked = address::operators(text, "metrics", "127.0.0.1:9464", self.token.is_some());
        checked.map(drop).map_err(|(why, hint)| WrongValue::at(&["address"], why).hint(hint))
    }
}

impl Config {
    /// Where metrics are served; `None`: nowhere.
    pub fn metrics_address(&self) -> Option<SocketAddr> {
        self.metrics.address.as_deref().and_then(address::tcp)
    }

    /// The token of scrapers, if they need one.
    ///
    /// # Errors
    /// If it cannot be read, or is too short.
    pub fn metrics_token(&self) -> Result<Option<String>, ConfigError> {
        self.metrics.token.as_ref().map(|token| token.read(self, "metrics.token: the token", MIN_TOKEN)).transpose()
    }
}
