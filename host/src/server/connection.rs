//! One client on one stream: frames in, messages out.
//!
//! It separates handshake revisions from stateless ones, keeps the handshake's state, and ensures
//! that each request gets one response or, when cancelled, none. It does not know the transport.

mod batch;
mod dispatch;

use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use futures_util::FutureExt as _;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio_util::sync::CancellationToken;

use super::Server;
use super::bounds::Bounds;
use super::changes::{Changes, Followers, Stream, Wanted};
use super::handlers::{Answer, Later, Reply, subscriptions};
use super::in_flight::InFlight;
use super::outgoing::Outgoing;
use super::pending::PendingRequests;
use super::request_budget::{RequestBudget, RequestBytes};
use super::session::Session;
use super::unread::Unread;
use crate::inline::poll_inline;
use crate::jsonrpc::encode::UnreadableId;
use crate::jsonrpc::{self, Frame, Invalid, Message, Notification, Request, RequestId};
use crate::protocol::headers::Headers;
use crate::protocol::meta::LastMeta;
use crate::protocol::{ClientNotification, ErrorObject, Revision, era, error};

/// How long `initialize` and `server/discover` wait for the first listing of the plugin files.
const FILE_LIST_TIMEOUT: Duration = Duration::from_secs(1);
/// At shutdown, how long requests that were cut off have to send their error.
const CUT_OFF_GRACE: Duration = Duration::from_secs(1);
/// Responses up to this many bytes are always kept: the error that replaces them would be as long.
const ALWAYS_KEPT: usize = 4 << 10;

/// A frame's origin, and where its responses go.
struct Arrival<'a> {
    stream: &'a mpsc::Sender<Outgoing>,
    era: Era<'a>,
    /// Bytes of the whole frame.
    size: usize,
    /// The client reads messages that precede the response, so it can be sent requests.
    accepts_stream: bool,
    /// The transport has further frames ready.
    more: bool,
}

/// What the transport knows about the era of a frame.
#[derive(Clone, Copy)]
enum Era<'a> {
    /// Each request states its own.
    Either,
    /// The connection's handshake.
    Handshake,
    /// No session; the headers must match the request.
    Stateless(&'a Arc<Headers>),
}

/// A response that was ready without waiting, and the resources its request holds.
pub struct Answered {
    pub message: Outgoing,
    held: Option<Reservation>,
}

/// The resources that a request holds until its response has been sent.
struct Reservation {
    _bytes: RequestBytes,
    _listen: Option<OwnedSemaphorePermit>,
}

impl Answered {
    fn now(message: Outgoing) -> Option<Self> {
        Some(Self { message, held: None })
    }

    /// Sends it to `stream`; until then its request counts as running.
    pub async fn send(self, stream: &mpsc::Sender<Outgoing>) {
        send(stream, self.message).await;
        drop(self.held);
    }

    /// Whether it counts against the limit of running requests, so that it may wait while further
    /// requests are read.
    pub fn is_counted(&self) -> bool {
        self.held.is_some()
    }
}

/// The outcome of admitting a request.
enum Admitted {
    /// Its response, or an error.
    Now(Outgoing),
    /// A future of the response, or of `None` when it is cancelled.
    Work(Work),
}

type Work = Pin<Box<dyn Future<Output = Option<Answered>> + Send>>;

/// If the receiver is closed the message is dropped: the transport is shutting down.
async fn send(stream: &mpsc::Sender<Outgoing>, message: Outgoing) {
    let _ = stream.send(message).await;
}

pub struct Connection {
    server: Arc<Server>,
    outbox: mpsc::Sender<Outgoing>,
    session: Mutex<Option<Session>>,
    last_meta: Mutex<LastMeta>,
    principal: Arc<str>,
    caller: Arc<str>,
    in_flight: InFlight,
    pending: Arc<PendingRequests>,
    request_budget: RequestBudget,
    bounds: Arc<Bounds>,
    listen_streams: Arc<Semaphore>,
    followers: Arc<Followers>,
    closing: CancellationToken,
    /// Cancelled when running requests must end with an error: the server shuts down.
    cut_off: CancellationToken,
}

impl Server {
    /// Opens a connection for one client. All messages for it are sent to `outbox`, one whole
    /// message each; a full outbox applies backpressure to the reading of requests.
    ///
    /// `principal` is the client's authenticated identity, or a default.
    pub fn connect(self: &Arc<Self>, outbox: mpsc::Sender<Outgoing>, principal: &str) -> Arc<Connection> {
        let principal: Arc<str> = principal.into();
        Connection::new(self.clone(), outbox, principal.clone(), principal)
    }

    /// As [`Self::connect`], for one of several clients with the same principal: `caller` is the
    /// key of fair sharing.
    pub fn connect_for(
        self: &Arc<Self>,
        outbox: mpsc::Sender<Outgoing>,
        principal: &str,
        caller: &Arc<str>,
    ) -> Arc<Connection> {
        Connection::new(self.clone(), outbox, principal.into(), caller.clone())
    }
}

impl Connection {
    pub(super) fn new(
        server: Arc<Server>,
        outbox: mpsc::Sender<Outgoing>,
        principal: Arc<str>,
        caller: Arc<str>,
    ) -> Arc<Self> {
        let settings = &server.settings;
        let unread = server.unread.of(&caller, settings.unread);
        Arc::new(Self {
            request_budget: RequestBudget::new(settings.waiting, server.large.clone()),
            bounds: Arc::new(Bounds::new(unread, settings.in_flight, settings.patience)),
            listen_streams: Arc::new(Semaphore::new(settings.listen_streams)),
            cut_off: server.cut_off.child_token(),
            server,
            outbox,
            session: Mutex::default(),
            last_meta: Mutex::default(),
            principal,
            caller,
            in_flight: InFlight::default(),
            pending: Arc::default(),
            followers: Arc::default(),
            closing: CancellationToken::new(),
        })
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
        answered.send(&self.outbox).await;
    }

    /// As [`Self::receive`], but returns a response that is ready at once for the caller to send.
    /// With `more` frames ready the request is spawned without being polled first.
    pub async fn begin(self: &Arc<Self>, frame: &[u8], more: bool) -> Option<Answered> {
        let arrival = Arrival { stream: &self.outbox, era: Era::Either, size: frame.len(), accepts_stream: true, more };
        match jsonrpc::decode(frame) {
            Ok(frame) => self.take(&arrival, frame).await,
            Err(invalid) => Answered::now(self.refusal(&invalid)),
        }
    }

    /// Handles the frame of a POST whose era has been decided; `headers` are those of a stateless
    /// one. A response that is ready at once is returned for the caller to send; all other messages
    /// of the frame go to `stream`, which is closed after the last. `size`: the frame's bytes;
    /// `accepts_stream`: the client reads messages that precede the response.
    pub async fn receive_post(
        self: &Arc<Self>,
        frame: Frame<'_>,
        size: usize,
        headers: Option<&Arc<Headers>>,
        stream: &mpsc::Sender<Outgoing>,
        accepts_stream: bool,
    ) -> Option<Answered> {
        let era = headers.map_or(Era::Handshake, Era::Stateless);
        self.take(&Arrival { stream, era, size, accepts_stream, more: false }, frame).await
    }

    async fn take(self: &Arc<Self>, arrival: &Arrival<'_>, frame: Frame<'_>) -> Option<Answered> {
        match frame {
            Frame::Single(message) => self.receive_one(arrival, message).await,
            Frame::Batch(messages) => self.receive_batch(arrival, messages),
        }
    }

    /// Cancels all running requests: the client has disconnected.
    pub fn abandon(&self) {
        self.closing.cancel();
        self.in_flight.cancel_all();
    }

    /// The error for a frame that was too long to be read.
    pub fn refuse_oversized(&self, limit: usize) -> Option<Answered> {
        let detail = format!("the message is longer than the limit of {limit} bytes");
        let error = ErrorObject::invalid_request("message_too_long", &detail);
        Answered::now(self.refusal(&Invalid { id: None, error }))
    }

    /// Ends the listen streams with their results, gives running requests `grace` to finish, and
    /// answers those that remain with a `shutting_down` error.
    pub async fn close(&self, grace: Duration) {
        self.closing.cancel();
        if tokio::time::timeout(grace, self.in_flight.idle()).await.is_err() {
            self.cut_off.cancel();
            // A request whose task is no longer polled cannot answer.
            let _ = tokio::time::timeout(CUT_OFF_GRACE, self.in_flight.idle()).await;
        }
        self.in_flight.cancel_all();
    }

    /// The accounting of this client's unread bytes.
    pub fn unread(&self) -> &Unread {
        &self.bounds.unread
    }

    /// The changes from now on for a stream of this connection; `subscription`: the id of the
    /// request that opened it, as JSON.
    pub(super) fn changes(&self, wanted: Wanted, subscription: Option<Arc<str>>) -> Changes {
        let stream = Stream { outbox: self.outbox.clone(), bounds: self.bounds.clone(), subscription };
        Changes::from_now(&self.server, wanted, stream)
    }

    pub(super) fn followers(&self) -> &Followers {
        &self.followers
    }

    /// Cancelled when the connection begins to close.
    pub(super) fn closing(&self) -> &CancellationToken {
        &self.closing
    }

    pub fn server(&self) -> &Arc<Server> {
        &self.server
    }

    /// The client's authenticated identity, or a default.
    pub fn principal(&self) -> &str {
        &self.principal
    }

    /// Sends a message to the connection's own stream.
    pub(super) async fn send(&self, mut message: Outgoing) {
        message.hold(self.unread());
        send(&self.outbox, message).await;
    }

    async fn receive_one(self: &Arc<Self>, arrival: &Arrival<'_>, message: Message<'_>) -> Option<Answered> {
        let request = match message {
            Message::Request(request) => request,
            Message::Notification(notification) => {
                self.handle_notification(&notification);
                return None;
            }
            Message::Response(response) => {
                self.pending.resolve(response);
                return None;
            }
            Message::Invalid(invalid) => return Answered::now(self.refusal(&invalid)),
        };
        // Capabilities depend on which plugin files exist.
        if matches!(&*request.method, "initialize" | "server/discover") {
            self.server.catalog.files_known(FILE_LIST_TIMEOUT).await;
        }
        self.start(arrival, request)
    }

    /// Polls a request once on this thread, and spawns it if it is pending.
    fn start(self: &Arc<Self>, arrival: &Arrival<'_>, request: Request<'_>) -> Option<Answered> {
        let mut work = match self.admit(arrival, request) {
            Admitted::Now(message) => return Answered::now(message),
            Admitted::Work(work) => work,
        };
        if !arrival.more {
            work = match poll_inline(work) {
                Ok(answered) => return answered,
                Err(pending) => pending,
            };
        }
        let (stream, bounds) = (arrival.stream.clone(), self.bounds.clone());
        tokio::spawn(async move {
            if let Some(mut answered) = work.await {
                answered.message.hold(&bounds.unread);
                answered.send(&stream).await;
            }
        });
        None
    }

    /// Admits a request: every request, single or in a batch, passes here.
    fn admit(self: &Arc<Self>, arrival: &Arrival<'_>, request: Request<'_>) -> Admitted {
        let refuse = |error| Admitted::Now(Outgoing::answer(&request.id, Err(error)));
        // Also for immediate responses: an id must not be answered twice.
        if self.in_flight.has(&request.id) {
            return refuse(error::id_in_use());
        }
        let cancelled = CancellationToken::new();
        let (listen, later, grace) = match self.dispatch(arrival, &request, &cancelled) {
            Reply::Now(answer) => return Admitted::Now(self.answer_to(&request.id, answer)),
            Reply::Refused(error) => {
                return Admitted::Now(Outgoing::error(Some(&request.id), UnreadableId::Omit, &error, true));
            }
            Reply::Later(later) => (None, later, self.server.settings.cancel_grace),
            Reply::Listen(later) => match self.listen_streams.clone().try_acquire_owned() {
                // No message may follow its cancellation.
                Ok(listen) => (Some(listen), later, Duration::ZERO),
                Err(_) => {
                    return refuse(error::internal("too_many_listens", "this connection has too many listen streams"));
                }
            },
        };
        let Some(bytes) = self.request_budget.try_take(arrival.size) else { return refuse(error::too_many_requests()) };
        if !self.in_flight.start(&request.id, cancelled.clone()) {
            return refuse(error::id_in_use());
        }
        let this = self.clone();
        let held = Reservation { _bytes: bytes, _listen: listen };
        Admitted::Work(Box::pin(async move {
            let message = this.run(request.id, later, cancelled, grace).await?;
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
                self.server.cut_off_count.fetch_add(1, Ordering::Relaxed);
                Ok(Err(error::shutting_down()))
            }
        };
        let answer = answer.unwrap_or_else(|_| {
            tracing::error!("a request handler panicked");
            Err(error::internal("host_error", "internal host error while handling this request"))
        });
        // Removing the request is the right to answer it: a cancellation may have won the race.
        self.in_flight.finish(&id).then(|| self.answer_to(&id, answer))
    }

    /// Encodes the response; a large one that exceeds the unread limit becomes an error.
    fn answer_to(&self, id: &RequestId, answer: Answer) -> Outgoing {
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
                    tokio::spawn(subscriptions::announce(self.clone(), session.uris.clone()));
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
        self.session.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn last_meta(&self) -> MutexGuard<'_, LastMeta> {
        self.last_meta.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}
