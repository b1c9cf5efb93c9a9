//! Signals of a server: shutdown and reload.

use std::io::{self, IsTerminal as _};

use super::http::Renewable;
use crate::config::{Config, Live};
use crate::os::signals::{self, Asked};
use crate::report::Failure;

/// The installed signal handlers.
pub(super) struct Signals {
    signals: signals::Signals,
    terminal: Terminal,
}

impl Signals {
    /// # Errors
    /// If no handler can be installed.
    pub(super) fn listen() -> Result<Self, Failure> {
        let signals =
            signals::Signals::listen().map_err(|error| Failure::new(format!("listen for signals: {error}")))?;
        Ok(Self { signals, terminal: Terminal::now() })
    }

    /// Ready at the first SIGTERM or SIGINT, or when the terminal is gone on which the server was
    /// started; the next SIGTERM or SIGINT ends the process at once. At another SIGHUP the
    /// configuration is read again, with the secrets and tokens that it names and the certificate.
    pub(super) async fn shutdown(mut self, config: Live, http: Option<Renewable>) {
        loop {
            match self.signals.next().await {
                Asked::End(_) => break,
                Asked::HangUp if self.terminal.is_gone() => break,
                Asked::HangUp => read_again(&config, http.as_ref()),
            }
        }
        tokio::spawn(async move {
            loop {
                if let Asked::End(code) = self.signals.next().await {
                    std::process::exit(code)
                }
            }
        });
    }
}

fn read_again(config: &Live, http: Option<&Renewable>) {
    tracing::info!("SIGHUP: reloading the configuration");
    config.reload();
    let (Some(http), Some(file)) = (http, config.get().file.clone()) else { return };
    // Errors of the file are reported by the reload task.
    if let Ok(config) = Config::read(&file) {
        http.read_again(&config);
    }
}

/// Which of the standard streams were a terminal.
struct Terminal([bool; 3]);

impl Terminal {
    /// Whether the other end was closed.
    fn is_gone(&self) -> bool {
        self.0.iter().zip(Self::now().0).any(|(was, is)| *was && !is)
    }

    fn now() -> Self {
        Self([io::stdin().is_terminal(), io::stdout().is_terminal(), io::stderr().is_terminal()])
    }
}
