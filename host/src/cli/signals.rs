//! Signals of a server: shutdown and reload.

use std::io::{self, IsTerminal as _};

use super::http::Reloadable;
use crate::config::{Config, Live};
use crate::os::signals::{self, Received};
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

    /// Resolves at the first SIGTERM or SIGINT, or at a SIGHUP because the server's terminal was closed.
    /// The next SIGTERM or SIGINT then ends the process at once. Any other SIGHUP reloads the
    /// configuration, the secrets and tokens that it names, and the certificate.
    pub(super) async fn shutdown(mut self, config: Live, http: Option<Reloadable>) {
        loop {
            match self.signals.next().await {
                Received::Terminate(_) => break,
                Received::HangUp if self.terminal.was_closed() => break,
                Received::HangUp => reload(&config, http.as_ref()),
            }
        }
        tokio::spawn(async move {
            loop {
                if let Received::Terminate(code) = self.signals.next().await {
                    std::process::exit(code)
                }
            }
        });
    }
}

fn reload(config: &Live, http: Option<&Reloadable>) {
    tracing::info!("SIGHUP: reloading the configuration");
    config.reload();
    let (Some(http), Some(file)) = (http, config.get().file.clone()) else { return };
    // Errors of the file are reported by the reload task.
    if let Ok(config) = Config::read(&file) {
        http.reload(&config);
    }
}

/// Which of the standard streams are a terminal.
struct Terminal([bool; 3]);

impl Terminal {
    /// Whether one of them was a terminal then, and is not any more.
    fn was_closed(&self) -> bool {
        self.0.iter().zip(Self::now().0).any(|(was, is)| *was && !is)
    }

    fn now() -> Self {
        Self([io::stdin().is_terminal(), io::stdout().is_terminal(), io::stderr().is_terminal()])
    }
}
