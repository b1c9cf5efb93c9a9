//! One client on one stream: frames in, messages out.
//!
//! It separates handshake revisions from stateless ones, keeps the handshake's state, and ensures
//! that each request gets one response or, when cancelled, none. It does not know the transport.

mod answered;
mod arrival;
mod batch;
mod dispatch;
mod in_flight;
pub(in crate::server) mod request_budget;
mod session;

use std::panic::AssertUnwindSafe;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use futures_util::FutureExt as _;
use tokio::sync::{Semaphore, mpsc};
use tokio_util::sync::CancellationToken;

use super::Server;
use super::bounds::Bounds;
use super::bounds::unread::Unread;
use super::client::pending::PendingRequests;
use super::handlers::subscriptions;
use super::measured::Measured;
use super::outgoing::Outgoing;
use super::own_stream::OwnStream;
use super::response::{Dispatched, Later, Response};
use crate::identity::Identity;
use crate::inline::poll_inline;
use crate::jsonrpc::encode::UnreadableId;
use crate::jsonrpc::{self, Frame, Invalid, Message, Notification, Request, RequestId};
use crate::protocol::meta::LastMeta;
use crate::protocol::{ClientNotification, ErrorObject, Revision, era, error};
use crate::sync::lock;
use answered::{Admission, Reservation};
use arrival::{Arrival, Era};
use in_flight::InFlight;
use request_budget::RequestBudget;
use session::Session;

pub use answered::Answered;
pub use arrival::Posted;

/// How long `initialize` and `server/discover` wait for the first listing of the plugin files.
const FILE_LIST_TIMEOUT: Duration = Duration::from_secs(1);
/// At shutdown, how long requests that were cut off have to send their error.
const CUT_OFF_GRACE: Duration = Duration::from_secs(1);
/// Responses up to this many bytes are always kept: the error that replaces them would be as long.
const ALWAYS_KEPT: usize = 4 << 10;

pub struct Connection {
    pub(super) own: OwnStream,
    session: Mutex<Option<Session>>,
    last_meta: Mutex<LastMeta>,
    /// Of frames without an identity of their own.
    identity: Arc<Identity>,
    caller: Arc<str>,
    in_flight: InFlight,
    pending: Arc<PendingRequests>,
    request_budget: RequestBudget,
    listen_streams: Arc<Semaphore>,
    /// Cancelled when running requests must end with an error: the server shuts down.
    cut_off: CancellationToken,
}

impl Server {
    /// Opens a connection for one client. All messages for it are sent to `outbox`, one whole
    /// message each; a full outbox applies backpressure to the reading of requests.
    ///
    /// The client shares fairly under the name of its identity.
    pub fn connect(self: &Arc<Self>, outbox: mpsc::Sender<Outgoing>, identity: &Arc<Identity>) -> Arc<Connection> {
        self.connect_for(outbox, identity, identity.name())
    }

    /// As [`Self::connect`], for one of several clients with the same identity: `caller` is the
    /// key of fair sharing.
    pub fn connect_for(
        self: &Arc<Self>,
        outbox: mpsc::Sender<Outgoing>,
        identity: &Arc<Identity>,
        caller: &Arc<str>,
    ) -> Arc<Connection> {
        Connection::new(self.clone(), outbox, identity.clone(), caller.clone())
    }
}

impl Connection {
    pub(super) fn new(
        server: Arc<Server>,
        outbox: mpsc::Sender<Outgoing>,
        identity: Arc<Identity>,
        caller: Arc<str>,
    ) -> Arc<Self> {
        let settings = &server.settings;
        let unread = server.unread.of(&caller, settings.unread);
        Arc::new(Self {
            request_budget: RequestBudget::new(settings.waiting, server.large.clone()),
            listen_streams: Arc::new(Semaphore::new(settings.listen_streams)),
            cut_off: server.cut_off.child_token(),
            own: OwnStream {
                bounds: Arc::new(Bounds::new(unread, settings.in_flight, settings.patience)),
                server,
                outbox,
                followers: Arc::default(),
                identity: Arc::new(Mutex::new(identity.clone())),
                closing: CancellationToken::new(),
            },
            session: Mutex::default(),
            last_meta: Mutex::default(),
            identity,
            caller,
            in_flight: InFlight::default(),
            pending: Arc::default(),
        })
    }

    /// Makes it one of another caller, with nothing of the one before; less work than a new one. `false`: something
    /// uses it still.
    pub fn hand_over(self: &mut Arc<Self>, identity: &Arc<Identity>, caller: &Arc<str>) -> bool {
        let Some(connection) = Arc::get_mut(self) else { return false };
        // Destructured in full, so that nothing is handed over by mistake.
        let Self {
            own: OwnStream { server, outbox: _, bounds, followers, identity: sender, closing },
            session,
            // What was parsed of a text, for an equal text.
            last_meta: _,
            identity: own_identity,
            caller: own_caller,
            in_flight,
            pending,
            // Of the network connection, whoever sends.
            request_budget: _,
            listen_streams: _,
            cut_off: _,
        } = connection;
        let (Some(bounds), Some(_), Some(_), Some(sender)) =
            (Arc::get_mut(bounds), Arc::get_mut(followers), Arc::get_mut(pending), Arc::get_mut(sender))
        else {
            return false;
        };
        if closing.is_cancelled() || !in_flight.is_empty() || lock(session).is_some() {
            return false;
        }
        bounds.unread = server.unread.handed_over(&bounds.unread, caller);
        *sender = Mutex::new(identity.clone());
        (*own_identity, *own_caller) = (identity.clone(), caller.clone());
        true
    }

    /// Handles one frame: a message or a batch. Returns when it has been answered or is running.
    /// Waits only while the client does not read: the next frame may be an answer that a running
    /// request needs.
    pub async fn receive(self: &Arc<Self>, frame: &[u8]) {
        if let Some(answered) = self.begin(frame, false).await {
            self.answer(answered).await;
        }
    }

    /// Sends a response to the connection's own stream.
    pub async fn answer(&self, mut answered: Answered) {
        answered.message.hold(self.unread());
        answered.send(&self.own.outbox).await;
    }

    /// As [`Self::receive`], but returns a response that is ready at once for the caller to send.
    /// With `more` frames ready the request is spawned without being polled first.
    pub async fn begin(self: &Arc<Self>, frame: &[u8], more: bool) -> Option<Answered> {
        let arrival = Arrival {
            stream: &self.own.outbox,
            era: Era::Either,
            identity: &self.identity,
            size: frame.len(),
            parent: None,
            accepts_stream: true,
            more,
        };
        match jsonrpc::decode(frame) {
            Ok(frame) => self.receive_frame(&arrival, frame).await,
            Err(invalid) => Answered::now(self.refusal(&invalid)),
        }
    }

    /// Handles the frame of a POST whose era has been decided, sent by `identity`. A response that is
    /// ready at once is returned for the caller to send; all other messages of the frame go to `stream`,
    /// which is closed after the last. `accepts_stream`: the client reads messages that precede the
    /// response.
    pub async fn receive_post(
        self: &Arc<Self>,
        identity: &Arc<Identity>,
        posted: Posted<'_>,
        stream: &mpsc::Sender<Outgoing>,
        accepts_stream: bool,
    ) -> Option<Answered> {
        let Posted { frame, size, headers, is_stateless } = posted;
        let era = if is_stateless { Era::Stateless(headers) } else { Era::Handshake };
        let arrival =
            Arrival { stream, era, identity, size, parent: headers.trace.as_ref(), accepts_stream, more: false };
        self.receive_frame(&arrival, frame).await
    }

    /// Cancels all running requests: the client has disconnected.
    pub fn abandon(&self) {
        self.own.closing.cancel();
        self.in_flight.cancel_all();
    }

    /// The error for a frame that was too long to be read.
    pub fn refuse_oversized(&self, limit: usize) -> Option<Answered> {
        let detail = format!("the message is longer than the limit of {limit} bytes");
        let error = ErrorObject::invalid_request("message_too_long", &detail);
        Answered::now(self.refusal(&Invalid { id: None, error }))
    }

    /// Ends the listen streams with their results.
    pub fn end_listens(&self) {
        self.own.closing.cancel();
    }

    /// As [`Self::end_listens`]; gives running requests `grace` to finish, and answers those that remain
    /// with a `shutting_down` error.
    pub async fn close(&self, grace: Duration) {
        self.end_listens();
        if tokio::time::timeout(grace, self.in_flight.idle()).await.is_err() {
            self.cut_off.cancel();
            // A request whose task is no longer polled cannot answer.
            let _ = tokio::time::timeout(CUT_OFF_GRACE, self.in_flight.idle()).await;
        }
        self.in_flight.cancel_all();
    }

    /// The accounting of this client's unread bytes.
    pub fn unread(&self) -> &Unread {
        &self.own.bounds.unread
    }

    pub fn server(&self) -> &Arc<Server> {
        &self.own.server
    }

    /// The client, as it connected: a later request may have a newer token.
    pub fn identity(&self) -> &Arc<Identity> {
        &self.identity
    }

    async fn receive_frame(self: &Arc<Self>, arrival: &Arrival<'_>, frame: Frame<'_>) -> Option<Answered> {
        let request = match frame {
            Frame::Batch(messages) => return self.receive_batch(arrival, messages),
            Frame::Single(Message::Request(request)) => request,
            Frame::Single(Message::Notification(notification)) => {
                self.handle_notification(&notification);
                return None;
            }
            Frame::Single(Message::Response(response)) => {
                self.pending.resolve(response);
                return None;
            }
            Frame::Single(Message::Invalid(invalid)) => return Answered::now(self.refusal(&invalid)),
        };
        // Capabilities depend on which plugin files exist.
        if matches!(&*request.method, "initialize" | "server/discover") {
            self.own.server.catalog.files_known(FILE_LIST_TIMEOUT).await;
        }
        self.start(arrival, request)
    }

    /// Polls a request once on this thread, and spawns it if it is pending.
    fn start(self: &Arc<Self>, arrival: &Arrival<'_>, request: Request<'_>) -> Option<Answered> {
        let mut work = match self.admit(arrival, request) {
            Admission::Now(message) => return Answered::now(message),
            Admission::Work(work) => work,
        };
        if !arrival.more {
            work = match poll_inline(work) {
                Ok(answered) => return answered,
                Err(pending) => pending,
            };
        }
        let (stream, bounds) = (arrival.stream.clone(), self.own.bounds.clone());
        tokio::spawn(async move {
            if let Some(mut answered) = work.await {
                answered.message.hold(&bounds.unread);
                answered.send(&stream).await;
            }
        });
        None
    }

    /// Admits a request: every request, single or in a batch, passes here.
    fn admit(self: &Arc<Self>, arrival: &Arrival<'_>, request: Request<'_>) -> Admission {
        let refuse = |error| Admission::Now(Outgoing::answer(&request.id, Err(error)));
        // Also for immediate responses: an id must not be answered twice.
        if self.in_flight.has(&request.id) {
            return refuse(error::id_in_use());
        }
        let cancelled = CancellationToken::new();
        let mut measured = Measured::begin(&self.own.server, &request.method);
        let (listen, later, grace) = match self.dispatch(arrival, &request, &cancelled, &mut measured) {
            Dispatched::Now(answer) => {
                measured.end(&answer);
                return Admission::Now(self.answer_to(&request.id, answer));
            }
            Dispatched::Refused(error) => {
                measured.refused(&error);
                return Admission::Now(Outgoing::error(Some(&request.id), UnreadableId::Omit, &error, true));
            }
            Dispatched::Later(later) => (None, later, self.own.server.settings.cancel_grace),
            Dispatched::Listen(later) => match self.listen_streams.clone().try_acquire_owned() {
                // No message may follow its cancellation.
                Ok(listen) => (Some(listen), later, Duration::ZERO),
                Err(_) => {
                    let error = error::internal("too_many_listens", "this connection has too many listen streams");
                    measured.refused(&error);
                    return refuse(error);
                }
            },
        };
        let Some(bytes) = self.request_budget.try_take(arrival.size) else {
            let error = error::too_many_requests();
            measured.refused(&error);
            return refuse(error);
        };
        if !self.in_flight.start(&request.id, cancelled.clone()) {
            let error = error::id_in_use();
            measured.refused(&error);
            return refuse(error);
        }
        let this = self.clone();
        let held = Reservation { _bytes: bytes, _listen: listen };
        Admission::Work(Box::pin(async move {
            let message = this.run(request.id, later, cancelled, grace, measured).await?;
            Some(Answered { message, held: Some(held) })
        }))
    }

    /// Runs a request until it is answered or cancelled. A cancelled one may continue for `grace`;
    /// its result is discarded.
    async fn run(
        &self,
        id: RequestId,
        later: Later,
        cancelled: CancellationToken,
        grace: Duration,
        measured: Measured,
    ) -> Option<Outgoing> {
        let mut later = AssertUnwindSafe(later).catch_unwind();
        let answer = tokio::select! {
            biased;
            () = cancelled.cancelled() => {
                // Without grace it is not polled again.
                if !grace.is_zero() {
                    let _ = tokio::time::timeout(grace, later).await;
                }
                return None;
            }
            answer = &mut later => answer,
            () = self.cut_off.cancelled() => {
                self.own.server.cut_off_count.fetch_add(1, Ordering::Relaxed);
                Ok(Err(error::shutting_down()))
            }
        };
        let answer = answer.unwrap_or_else(|_| {
            tracing::error!("a request handler panicked");
            Err(error::host_error())
        });
        measured.end(&answer);
        // Removing the request is the right to answer it: a cancellation may have won the race.
        self.in_flight.finish(&id).then(|| self.answer_to(&id, answer))
    }

    /// Encodes the response; a large one that exceeds the unread limit becomes an error.
    fn answer_to(&self, id: &RequestId, answer: Response) -> Outgoing {
        let mut message = Outgoing::answer(id, answer);
        if message.text.len() > ALWAYS_KEPT && !message.try_hold(self.unread()) {
            tracing::debug!(bytes = message.text.len(), "dropped a response: the client does not read");
            return Outgoing::answer(id, Err(error::answer_not_kept(message.text.len())));
        }
        message
    }

    fn handle_notification(self: &Arc<Self>, notification: &Notification<'_>) {
        let Some(revision) = era::notification(notification, self.revision()) else { return };
        match ClientNotification::parse(revision, &notification.method, notification.params) {
            Ok(ClientNotification::Cancelled { request_id, .. }) => self.in_flight.cancel(&request_id),
            Ok(ClientNotification::Initialized) => {
                if let Some(session) = self.session().as_mut()
                    && !std::mem::replace(&mut session.announcing, true)
                {
                    tokio::spawn(subscriptions::announce(self.own.clone(), session.uris.clone()));
                }
            }
            Ok(
                ClientNotification::Progress { .. } | ClientNotification::RootsListChanged | ClientNotification::Other,
            ) => {}
            Err(reason) => tracing::debug!(method = %notification.method, reason, "ignored a notification"),
        }
    }

    /// The error for an invalid message.
    pub fn refusal(&self, invalid: &Invalid) -> Outgoing {
        let unreadable = self.revision().map_or(UnreadableId::Omit, Revision::unreadable_id);
        Outgoing::error(invalid.id.as_ref(), unreadable, &invalid.error, true)
    }

    /// The revision negotiated by this connection's handshake.
    pub fn revision(&self) -> Option<Revision> {
        self.session().as_ref().map(|session| session.revision)
    }

    /// Whether the client has sent `notifications/initialized`.
    pub fn is_initialized(&self) -> bool {
        self.session().as_ref().is_some_and(|session| session.announcing)
    }

    fn session(&self) -> MutexGuard<'_, Option<Session>> {
        lock(&self.session)
    }

    fn last_meta(&self) -> MutexGuard<'_, LastMeta> {
        lock(&self.last_meta)
    }
}
