//! The connection that all requests of a process share: made when it is needed, and again when it is lost.

use std::sync::Arc;
use std::time::Duration;

use serde::de::DeserializeOwned;
use tokio::sync::{Mutex, Semaphore};
use tokio::time::{Instant, sleep, timeout, timeout_at};

use super::failure::{self, ApiError, Failed};
use super::session::Session;
use super::settings::{Address, NatsSettings};
use super::wire::Message;
use super::{api, streams};
use crate::store::StoreError;
use crate::store::tls::{SET_CA, connector};

/// Requests of one process at the same time; more wait for these.
const AT_ONCE: usize = 64;
/// How long nobody may be there to answer: a cluster elects the leader of a stream, or has not told all of its servers.
const ELECTION: Duration = Duration::from_secs(2);
const AGAIN: Duration = Duration::from_millis(50);

/// What all that use the server share.
pub(super) struct Link {
    pub(super) settings: NatsSettings,
    slot: Mutex<Slot>,
    room: Semaphore,
}

#[derive(Default)]
struct Slot {
    session: Option<Arc<Session>>,
    /// When the last attempt failed, and why: for those who have waited for it.
    failed: Option<(Instant, StoreError)>,
}

impl Link {
    pub(super) fn new(settings: NatsSettings) -> Arc<Self> {
        Arc::new(Self { settings, slot: Mutex::default(), room: Semaphore::new(AT_ONCE) })
    }

    /// Until when there is an answer or an error to what begins now.
    pub(super) fn deadline(&self) -> Instant {
        Instant::now() + self.settings.connect_timeout + self.settings.request_timeout
    }

    /// The connection, which is made if there is none.
    ///
    /// # Errors
    /// If it cannot be made.
    pub(super) async fn session(&self, deadline: Instant) -> Result<Arc<Session>, StoreError> {
        let asked = Instant::now();
        let Ok(mut slot) = timeout_at(deadline, self.slot.lock()).await else {
            return Err(failure::timeout(&self.settings, "there was no connection", deadline - asked));
        };
        if let Some(session) = slot.session.as_ref().filter(|session| !session.is_closed()) {
            return Ok(session.clone());
        }
        if let Some((_, error)) = slot.failed.as_ref().filter(|(when, _)| *when >= asked) {
            return Err(error.clone());
        }
        let opened = timeout_at(deadline, self.open()).await;
        let late = |_| Err(failure::timeout(&self.settings, "there was no connection", deadline - asked));
        match opened.unwrap_or_else(late) {
            Ok(session) => {
                slot.session = Some(session.clone());
                Ok(session)
            }
            Err(error) => {
                (slot.session, slot.failed) = (None, Some((Instant::now(), error.clone())));
                Err(error)
            }
        }
    }

    /// Tries one server after the other, each with an equal share of the time.
    async fn open(&self) -> Result<Arc<Session>, StoreError> {
        let settings = &self.settings;
        let tls = if settings.with_tls {
            let ca = settings.ca.clone();
            let made = tokio::task::spawn_blocking(move || connector(ca.as_deref())).await;
            let made = made.map_err(|error| error.to_string()).flatten();
            Some(made.map_err(|why| failure::with_advice(&why, settings, SET_CA))?)
        } else {
            None
        };
        let share = settings.connect_timeout / settings.servers.len() as u32;
        let mut last = None;
        for server in &settings.servers {
            let opened = timeout(share, open_at(settings, server, tls.as_ref())).await;
            match opened.unwrap_or_else(|_| Err(failure::timeout(settings, "there was no connection", share))) {
                Ok(session) => return Ok(session),
                Err(error) => last = Some(error),
            }
        }
        Err(last.unwrap_or_else(|| failure::closed("there is no server", settings)))
    }

    /// Sends a request, and waits for its answer.
    ///
    /// # Errors
    /// If there is none in time.
    pub(super) async fn request(
        &self,
        deadline: Instant,
        subject: &str,
        headers: &[(&str, String)],
        payload: &[u8],
    ) -> Result<Message, StoreError> {
        let settings = &self.settings;
        let Ok(room) = timeout_at(deadline, self.room.acquire()).await else {
            let why = format!("{AT_ONCE} other requests have no answer");
            return Err(failure::with_advice(&why, settings, failure::IS_IT_THERE));
        };
        // Not an error: the semaphore is never closed.
        let _room = room.map_err(|error| StoreError(error.to_string()))?;
        let session = self.session(deadline).await?;
        let asked = Instant::now();
        let time = settings.request_timeout.min(deadline.saturating_duration_since(asked));
        let request = async {
            loop {
                match session.request(subject, headers, payload).await {
                    // Nothing was done.
                    Err(Failed::Nobody) if asked.elapsed() < ELECTION => sleep(AGAIN).await,
                    answer => return answer,
                }
            }
        };
        match timeout(time, request).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(failed)) => {
                if matches!(failed, Failed::Nobody | Failed::Malformed(_)) {
                    // The streams may be gone: the next one looks, and makes them.
                    session.close("JetStream did not answer");
                }
                Err(failure::of(&failed, settings))
            }
            Err(_) => {
                let error = failure::timeout(settings, "there was no answer", settings.request_timeout);
                // Another connection may reach a server that is well.
                session.close("there was no answer to another request");
                Err(error)
            }
        }
    }

    /// A request to JetStream; what it answers, or says is wrong.
    ///
    /// # Errors
    /// As [`Self::request`].
    pub(super) async fn ask<T: DeserializeOwned>(
        &self,
        deadline: Instant,
        subject: &str,
        headers: &[(&str, String)],
        payload: &[u8],
    ) -> Result<Result<T, ApiError>, StoreError> {
        let answer = self.request(deadline, subject, headers, payload).await?;
        let read = api::read(&answer).map_err(|failed| failure::of(&failed, &self.settings))?;
        if let Err(error) = &read
            && error.is_of_the_connection()
        {
            self.close(&failure::of_api(error, &self.settings).0).await;
        }
        Ok(read)
    }

    /// The error of a request that JetStream refused.
    pub(super) fn refused(&self, error: &ApiError) -> StoreError {
        failure::of_api(error, &self.settings)
    }

    async fn close(&self, why: &str) {
        if let Some(session) = self.slot.lock().await.session.take() {
            session.close(why);
        }
    }
}

async fn open_at(
    settings: &NatsSettings,
    server: &Address,
    tls: Option<&tokio_rustls::TlsConnector>,
) -> Result<Arc<Session>, StoreError> {
    let session = Session::open(settings, server, tls).await.map_err(|failed| failure::of(&failed, settings))?;
    streams::prepare(&session, settings).await?;
    Ok(session)
}
