//! Hears of writes by `LISTEN`.
//!
//! A notification is a hint, and none comes while there is no connection: after each connection, any key may have been
//! written.

use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::sync::broadcast::Sender;
use tokio::time::{sleep, timeout};
use tokio_postgres::AsyncMessage;

use super::failure;
use super::session::{Driver, Session};
use super::settings::PostgresSettings;
use super::statements::LISTEN;
use crate::store::{Changed, StoreError};

/// How often it is looked whether the server is there still.
const CHECKING: Duration = Duration::from_secs(5);
/// How soon a lost connection is tried again, at first and later.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_millis(300);

/// Until it is cancelled.
pub(super) async fn listen(settings: PostgresSettings, changes: Sender<Changed>) {
    let mut pause = FIRST_PAUSE;
    let mut is_lost = false;
    loop {
        match connect(&settings, &changes).await {
            Ok((session, ended)) => {
                if is_lost {
                    tracing::info!("the store answers again: {settings}");
                }
                (pause, is_lost) = (FIRST_PAUSE, false);
                // An error means that nobody watches any more.
                let _ = changes.send(Changed::All);
                while is_alive(&session, &settings).await && timeout(CHECKING, ended.notified()).await.is_err() {}
            }
            Err(error) if !is_lost => {
                tracing::warn!(%error, "failed to watch the store, which is tried until it answers");
                is_lost = true;
            }
            Err(_) => {}
        }
        sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

async fn is_alive(session: &Session, settings: &PostgresSettings) -> bool {
    matches!(timeout(settings.request_timeout, session.execute("")).await, Ok(Ok(())))
}

/// A connection that reports, and what is told when it has ended.
async fn connect(settings: &PostgresSettings, changes: &Sender<Changed>) -> Result<(Session, Arc<Notify>), StoreError> {
    let (changes, ended) = (changes.clone(), Arc::new(Notify::new()));
    let told = ended.clone();
    let reporting = |driver| async move {
        report(driver, changes).await;
        told.notify_one();
    };
    let session = Session::open(settings, reporting).await?;
    let listening = timeout(settings.request_timeout, session.execute(LISTEN)).await;
    let listening = listening.map_err(|_| {
        let time = humantime::format_duration(settings.request_timeout);
        failure::timeout(settings, "there was no answer", time)
    })?;
    listening.map_err(|error| failure::of(&error, settings))?;
    Ok((session, ended))
}

/// Polls the connection until it ends.
async fn report(mut driver: Driver, changes: Sender<Changed>) {
    while let Some(Ok(message)) = poll_fn(|context| driver.poll_message(context)).await {
        if let AsyncMessage::Notification(notification) = message {
            // As above.
            let _ = changes.send(Changed::Key(notification.payload().to_owned()));
        }
    }
}
