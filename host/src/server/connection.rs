//! One client on one stream: frames in, messages out.
//!
//! It parts the two eras of the protocol, keeps the handshake's state, and sees that each
//! request gets one answer or, when cancelled, none. It does not know what carries the frames.

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
use super::asked::Asked;
use super::bounds::Bounds;
use super::handlers::{Answer, Later, Reply, subscriptions};
use super::in_flight::InFlight;
use super::outgoing::Outgoing;
use super::room::{Room, Taken};
use super::session::Session;
use super::unread::Unread;
use crate::inline::poll_inline;
use crate::jsonrpc::encode::UnreadableId;
use crate::jsonrpc::{self, Frame, Invalid, Message, Notification, Request, RequestId};
use crate::protocol::headers::Headers;
use crate::protocol::meta::LastMeta;
use crate::protocol::{ClientNotification, ErrorObject, Revision, era, error};

/// How long who asks what there is waits until the names of the plugins' files are known.
const FIRST_LOOK: Duration = Duration::from_secs(1);
/// How long, at the end, those are waited for that have only to say that they were cut off.
const LAST_WORD: Duration = Duration::from_secs(1);
/// Bytes of an answer that is kept in any case: to say that it was not would take as many.
const SMALL: usize = 4 << 10;

/// How a frame came, and where what belongs to it goes.
struct Arrival<'a> {
    stream: &'a mpsc::Sender<Outgoing>,
    era: Era<'a>,
    /// Bytes of the whole frame.
    size: usize,
    /// The client reads what is said before the answer, so it can be asked.
    hears: bool,
    /// Whoever brings the frames has more of them.
    more: bool,
}

/// What the transport knows of the era of a frame.
#[derive(Clone, Copy)]
enum Era<'a> {
    /// Each request says it itself.
    Either,
    /// That of the connection's handshake.
    Handshake,
    /// No session; what the headers say is compared with the request.
    Stateless(&'a Arc<Headers>),
}

/// An answer that was there before anybody had to wait for it, and what its request held.
pub struct Answered {
    pub message: Outgoing,
    held: Option<Held>,
}

/// What a request holds until its answer has been sent.
struct Held {
    _room: Taken,
    _listen: Option<OwnedSemaphorePermit>,
}

impl Answered {
    fn now(message: Outgoing) -> Option<Self> {
        Some(Self { message, held: None })
    }

    /// Puts it where the others go; as long as that takes, its request counts as running.
    pub async fn send(self, stream: &mpsc::Sender<Outgoing>) {
        send(stream, self.message).await;
        drop(self.held);
    }

    /// Whether requests that run are bounded by it, so that it may wait while others are read.
    pub fn is_counted(&self) -> bool {
        self.held.is_some()
    }
}

/// What becomes of a request.
enum Begun {
    /// It is answered, or refused.
    Now(Outgoing),
    /// To be polled until it is answered or, when cancelled, is not.
    Work(Work),
}

type Work = Pin<Box<dyn Future<Output = Option<Answered>> + Send>>;

/// If nobody takes messages any more it is dropped, and the transport is about to end.
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
    asked: Arc<Asked>,
    room: Room,
    bounds: Arc<Bounds>,
    listens: Arc<Semaphore>,
    closing: CancellationToken,
    /// What still runs is to be answered without a result: the server ends.
    cut_off: CancellationToken,
}

impl Server {
    /// Takes up one client. Everything that it is to read is put into `outbox`, one whole
    /// message each; a full outbox holds back the reading of requests.
    ///
    /// `principal` is who it is, as far as that is known.
    pub fn connect(self: &Arc<Self>, outbox: mpsc::Sender<Outgoing>, principal: &str) -> Arc<Connection> {
        let principal: Arc<str> = principal.into();
        Connection::new(self.clone(), outbox, principal.clone(), principal)
    }

    /// As [`Self::connect`], for one of several clients that are the same principal: `caller` is
    /// the key under which they share fairly.
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
            room: Room::new(settings.waiting, server.large.clone()),
            bounds: Arc::new(Bounds::new(unread, settings.in_flight, settings.patience)),
            listens: Arc::new(Semaphore::new(settings.listens)),
            cut_off: server.cut_off.child_token(),
            server,
            outbox,
            session: Mutex::default(),
            last_meta: Mutex::default(),
            principal,
            caller,
            in_flight: InFlight::default(),
            asked: Arc::default(),
            closing: CancellationToken::new(),
        })
    }

    /// Takes one frame: a message, or a batch of them. Returns when it has been answered or
    /// is being worked on; waits while the client does not read what it is sent, and for
    /// nothing else: an answer that a running request needs may come next.
    pub async fn receive(self: &Arc<Self>, frame: &[u8]) {
        if let Some(answered) = self.begin(frame, false).await {
            self.answer(answered).await;
        }
    }

    /// Puts an answer into the connection's own stream.
    pub async fn answer(&self, mut answered: Answered) {
        answered.message.hold(self.unread());
        answered.send(&self.outbox).await;
    }

    /// As [`Self::receive`], but an answer that is there at once is the caller's to send. It
    /// is not looked for where there are `more` frames to be read meanwhile.
    pub async fn begin(self: &Arc<Self>, frame: &[u8], more: bool) -> Option<Answered> {
        let arrival = Arrival { stream: &self.outbox, era: Era::Either, size: frame.len(), hears: true, more };
        match jsonrpc::decode(frame) {
            Ok(frame) => self.take(&arrival, frame).await,
            Err(invalid) => Answered::now(self.refusal(&invalid)),
        }
    }

    /// Takes the frame of a POST whose era has been decided: `headers` are those of one that belongs
    /// to no session. An answer that is there at once is the caller's
    /// to send; all else that belongs to the frame goes to `stream`, which is closed when all
    /// of that has been sent. `size`: its bytes; `hears`: the client reads what is said
    /// before the answer.
    pub async fn receive_post(
        self: &Arc<Self>,
        frame: Frame<'_>,
        size: usize,
        headers: Option<&Arc<Headers>>,
        stream: &mpsc::Sender<Outgoing>,
        hears: bool,
    ) -> Option<Answered> {
        let era = headers.map_or(Era::Handshake, Era::Stateless);
        self.take(&Arrival { stream, era, size, hears, more: false }, frame).await
    }

    async fn take(self: &Arc<Self>, arrival: &Arrival<'_>, frame: Frame<'_>) -> Option<Answered> {
        match frame {
            Frame::Single(message) => self.receive_one(arrival, message).await,
            Frame::Batch(messages) => self.receive_batch(arrival, messages),
        }
    }

    /// Cancels everything that runs: the client is gone.
    pub fn abandon(&self) {
        self.closing.cancel();
        self.in_flight.cancel_all();
    }

    /// The answer to a frame that was too long to be read.
    pub fn refuse_oversized(&self, limit: usize) -> Option<Answered> {
        let detail = format!("the message is longer than the limit of {limit} bytes");
        let error = ErrorObject::invalid_request("message_too_long", &detail);
        Answered::now(self.refusal(&Invalid { id: None, error }))
    }

    /// Ends the listen streams with their results, gives running requests `grace` to finish,
    /// and cuts off the rest, which are told so.
    pub async fn close(&self, grace: Duration) {
        self.closing.cancel();
        if tokio::time::timeout(grace, self.in_flight.idle()).await.is_err() {
            self.cut_off.cancel();
            // What is not even polled any more is left.
            let _ = tokio::time::timeout(LAST_WORD, self.in_flight.idle()).await;
        }
        self.in_flight.cancel_all();
    }

    /// Where bytes are counted that wait for this client.
    pub fn unread(&self) -> &Unread {
        &self.bounds.unread
    }

    /// Cancelled when the connection is about to end.
    pub(super) fn closing(&self) -> &CancellationToken {
        &self.closing
    }

    pub fn server(&self) -> &Arc<Server> {
        &self.server
    }

    /// Who it is that asks.
    pub fn principal(&self) -> &str {
        &self.principal
    }

    /// Puts a message into the connection's own stream.
    pub(super) async fn send(&self, mut message: Outgoing) {
        message.hold(self.unread());
        send(&self.outbox, message).await;
    }

    async fn receive_one(self: &Arc<Self>, arrival: &Arrival<'_>, message: Message<'_>) -> Option<Answered> {
        let request = match message {
            Message::Request(request) => request,
            Message::Notification(notification) => {
                self.notice(&notification);
                return None;
            }
            Message::Response(response) => {
                self.asked.settle(response);
                return None;
            }
            Message::Invalid(invalid) => return Answered::now(self.refusal(&invalid)),
        };
        // What is offered hangs on the files there are.
        if matches!(&*request.method, "initialize" | "server/discover") {
            self.server.catalog.looked(FIRST_LOOK).await;
        }
        self.start(arrival, request)
    }

    /// Begins with a request here. What is not over before it has to wait goes on in a task.
    fn start(self: &Arc<Self>, arrival: &Arrival<'_>, request: Request<'_>) -> Option<Answered> {
        let mut work = match self.admit(arrival, request) {
            Begun::Now(message) => return Answered::now(message),
            Begun::Work(work) => work,
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

    /// The one gate of all requests: whether there is an answer at once, or work.
    fn admit(self: &Arc<Self>, arrival: &Arrival<'_>, request: Request<'_>) -> Begun {
        let refuse = |error| Begun::Now(Outgoing::answer(&request.id, Err(error)));
        // Also where the answer is there at once: two answers under one id are one too many.
        if self.in_flight.has(&request.id) {
            return refuse(error::id_in_use());
        }
        let cancelled = CancellationToken::new();
        let (listen, later, grace) = match self.dispatch(arrival, &request, &cancelled) {
            Reply::Now(answer) => return Begun::Now(self.answer_to(&request.id, answer)),
            Reply::Refused(error) => {
                return Begun::Now(Outgoing::error(Some(&request.id), UnreadableId::Omit, &error, true));
            }
            Reply::Later(later) => (None, later, self.server.settings.cancel_grace),
            Reply::Listen(later) => match self.listens.clone().try_acquire_owned() {
                // Nothing may follow its cancellation.
                Ok(listen) => (Some(listen), later, Duration::ZERO),
                Err(_) => {
                    return refuse(error::internal("too_many_listens", "this connection has too many listen streams"));
                }
            },
        };
        let Some(room) = self.room.take(arrival.size) else { return refuse(error::too_many_requests()) };
        if !self.in_flight.start(&request.id, cancelled.clone()) {
            return refuse(error::id_in_use());
        }
        let this = self.clone();
        let held = Held { _room: room, _listen: listen };
        Begun::Work(Box::pin(async move {
            let message = this.run(request.id, later, cancelled, grace).await?;
            Some(Answered { message, held: Some(held) })
        }))
    }

    /// Works on a request until it is answered or cancelled. What is cancelled may go on
    /// for `grace`; nobody hears of it.
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
                // Without grace not even once more.
                if !grace.is_zero() {
                    let _ = tokio::time::timeout(grace, later).await;
                }
                return None;
            }
            answer = &mut later => answer,
            () = self.cut_off.cancelled() => {
                self.server.cut.fetch_add(1, Ordering::Relaxed);
                Ok(Err(error::shutting_down()))
            }
        };
        let answer = answer.unwrap_or_else(|_| {
            tracing::error!("a request's handler panicked");
            Err(error::internal("host_error", "the host failed while it worked on this request"))
        });
        // Whoever takes the request out decides; a cancellation may have been first.
        self.in_flight.finish(&id).then(|| self.answer_to(&id, answer))
    }

    /// The answer as it is sent: a large one only if there is room for it to wait.
    fn answer_to(&self, id: &RequestId, answer: Answer) -> Outgoing {
        let mut message = Outgoing::answer(id, answer);
        if message.text.len() > SMALL && !message.try_hold(self.unread()) {
            tracing::debug!(bytes = message.text.len(), "an answer was not kept: its client does not read");
            return Outgoing::answer(id, Err(error::answer_not_kept(message.text.len())));
        }
        message
    }

    fn notice(self: &Arc<Self>, notification: &Notification<'_>) {
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

    /// The answer to what is no message.
    pub fn refusal(&self, invalid: &Invalid) -> Outgoing {
        let unreadable = self.revision().map_or(UnreadableId::Omit, Revision::unreadable_id);
        Outgoing::error(invalid.id.as_ref(), unreadable, &invalid.error, true)
    }

    /// What a handshake on this connection agreed on.
    pub fn revision(&self) -> Option<Revision> {
        self.session().as_ref().map(|session| session.revision)
    }

    /// Whether the client has said that it is, after its handshake.
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
