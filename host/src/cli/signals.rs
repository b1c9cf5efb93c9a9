//! Signals of a server: shutdown and reload.

use std::io::{self, IsTerminal as _, Read};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::reloadable::Reloadable;
use crate::config::Live;
use crate::os::signals::{self, Received};
use crate::report::Failure;

/// Interval between attempts to read tokens that the system could not read.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);

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

    /// Shuts down at the end of `input` too.
    ///
    /// # Errors
    /// If the thread that reads it cannot be started.
    pub(super) fn shut_down_at_end_of(&self, mut input: impl Read + Send + 'static) -> Result<(), Failure> {
        let shutdown = self.shutdown.clone();
        let read = move || {
            // After an error too, nobody holds the other end any more.
            let _ = io::copy(&mut input, &mut io::sink());
            shutdown.cancel();
        };
        let started = thread::Builder::new().name("stdin".to_owned()).spawn(read);
        started.map(drop).map_err(|error| Failure::new(format!("start a thread for stdin: {error}")))
    }

    /// Resolves when the server has to shut down.
    pub(super) async fn shutdown(&self) {
        self.shutdown.cancelled().await;
    }

    /// As [`Signals::shutdown`]. Until then, each SIGHUP reloads the configuration, the secrets and
    /// tokens that it names, and the certificate.
    pub(super) async fn shutdown_or_reload(self, config: Live, mut http: Option<Reloadable>) {
        let file = config.get().file.clone();
        loop {
            let http = http.as_mut().zip(file.as_deref());
            let is_unread = http.as_ref().is_some_and(|(http, _)| http.is_unread());
            tokio::select! {
                () = self.shutdown.cancelled() => return,
                () = self.reload.notified() => {
                    tracing::info!("SIGHUP: reloading the configuration");
                    config.reload();
                    if let Some((http, file)) = http {
                        http.reload(file);
                    }
                }
                () = tokio::time::sleep(RETRY_INTERVAL), if is_unread => {
                    if let Some((http, file)) = http {
                        http.reload_tokens(file);
                    }
                }
            }
        }
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
