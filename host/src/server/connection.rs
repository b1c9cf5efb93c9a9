//! One client on one stream: frames in, messages out.
//!
//! It parts the two eras of the protocol, keeps the handshake's state, and sees that each
//! request gets one answer or, when cancelled, none. It does not know what carries the frames.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tokio::sync::{Semaphore, mpsc, watch};

use super::Server;
use super::handlers::{Answer, Later, Reply, completions, lifecycle, prompts, resources, subscriptions, tools};
use super::in_flight::{Cancelled, InFlight};
use super::scope::Scope;
use crate::jsonrpc::encode::{self, UnreadableId};
use crate::jsonrpc::{self, Frame, Invalid, Message, Notification, Request, RequestId};
use crate::protocol::era::{self, Verdict};
use crate::protocol::request::Initialize;
use crate::protocol::{ClientNotification, ClientRequest, ErrorObject, Revision, error, meta};

/// How long who asks what there is waits until the names of the plugins' files are known.
const FIRST_LOOK: Duration = Duration::from_secs(1);

pub struct Connection {
    server: Arc<Server>,
    outbox: mpsc::Sender<String>,
    session: Mutex<Option<Session>>,
    in_flight: InFlight,
    /// One for each request that may run.
    running: Arc<Semaphore>,
    listens: Arc<Semaphore>,
    closing: watch::Sender<bool>,
    calls: AtomicU64,
}

/// What a handshake agreed on.
struct Session {
    revision: Revision,
    /// Changes of lists are being announced.
    announcing: bool,
}

impl Connection {
    pub(super) fn new(server: Arc<Server>, outbox: mpsc::Sender<String>) -> Arc<Self> {
        Arc::new(Self {
            running: Arc::new(Semaphore::new(server.settings.in_flight)),
            listens: Arc::new(Semaphore::new(server.settings.listens)),
            server,
            outbox,
            session: Mutex::default(),
            in_flight: InFlight::default(),
            closing: watch::Sender::new(false),
            calls: AtomicU64::new(0),
        })
    }

    /// Takes one frame: a message, or a batch of them. Returns when it has been answered or
    /// is being worked on; waits while the client does not read what it is sent.
    pub async fn receive(self: &Arc<Self>, frame: &[u8]) {
        match jsonrpc::decode(frame) {
            Ok(Frame::Single(message)) => self.receive_one(message).await,
            Ok(Frame::Batch(messages)) => self.receive_batch(messages).await,
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

    async fn receive_one(self: &Arc<Self>, message: Message<'_>) {
        let request = match message {
            Message::Request(request) => request,
            Message::Notification(notification) => return self.notice(&notification),
            // No request of ours is waiting for one.
            Message::Response(_) => return,
            Message::Invalid(invalid) => return self.send(self.refusal(&invalid)).await,
        };
        // What is offered hangs on the files there are.
        if matches!(&*request.method, "initialize" | "server/discover") {
            self.server.catalog.looked(FIRST_LOOK).await;
        }
        let (permits, later) = match self.dispatch(&request) {
            Reply::Now(answer) => return self.send(self.encode(&request.id, answer)).await,
            Reply::Later(later) => (&self.running, later),
            Reply::Listen(later) => {
                if self.listens.available_permits() == 0 {
                    let error = error::internal("too_many_listens", "this connection has too many listen streams");
                    return self.send(self.encode(&request.id, Err(error))).await;
                }
                (&self.listens, later)
            }
        };
        let Some(cancelled) = self.in_flight.start(&request.id) else {
            return self.send(self.encode(&request.id, Err(error::id_in_use()))).await;
        };
        // Not an error: the semaphore is never closed.
        let permit = permits.clone().acquire_owned().await;
        let this = self.clone();
        tokio::spawn(async move {
            let _permit = permit;
            if let Some(answer) = this.run(request.id, later, cancelled).await {
                this.send(answer).await;
            }
        });
    }

    async fn receive_batch(self: &Arc<Self>, messages: Vec<Message<'_>>) {
        let verdicts = match era::batch(&messages, self.revision()) {
            Ok(verdicts) => verdicts,
            Err(error) => return self.send(self.refusal(&Invalid { id: None, error })).await,
        };
        let mut answers = Vec::new();
        let mut running = Vec::new();
        for (message, verdict) in messages.into_iter().zip(verdicts) {
            match (message, verdict) {
                (Message::Invalid(invalid), _) => answers.push(self.refusal(&invalid)),
                (Message::Request(request), Some(error)) => answers.push(self.encode(&request.id, Err(error))),
                (Message::Request(request), None) => match self.dispatch(&request) {
                    Reply::Now(answer) => answers.push(self.encode(&request.id, answer)),
                    Reply::Later(later) | Reply::Listen(later) => match self.in_flight.start(&request.id) {
                        Some(cancelled) => {
                            let this = self.clone();
                            running.push(tokio::spawn(async move { this.run(request.id, later, cancelled).await }));
                        }
                        None => answers.push(self.encode(&request.id, Err(error::id_in_use()))),
                    },
                },
                (Message::Notification(notification), _) => self.notice(&notification),
                (Message::Response(_), _) => {}
            }
        }
        let permit = self.running.clone().acquire_owned().await;
        let this = self.clone();
        tokio::spawn(async move {
            let _permit = permit;
            for answer in running {
                answers.extend(answer.await.ok().flatten());
            }
            if !answers.is_empty() {
                this.send(encode::batch(&answers)).await;
            }
        });
    }

    /// Works on a request until it is answered or cancelled.
    async fn run(&self, id: RequestId, later: Later, cancelled: Cancelled) -> Option<String> {
        let answer = tokio::select! {
            biased;
            _ = cancelled => return None,
            answer = later => answer,
        };
        // Whoever takes the request out decides; a cancellation may have been first.
        (self.in_flight.finish(&id) && !self.outbox.is_closed()).then(|| self.encode(&id, answer))
    }

    /// The one fork between the eras.
    fn dispatch(self: &Arc<Self>, request: &Request<'_>) -> Reply {
        let (revision, rest) = match era::request(&request.method, request.params, self.revision()) {
            Verdict::Error(error) => return Reply::Now(Err(error)),
            Verdict::Ping => return Reply::Now(Ok("{}".to_owned())),
            // Any legacy revision has this method; which one is what it is about.
            Verdict::Initialize => (Revision::LATEST_LEGACY, String::new()),
            Verdict::Modern(revision, meta) => (revision, meta.rest),
            Verdict::Legacy(revision) => match meta::parse_legacy(revision, request.params) {
                Ok((_, rest)) => (revision, rest),
                Err(error) => return Reply::Now(Err(error)),
            },
        };
        let typed = match ClientRequest::parse(revision, &request.method, request.params) {
            Ok(typed) => typed,
            Err(error) => return Reply::Now(Err(error)),
        };
        let scope = Scope { id: request.id.clone(), call: self.name_call(), revision, meta: rest };
        match typed {
            ClientRequest::Initialize(hello) => Reply::Now(Ok(self.initialize(hello))),
            ClientRequest::Ping => Reply::Now(Ok("{}".to_owned())),
            ClientRequest::Discover => Reply::Now(Ok(lifecycle::discover(&self.server, &scope))),
            ClientRequest::ListTools { cursor } => tools::LIST.reply(&self.server, scope, cursor.as_deref()),
            ClientRequest::CallTool(call) => tools::call(&self.server, scope, &call),
            ClientRequest::Listen(filter) => subscriptions::listen(self, scope, &filter),
            ClientRequest::ListResources { cursor } => resources::LIST.reply(&self.server, scope, cursor.as_deref()),
            ClientRequest::ListResourceTemplates { cursor } => {
                resources::TEMPLATES.reply(&self.server, scope, cursor.as_deref())
            }
            ClientRequest::ReadResource { uri, .. } => resources::read(&self.server, scope, &uri),
            ClientRequest::Subscribe { .. } | ClientRequest::Unsubscribe { .. } => {
                Reply::Now(Err(error::not_offered(&request.method, "resources.subscribe")))
            }
            ClientRequest::ListPrompts { cursor } => prompts::LIST.reply(&self.server, scope, cursor.as_deref()),
            ClientRequest::GetPrompt { name, arguments, .. } => prompts::get(&self.server, scope, &name, arguments),
            ClientRequest::Complete(asked) => completions::complete(&self.server, scope, asked),
            ClientRequest::SetLevel { .. } => Reply::Now(Err(error::not_offered(&request.method, "logging"))),
        }
    }

    fn initialize(&self, hello: Initialize) -> String {
        let revision = hello.revision;
        if let Some(client) = &hello.client {
            tracing::debug!(client = client.name, version = client.version, %revision, "handshake");
        }
        let mut session = self.session();
        let announcing = session.as_ref().is_some_and(|session| session.announcing);
        *session = Some(Session { revision, announcing });
        lifecycle::initialize(&self.server, revision)
    }

    fn notice(self: &Arc<Self>, notification: &Notification<'_>) {
        let Some(revision) = era::notification(notification, self.revision()) else { return };
        match ClientNotification::parse(revision, &notification.method, notification.params) {
            Ok(ClientNotification::Cancelled { request_id, .. }) => self.in_flight.cancel(&request_id),
            Ok(ClientNotification::Initialized) => {
                let first =
                    self.session().as_mut().is_some_and(|session| !std::mem::replace(&mut session.announcing, true));
                if first {
                    tokio::spawn(subscriptions::announce(self.clone()));
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
