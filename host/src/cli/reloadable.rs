//! The tokens and the certificate of a running HTTP server, which SIGHUP reloads.

use std::path::Path;

use crate::config::{Config, ConfigError};
use crate::transport::http::{Settings, Tls, Token, TokenSet};

/// The settings of an HTTP server that can be reloaded while it runs.
pub(super) struct Reloadable {
    tokens: TokenSet,
    /// Whether tokens of OAuth are accepted too.
    has_oauth: bool,
    tls: Option<Tls>,
    /// Why the tokens could not be read now, as it was logged.
    unread: Option<String>,
}

impl Reloadable {
    pub(super) fn of(settings: &Settings) -> Self {
        Self {
            tokens: settings.tokens.clone(),
            has_oauth: settings.oauth.is_some(),
            tls: settings.tls.clone(),
            unread: None,
        }
    }

    /// Reloads the tokens and the certificate. On an error the old ones stay. A server that requires
    /// tokens never stops requiring them.
    pub(super) fn reload(&mut self, file: &Path) {
        self.reload_tokens(file);
        if let Some(tls) = &self.tls {
            tls.reload();
        }
    }

    /// Whether [`Reloadable::reload_tokens`] has to be called again: the system could not read them now.
    pub(super) fn is_unread(&self) -> bool {
        self.unread.is_some()
    }

    pub(super) fn reload_tokens(&mut self, file: &Path) {
        let before = self.unread.take();
        let tokens = match Config::read(file) {
            Ok(config) => tokens(&config),
            Err(error) if error.is_temporary() => Err(error),
            // Reported by the task that follows the file.
            Err(_) => return,
        };
        match tokens {
            Ok(tokens) if tokens.is_empty() && !self.tokens.is_empty() && !self.has_oauth => tracing::error!(
                "tokens unchanged: the configuration has none, and only a restart can turn authentication off"
            ),
            Ok(tokens) => {
                let count = tokens.len();
                self.tokens.replace(tokens);
                tracing::info!(count, "tokens reloaded");
            }
            Err(error) => {
                self.unread = error.is_temporary().then(|| error.to_string());
                if self.unread.is_none() || self.unread != before {
                    tracing::error!(hint = error.hint, "tokens unchanged: failed to {error}");
                }
            }
        }
    }
}

pub(super) fn tokens(config: &Config) -> Result<Vec<Token>, ConfigError> {
    Ok(config.tokens()?.iter().map(|(name, value)| Token::new(name, value)).collect())
}
