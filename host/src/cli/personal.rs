//! Secrets of which each caller has their own, from the configuration as it is now.

use std::sync::Arc;

use async_trait::async_trait;
use tokio::task::spawn_blocking;

use crate::config::{Config, Live};
use crate::identity::Identity;
use crate::plugin::{Missing, PersonalSecrets};

/// Of a server, whose configuration may change, or of one command.
pub(super) enum Secrets {
    Live(Live),
    Fixed(Arc<Config>),
}

impl Secrets {
    fn config(&self) -> Arc<Config> {
        match self {
            Self::Live(live) => live.get(),
            Self::Fixed(config) => config.clone(),
        }
    }
}

#[async_trait]
impl PersonalSecrets for Secrets {
    async fn value(&self, name: &str, of: &Arc<Identity>) -> Result<String, Missing> {
        let (config, name, of) = (self.config(), name.to_owned(), of.clone());
        spawn_blocking(move || config.secret_of(&name, &of)).await.unwrap_or_else(|error| {
            tracing::error!("failed to read a secret of a user: {error}");
            Err(Missing { why: "cannot be read now".into(), hint: "try again", temporary: true })
        })
    }
}
