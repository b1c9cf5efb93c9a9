//! Secrets of which each caller has their own, from the configuration as it is now.

use std::sync::Arc;

use async_trait::async_trait;
use tokio::task::spawn_blocking;

use crate::config::{Config, ConfigError, ExchangeConfig, Live, SecretEntry};
use crate::identity::{Identity, SecretText};
use crate::oauth::{ExchangeSettings, Exchanges};
use crate::plugin::{Missing, PersonalSecrets};

/// Of a server, whose configuration may change, or of one command.
pub(super) enum Secrets {
    /// With what exchanges tokens, if users can have some.
    Live(Live, Option<Arc<Exchanges>>),
    Fixed(Arc<Config>),
}

impl Secrets {
    fn config(&self) -> Arc<Config> {
        match self {
            Self::Live(live, _) => live.get(),
            Self::Fixed(config) => config.clone(),
        }
    }

    async fn exchanged(&self, config: Arc<Config>, name: &str, of: &Identity) -> Result<SecretText, Missing> {
        let Self::Live(_, Some(exchanges)) = self else {
            return Err(missing("is only for users with an access token".into()));
        };
        // Its file may have changed, and a file is not read on the threads that serve.
        let name = name.to_owned();
        let settings = spawn_blocking(move || config.exchange(&name).map(|own| settings(own, &config))).await;
        match settings {
            Ok(Some(Ok(settings))) => exchanges.token(&settings, of).await.map_err(missing),
            Ok(Some(Err(error))) => Err(missing(format!("cannot be had now: {error}"))),
            Ok(None) | Err(_) => Err(missing("is no longer there".into())),
        }
    }
}

fn settings(own: &ExchangeConfig, config: &Config) -> Result<ExchangeSettings, ConfigError> {
    Ok(ExchangeSettings {
        issuer: own.issuer(config).to_owned(),
        endpoint: own.endpoint.clone(),
        client_id: own.client_id.clone(),
        client_secret: own.read_secret(config)?,
        audience: own.audience.clone(),
        resource: own.resource.clone(),
        scope: own.scope.clone(),
    })
}

fn missing(why: String) -> Missing {
    Missing { why, hint: "sign in again, or ask who runs the server".into(), temporary: true }
}

#[async_trait]
impl PersonalSecrets for Secrets {
    async fn value(&self, name: &str, exchanged: bool, of: &Arc<Identity>) -> Result<SecretText, Missing> {
        let config = self.config();
        // The grants of a call that waited may be older than the file.
        if config.exchange(name).is_some() != exchanged {
            return Err(missing("is of another kind by now".into()));
        }
        if exchanged {
            return self.exchanged(config, name, of).await;
        }
        if !config.secrets.get(name).is_some_and(SecretEntry::is_personal) {
            return Err(missing("is no longer of each user".into()));
        }
        // Tokens of an issuer are accepted until the next start. Where one issuer is configured, files need not name it.
        if of.grant.as_ref().is_some_and(|grant| !config.issuers().contains(&&*grant.issuer)) {
            return Err(missing("is for users of issuers that are configured".into()));
        }
        let (name, of) = (name.to_owned(), of.clone());
        let read = spawn_blocking(move || config.secret_of(&name, &of).map(SecretText::new)).await;
        read.unwrap_or_else(|error| {
            tracing::error!("failed to read a secret of a user: {error}");
            Err(Missing { why: "cannot be read now".into(), hint: "try again".into(), temporary: true })
        })
    }
}
