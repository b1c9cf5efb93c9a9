//! One client on one stream: frames in, messages out.
//!
//! It parts the two eras of the protocol, keeps the handshake's state, and sees that each
//! request gets one answer or, when cancelled, none. It does not know what carries the frames.

use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use futures_util::FutureExt as _;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};
use tokio_util::sync::CancellationToken;

use super::Server;
use super::asked::Asked;
use super::client::Client;
use super::handlers::{Answer, Later, Reply, completions, custom, lifecycle, prompts, resources, subscriptions, tools};
use super::in_flight::InFlight;
use super::scope::{Scope, Verbosity};
use super::session::Session;
use crate::jsonrpc::encode::{self, UnreadableId};
use crate::jsonrpc::{self, Frame, Invalid, Message, Notification, Request, RequestId};
use crate::protocol::era::{self, Verdict};
use crate::protocol::{ClientNotification, ClientRequest, ErrorObject, Revision, error, meta};

/// Whoever has this end of a pipe; there is nobody to tell them apart by.
const LOCAL: &str = "local";
/// How long who asks what there is waits until the names of the plugins' files are known.
const FIRST_LOOK: Duration = Duration::from_secs(1);

pub struct Connection {
    server: Arc<Server>,
    outbox: mpsc::Sender<String>,
    session: Mutex<Option<Session>>,
    principal: Arc<str>,
    in_flight: InFlight,
    asked: Arc<Asked>,
    /// KiB of requests that may run or wait.
    waiting: Arc<Semaphore>,
    /// One for each request that may run.
    running: Arc<Semaphore>,
    listens: Arc<Semaphore>,
    closing: watch::Sender<bool>,
    calls: AtomicU64,
}

impl Connection {
    pub(super) fn new(server: Arc<Server>, outbox: mpsc::Sender<String>) -> Arc<Self> {
        let semaphore = |permits| Arc::new(Semaphore::new(permits));
        Arc::new(Self {
            waiting: semaphore(server.settings.waiting),
            running: semaphore(server.settings.in_flight),
            listens: semaphore(server.settings.listens),
            server,
            outbox,
            session: Mutex::default(),
            principal: LOCAL.into(),
            in_flight: InFlight::default(),
            asked: Arc::default(),
            closing: watch::Sender::new(false),
            calls: AtomicU64::new(0),
        })
    }

    /// Takes one frame: a message, or a batch of them. Returns when it has been answered or
    /// is being worked on; waits while the client does not read what it is sent, and for
    /// nothing else: an answer that a running request needs may come next.
    pub async fn receive(self: &Arc<Self>, frame: &[u8]) {
        match jsonrpc::decode(frame) {
            Ok(Frame::Single(message)) => self.receive_one(message, frame.len()).await,
            Ok(Frame::Batch(messages)) => self.receive_batch(messages, frame.len()).await,
            Err(invalid) => self.send(self.refusal(&invalid)).await,
        }
    }

    /// Answers to a frame that was too long to be read.
    pub async fn refuse_oversized(&self, limit: usize) {
        let detail = format!("the message is longer than the limit of {limit} bytes");
        let error = ErrorObject::invalid_request("message_too_long", &detail);
        self.send(self.refusal(&Invalid { id: None, error })).await;
    }

    /// Ends the listen streams with their results, gives running requests `grace` to finish,
    /// and cancels the rest.
    pub async fn close(&self, grace: Duration) {
        self.closing.send_replace(true);
        if tokio::time::timeout(grace, self.in_flight.idle()).await.is_err() {
            tracing::warn!("requests were still running at the end, and were cancelled");
        }
        self.in_flight.cancel_all();
    }

    /// Resolves when the connection is about to end.
    pub(super) fn closing(&self) -> watch::Receiver<bool> {
        self.closing.subscribe()
    }

    pub(super) fn server(&self) -> &Arc<Server> {
        &self.server
    }

    /// Puts a message into the outbox. If nobody takes messages any more it is dropped, and
    /// the transport is about to end the connection.
    pub(super) async fn send(&self, message: String) {
        let _ = self.outbox.send(message).await;
    }

    async fn receive_one(self: &Arc<Self>, message: Message<'_>, size: usize) {
        let request = match message {
            Message::Request(request) => request,
            Message::Notification(notification) => return self.notice(&notification),
            Message::Response(response) => return self.asked.settle(response),
            Message::Invalid(invalid) => return self.send(self.refusal(&invalid)).await,
        };
        // What is offered hangs on the files there are.
        if matches!(&*request.method, "initialize" | "server/discover") {
            self.server.catalog.looked(FIRST_LOOK).await;
        }
        if let Err(error) = self.start(request, size) {
            self.send(error).await;
        }
    }

    /// Answers a request, in a task of its own where that takes time.
    fn start(self: &Arc<Self>, request: Request<'_>, size: usize) -> Result<(), String> {
        let cancelled = CancellationToken::new();
        let (places, later, grace) = match self.dispatch(&request, &cancelled) {
            Reply::Now(answer) => return Err(self.encode(&request.id, answer)),
            Reply::Later(later) => (&self.running, later, self.server.settings.cancel_grace),
            // Nothing may follow its cancellation.
            Reply::Listen(later) if self.listens.available_permits() > 0 => (&self.listens, later, Duration::ZERO),
            Reply::Listen(_) => {
                let error = error::internal("too_many_listens", "this connection has too many listen streams");
                return Err(self.encode(&request.id, Err(error)));
            }
        };
        let Some(room) = self.room(size) else {
            return Err(self.encode(&request.id, Err(error::too_many_requests())));
        };
        if !self.in_flight.start(&request.id, cancelled.clone()) {
            return Err(self.encode(&request.id, Err(error::id_in_use())));
        }
        let (this, places) = (self.clone(), places.clone());
        tokio::spawn(async move {
            let place = tokio::select! {
                biased;
                () = cancelled.cancelled() => return,
                place = places.acquire_owned() => place,
            };
            if let Some(answer) = this.run(request.id, later, cancelled, grace).await {
                this.send(answer).await;
            }
            drop((room, place));
        });
        Ok(())
    }

    async fn receive_batch(self: &Arc<Self>, messages: Vec<Message<'_>>, size: usize) {
        let verdicts = match era::batch(&messages, self.revision()) {
            Ok(verdicts) => verdicts,
            Err(error) => return self.send(self.refusal(&Invalid { id: None, error })).await,
        };
        let room = self.room(size);
        let mut answers = Vec::new();
        let mut running = Vec::new();
        for (message, verdict) in messages.into_iter().zip(verdicts) {
            match (message, verdict) {
                (Message::Invalid(invalid), _) => answers.push(self.refusal(&invalid)),
                (Message::Request(request), Some(error)) => answers.push(self.encode(&request.id, Err(error))),
                (Message::Request(request), None) => {
                    let cancelled = CancellationToken::new();
                    match self.dispatch(&request, &cancelled) {
                        Reply::Now(answer) => answers.push(self.encode(&request.id, answer)),
                        _ if room.is_none() => {
                            answers.push(self.encode(&request.id, Err(error::too_many_requests())));
                        }
                        Reply::Later(later) | Reply::Listen(later) => {
                            if self.in_flight.start(&request.id, cancelled.clone()) {
                                running.push((request.id, later, cancelled));
                            } else {
                                answers.push(self.encode(&request.id, Err(error::id_in_use())));
                            }
                        }
                    }
                }
                (Message::Notification(notification), _) => self.notice(&notification),
                (Message::Response(response), _) => self.asked.settle(response),
            }
        }
        let this = self.clone();
        tokio::spawn(async move {
            // Not an error: the semaphore is never closed.
            let place = this.running.clone().acquire_owned().await;
            let grace = this.server.settings.cancel_grace;
            let run = running.into_iter().map(|(id, later, cancelled)| {
                let this = this.clone();
                tokio::spawn(async move { this.run(id, later, cancelled, grace).await })
            });
            for answer in run.collect::<Vec<_>>() {
                answers.extend(answer.await.ok().flatten());
            }
            if !answers.is_empty() {
                this.send(encode::batch(&answers)).await;
            }
            drop((room, place));
        });
    }

    /// Room for a request of so many bytes, if there is any.
    fn room(&self, size: usize) -> Option<OwnedSemaphorePermit> {
        self.waiting.clone().try_acquire_many_owned(u32::try_from(size / 1024 + 1).ok()?).ok()
    }

    /// Works on a request until it is answered or cancelled. What is cancelled may go on
    /// for `grace`; nobody hears of it.
    async fn run(&self, id: RequestId, later: Later, cancelled: CancellationToken, grace: Duration) -> Option<String> {
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
        };
        let answer = answer.unwrap_or_else(|_| {
            tracing::error!("a request's handler panicked");
            Err(error::internal("host_error", "the host failed while it worked on this request"))
        });
        // Whoever takes the request out decides; a cancellation may have been first.
        (self.in_flight.finish(&id) && !self.outbox.is_closed()).then(|| self.encode(&id, answer))
    }

    /// The one fork between the eras.
    fn dispatch(self: &Arc<Self>, request: &Request<'_>, cancelled: &CancellationToken) -> Reply {
        let session = self.session().clone();
        let legacy = session.as_ref().map(|session| session.revision);
        let verdict = era::request(&request.method, request.params, legacy);
        let (revision, meta, progress, client, verbosity) = match (verdict, &session) {
            (Verdict::Error(error), _) => return Reply::Now(Err(error)),
            (Verdict::Ping, _) => return Reply::Now(Ok("{}".to_owned())),
            (Verdict::Modern(revision, meta), _) => {
                let client = Client::new(Arc::new(meta.client_capabilities), self.outbox.clone(), None);
                (revision, meta.rest, meta.progress_token, client, Verbosity::Request(meta.log_level))
            }
            (Verdict::Legacy(revision), Some(session)) => match meta::parse_legacy(revision, request.params) {
                Ok((progress, meta)) => {
                    let asked = Some(self.asked.clone());
                    let client = Client::new(session.capabilities.clone(), self.outbox.clone(), asked);
                    (revision, meta, progress, client, Verbosity::Session(session.level.clone()))
                }
                Err(error) => return Reply::Now(Err(error)),
            },
            (Verdict::Initialize | Verdict::Legacy(_), _) => return self.initialize(request),
        };
        let typed = match ClientRequest::parse(revision, &request.method, request.params) {
            Ok(typed) => typed,
            Err(error) => return Reply::Now(Err(error)),
        };
        let scope = Scope {
            id: request.id.clone(),
            call: self.name_call(),
            revision,
            meta,
            principal: self.principal.clone(),
            client,
            progress,
            verbosity,
            cancelled: cancelled.clone(),
        };
        let server = &self.server;
        match (typed, session) {
            (ClientRequest::Ping, _) => Reply::Now(Ok("{}".to_owned())),
            (ClientRequest::Discover, _) => Reply::Now(Ok(lifecycle::discover(server, &scope))),
            (ClientRequest::ListTools { cursor }, _) => tools::LIST.reply(server, scope, cursor.as_deref()),
            (ClientRequest::CallTool(call), _) => tools::call(server, scope, call),
            (ClientRequest::Listen(filter), _) => subscriptions::listen(self, scope, &filter),
            (ClientRequest::ListResources { cursor }, _) => resources::LIST.reply(server, scope, cursor.as_deref()),
            (ClientRequest::ListResourceTemplates { cursor }, _) => {
                resources::TEMPLATES.reply(server, scope, cursor.as_deref())
            }
            (ClientRequest::ReadResource { uri, retry }, _) => resources::read(server, scope, &uri, retry.into()),
            (ClientRequest::ListPrompts { cursor }, _) => prompts::LIST.reply(server, scope, cursor.as_deref()),
            (ClientRequest::GetPrompt { name, arguments, retry }, _) => {
                prompts::get(server, scope, &name, arguments, retry.into())
            }
            (ClientRequest::Complete(asked), _) => completions::complete(server, scope, asked),
            (ClientRequest::Subscribe { uri }, Some(session)) => {
                subscriptions::subscribe(self, scope, session.uris, &uri)
            }
            (ClientRequest::Unsubscribe { uri }, Some(session)) => {
                session.uris.remove(&uri);
                Reply::Now(Ok("{}".to_owned()))
            }
            (ClientRequest::SetLevel { level }, Some(session)) => {
                session.level.set(level);
                Reply::Now(Ok("{}".to_owned()))
            }
            (ClientRequest::Custom(request), _) => custom::call(server, scope, request),
            // Of the handshake alone, and not without one.
            _ => Reply::Now(Err(error::method_not_found(revision, &request.method))),
        }
    }

    fn initialize(&self, request: &Request<'_>) -> Reply {
        let hello = match ClientRequest::parse(Revision::LATEST_LEGACY, &request.method, request.params) {
            Ok(ClientRequest::Initialize(hello)) => hello,
            Ok(_) => return Reply::Now(Err(error::method_not_found(Revision::LATEST_LEGACY, &request.method))),
            Err(error) => return Reply::Now(Err(error)),
        };
        let revision = hello.revision;
        if let Some(client) = &hello.client {
            tracing::debug!(client = client.name, version = client.version, %revision, "handshake");
        }
        let mut session = self.session();
        *session = Some(Session::new(hello, session.as_ref()));
        Reply::Now(Ok(lifecycle::initialize(&self.server, revision)))
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

    fn encode(&self, id: &RequestId, answer: Answer) -> String {
        match answer {
            Ok(result) => encode::result(id, &result),
            Err(error) => encode::error(Some(id), UnreadableId::Omit, &error),
        }
    }

    fn refusal(&self, invalid: &Invalid) -> String {
        let unreadable = self.revision().map_or(UnreadableId::Omit, Revision::unreadable_id);
        encode::error(invalid.id.as_ref(), unreadable, &invalid.error)
    }

    /// What the host and its log call one call: not the client's id, which may be anything.
    fn name_call(&self) -> u64 {
        self.calls.fetch_add(1, Ordering::Relaxed)
    }

    fn revision(&self) -> Option<Revision> {
        self.session().as_ref().map(|session| session.revision)
    }

    fn session(&self) -> MutexGuard<'_, Option<Session>> {
        self.session.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}
