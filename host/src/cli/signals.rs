//! Signals of a server: shutdown and reload.

use std::io::{self, IsTerminal as _};
use std::sync::Arc;

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::http::Reloadable;
use crate::config::{Config, Live};
use crate::os::signals::{self, Received};
use crate::report::Failure;

/// What the signals received so far demand.
#[derive(Clone)]
pub(super) struct Signals {
    shutdown: CancellationToken,
    reload: Arc<Notify>,
}

impl Signals {
    /// Receives signals from here on, in a task of its own, so that a start that is blocked does not
    /// hold them up. The first SIGTERM or SIGINT, or a SIGHUP because the server's terminal was closed,
    /// shuts down; the next SIGTERM or SIGINT ends the process at once. Any other SIGHUP reloads.
    ///
    /// # Errors
    /// If no handler can be installed.
    pub(super) fn listen() -> Result<Self, Failure> {
        let mut signals =
            signals::Signals::listen().map_err(|error| Failure::new(format!("listen for signals: {error}")))?;
        let (terminal, demanded) =
            (Terminal::now(), Self { shutdown: CancellationToken::new(), reload: Arc::default() });
        let Self { shutdown, reload } = demanded.clone();
        tokio::spawn(async move {
            loop {
                match signals.next().await {
                    Received::Terminate(code) if shutdown.is_cancelled() => std::process::exit(code),
                    Received::Terminate(_) => shutdown.cancel(),
                    Received::HangUp if terminal.was_closed() => shutdown.cancel(),
                    Received::HangUp => reload.notify_one(),
                }
            }
        });
        Ok(demanded)
    }

    /// Resolves when the server has to shut down.
    pub(super) async fn shutdown(&self) {
        self.shutdown.cancelled().await;
    }

    /// As [`Signals::shutdown`]. Until then, each SIGHUP reloads the configuration, the secrets and
    /// tokens that it names, and the certificate.
    pub(super) async fn shutdown_or_reload(self, config: Live, http: Option<Reloadable>) {
        loop {
            tokio::select! {
                () = self.shutdown.cancelled() => return,
                () = self.reload.notified() => reload(&config, http.as_ref()),
            }
        }
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
