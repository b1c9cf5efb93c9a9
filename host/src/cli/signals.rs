//! What signals ask of a server: to end, or to read again what it was told.

use std::io::{self, IsTerminal as _};

use tokio::signal::unix::{Signal, SignalKind, signal};

use super::http::Renewable;
use crate::config::{Config, Live};
use crate::report::Failure;

fn listen(kind: SignalKind) -> Result<Signal, Failure> {
    signal(kind).map_err(|error| Failure::new(format!("listen for signals: {error}")))
}

/// Ready at the first SIGTERM or SIGINT, or when the terminal is gone on which the server was
/// started; a second signal ends the process at once. At another SIGHUP the configuration is read
/// again, with the secrets and tokens that it names and the certificate.
pub(super) fn shutdown(config: Live, http: Option<Renewable>) -> Result<impl Future<Output = ()>, Failure> {
    let mut terminate = listen(SignalKind::terminate())?;
    let mut interrupt = listen(SignalKind::interrupt())?;
    let mut hangup = listen(SignalKind::hangup())?;
    let terminal = Terminal::at_start();
    Ok(async move {
        loop {
            tokio::select! {
                _ = terminate.recv() => break,
                _ = interrupt.recv() => break,
                _ = hangup.recv() => {
                    if terminal.is_gone() {
                        break;
                    }
                    read_again(&config, http.as_ref());
                }
            }
        }
        tokio::spawn(async move {
            // A terminal that goes may say so more than once.
            let code = tokio::select! {
                _ = terminate.recv() => 143,
                _ = interrupt.recv() => 130,
            };
            std::process::exit(code)
        });
    })
}

fn read_again(config: &Live, http: Option<&Renewable>) {
    tracing::info!("reading the configuration again, as SIGHUP asks");
    config.read_again();
    let (Some(http), Some(file)) = (http, config.get().file.clone()) else { return };
    // What is wrong with the file is told by who follows it.
    if let Ok(config) = Config::read(&file) {
        http.read_again(&config);
    }
}

/// Which of the standard streams were a terminal.
struct Terminal([bool; 3]);

impl Terminal {
    fn at_start() -> Self {
        Self(Self::now())
    }

    /// Nobody is at the other end any more.
    fn is_gone(&self) -> bool {
        self.0.iter().zip(Self::now()).any(|(was, is)| *was && !is)
    }

    fn now() -> [bool; 3] {
        [io::stdin().is_terminal(), io::stdout().is_terminal(), io::stderr().is_terminal()]
    }
}
