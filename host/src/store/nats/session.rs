//! One connection to a server: requests and their answers, subscriptions.
//!
//! A connection that is lost is not made again here, and nothing that was to be sent over it is sent later: whoever
//! waited has been told that it failed.

use std::collections::HashMap;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::BytesMut;
use serde::Serialize;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, ReadHalf, WriteHalf, split};
use tokio::net::TcpStream;
use tokio::sync::{mpsc, oneshot};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::failure::Failed;
use super::settings::{Address, Login, NatsSettings};
use super::wire::{self, Frame, Greeting, Message};
use crate::net::dial::Stream;
use crate::os::sockets;
use crate::sync::{AtomicUsize, Mutex, Ordering, lock};

/// Frames that wait to be sent; whoever has another one waits too.
const WAITING: usize = 64;
/// Messages of a subscription that nobody has taken; then no more are read of the connection.
const UNREAD: usize = 1024;
/// As the operator sees who is connected.
const NAME: &str = "wharf";
/// The subscription for answers.
const ANSWERS: u64 = 1;

/// A connection that has been accepted by the server.
pub(super) struct Session {
    frames: mpsc::Sender<Vec<u8>>,
    shared: Arc<Shared>,
    /// Begins the subjects to which this process is answered.
    inbox: String,
    next: AtomicUsize,
    /// Bytes of a message with its headers.
    pub(super) max_payload: usize,
    /// The version of the server.
    pub(super) release: [u32; 3],
    _tasks: [AbortOnDropHandle<()>; 2],
}

#[derive(Default)]
struct Shared {
    receivers: Mutex<Receivers>,
    ended: CancellationToken,
}

#[derive(Default)]
struct Receivers {
    /// Why the connection has ended, if it has.
    closed: Option<String>,
    /// By the last part of their inbox.
    requests: HashMap<u64, Request>,
    subscriptions: HashMap<u64, mpsc::Sender<Message>>,
}

struct Request {
    subject: String,
    answer: oneshot::Sender<Result<Message, Failed>>,
}

impl Session {
    /// Connects, with TLS if there is a connector.
    ///
    /// # Errors
    /// If that fails. It waits as long as the server does.
    pub(super) async fn open(
        settings: &NatsSettings,
        server: &Address,
        tls: Option<&TlsConnector>,
    ) -> Result<Arc<Self>, Failed> {
        let failed = |what: &str, error: &dyn std::fmt::Display| Failed::Closed(format!("{what}: {error}"));
        let tcp = TcpStream::connect((&*server.host, server.port)).await.map_err(|error| failed("connect", &error))?;
        // A request is one write, which Nagle's algorithm would only delay.
        let _ = tcp.set_nodelay(true);
        // So that a request that has failed for want of an answer is not delivered later.
        let _ = sockets::set_user_timeout(&tcp, settings.request_timeout);
        let mut stream: Box<dyn Stream> = Box::new(tcp);
        let mut received = BytesMut::new();
        let greeting = match frame(&mut stream, &mut received).await? {
            Frame::Greeting(greeting) => greeting,
            Frame::Error(why) => return Err(Failed::Closed(why)),
            _ => return Err(Failed::Closed("it does not greet".into())),
        };
        if !greeting.headers {
            return Err(Failed::Closed(
                "it has no headers: it is older than NATS 2.2, or they are switched off".into(),
            ));
        }
        if tls.is_none() && greeting.tls_required {
            // Before it is told a password that others could read.
            return Err(Failed::Closed("TLS required by the server".into()));
        }
        if let Some(connector) = tls {
            if !greeting.tls_required && !greeting.tls_available {
                return Err(Failed::Closed("it has no TLS".into()));
            }
            // What comes before TLS may be somebody else's.
            if !received.is_empty() {
                return Err(Failed::Closed("it says more before TLS than its greeting".into()));
            }
            let name = ServerName::try_from(server.host.clone()).map_err(|error| failed("TLS", &error))?;
            stream = Box::new(connector.connect(name, stream).await.map_err(|error| failed("TLS", &error))?);
        }
        let inbox = inbox()?;
        let hello = hello(settings, &greeting)?;
        let answers = wire::subscribe(&format!("{inbox}.*"), ANSWERS);
        let hello = [format!("CONNECT {hello}\r\n").as_bytes(), &answers, wire::PING].concat();
        stream.write_all(&hello).await.map_err(|error| failed("greet", &error))?;
        stream.flush().await.map_err(|error| failed("greet", &error))?;
        loop {
            match frame(&mut stream, &mut received).await? {
                Frame::Other => break,
                Frame::Error(why) => return Err(Failed::Closed(why)),
                _ => {}
            }
        }
        let (reader, writer) = split(stream);
        let (frames, waiting) = mpsc::channel(WAITING);
        let shared = Arc::new(Shared::default());
        let reading = read(reader, received, shared.clone(), frames.clone());
        let writing = write(writer, waiting, shared.clone());
        let tasks = [tokio::spawn(reading), tokio::spawn(writing)].map(AbortOnDropHandle::new);
        let next = AtomicUsize::new(1 + ANSWERS as usize);
        let (max_payload, release) = (greeting.max_payload, greeting.release());
        Ok(Arc::new(Self { frames, shared, inbox, next, max_payload, release, _tasks: tasks }))
    }

    /// Sends a request, and waits for its answer, however long that takes.
    ///
    /// # Errors
    /// If there is nobody to answer, or the connection ends before.
    pub(super) async fn request(
        &self,
        subject: &str,
        headers: &[(&str, String)],
        payload: &[u8],
    ) -> Result<Message, Failed> {
        let (answer, answered) = oneshot::channel();
        let id = self.number();
        self.shared.open()?.requests.insert(id, Request { subject: subject.to_owned(), answer });
        let _forget = Forget { shared: &self.shared, id };
        self.send(wire::publish(subject, &format!("{}.{id}", self.inbox), headers, payload)).await?;
        let answer = answered.await.unwrap_or_else(|_| Err(self.shared.failed()))?;
        if answer.status() == Some(503) { Err(Failed::Nobody) } else { Ok(answer) }
    }

    /// A subject of this process, and what is sent to it.
    ///
    /// # Errors
    /// If the connection has ended.
    pub(super) async fn subscribe(&self) -> Result<(String, mpsc::Receiver<Message>), Failed> {
        let (sender, receiver) = mpsc::channel(UNREAD);
        let id = self.number();
        // One part more than an answer has.
        let subject = format!("{}.all.{id}", self.inbox);
        self.shared.open()?.subscriptions.insert(id, sender);
        self.send(wire::subscribe(&subject, id)).await?;
        Ok((subject, receiver))
    }

    /// Sends an empty message, for which there is no answer.
    ///
    /// # Errors
    /// If the connection has ended.
    pub(super) async fn tell(&self, subject: &str) -> Result<(), Failed> {
        self.send(wire::publish(subject, "", &[], b"")).await
    }

    async fn send(&self, frame: Vec<u8>) -> Result<(), Failed> {
        self.frames.send(frame).await.map_err(|_| self.shared.failed())
    }

    fn number(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed) as u64
    }

    pub(super) fn is_closed(&self) -> bool {
        lock(&self.shared.receivers).closed.is_some()
    }

    /// Ends it; all that wait are told why.
    pub(super) fn close(&self, why: &str) {
        self.shared.close(why);
    }
}

impl Shared {
    /// Those who wait, if the connection has not ended.
    fn open(&self) -> Result<crate::sync::MutexGuard<'_, Receivers>, Failed> {
        let receivers = lock(&self.receivers);
        match &receivers.closed {
            Some(why) => Err(Failed::Closed(why.clone())),
            None => Ok(receivers),
        }
    }

    fn failed(&self) -> Failed {
        let why = lock(&self.receivers).closed.clone();
        Failed::Closed(why.unwrap_or_else(|| "the connection has ended".into()))
    }

    fn close(&self, why: &str) {
        let mut receivers = lock(&self.receivers);
        let why = receivers.closed.get_or_insert_with(|| why.to_owned()).clone();
        for (_, request) in receivers.requests.drain() {
            // An error means that nobody waits any more.
            let _ = request.answer.send(Err(Failed::Closed(why.clone())));
        }
        receivers.subscriptions.clear();
        self.ended.cancel();
    }

    /// Gives a message to who waits for it.
    async fn deliver(&self, message: Message) {
        if message.subscription == ANSWERS {
            let id = message.subject.rsplit_once('.').and_then(|(_, id)| id.parse::<u64>().ok());
            let request = id.and_then(|id| lock(&self.receivers).requests.remove(&id));
            if let Some(request) = request {
                // As above.
                let _ = request.answer.send(Ok(message));
            }
            return;
        }
        let subscription = lock(&self.receivers).subscriptions.get(&message.subscription).cloned();
        if let Some(sender) = subscription {
            // As above; the server sees that nobody is there when the connection ends.
            let _ = sender.send(message).await;
        }
    }

    /// The server says that something is wrong: with one request, or with all.
    fn refuse(&self, why: &str) {
        let subject =
            why.strip_prefix("Permissions Violation for Publish to ").map(|subject| subject.trim_matches('"'));
        let mut receivers = lock(&self.receivers);
        let denied = receivers.requests.iter().find(|(_, request)| Some(&*request.subject) == subject);
        let denied = denied.map(|(id, _)| *id).and_then(|id| receivers.requests.remove(&id));
        drop(receivers);
        match denied {
            Some(request) => {
                // As above.
                let _ = request.answer.send(Err(Failed::Denied(why.to_owned())));
            }
            // Nobody has waited for an answer.
            None if subject.is_some() => {}
            None => self.close(why),
        }
    }
}

/// Nobody waits for the answer any more.
struct Forget<'a> {
    shared: &'a Shared,
    id: u64,
}

impl Drop for Forget<'_> {
    fn drop(&mut self) {
        lock(&self.shared.receivers).requests.remove(&self.id);
    }
}

#[derive(Serialize)]
struct Hello<'a> {
    verbose: bool,
    pedantic: bool,
    tls_required: bool,
    name: &'a str,
    lang: &'a str,
    version: &'a str,
    /// It understands greetings that come later.
    protocol: u8,
    headers: bool,
    /// The server says if nobody has subscribed.
    no_responders: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    user: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pass: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    auth_token: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    jwt: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    nkey: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sig: Option<&'a str>,
}

/// Who this is.
fn hello(settings: &NatsSettings, greeting: &Greeting) -> Result<String, Failed> {
    let (user, pass, auth_token) = match settings.login() {
        Login::Nobody => (None, None, None),
        Login::User(user, password) => (Some(user), Some(password), None),
        Login::Token(token) => (None, None, Some(token)),
    };
    let signed = match (&settings.credentials, &greeting.nonce) {
        (Some(credentials), Some(nonce)) => Some(credentials.sign(nonce).map_err(Failed::Closed)?),
        (Some(_), None) => return Err(Failed::Closed("authentication: it asks for no signature by a key".into())),
        (None, _) => None,
    };
    let jwt = settings.credentials.as_ref().and_then(|credentials| credentials.jwt.as_deref());
    let hello = Hello {
        verbose: false,
        pedantic: false,
        tls_required: settings.with_tls,
        name: NAME,
        lang: "rust",
        version: env!("CARGO_PKG_VERSION"),
        protocol: 1,
        headers: true,
        no_responders: true,
        user,
        pass,
        auth_token,
        jwt,
        // With a JWT the key is in it.
        nkey: signed.as_ref().map(|(_, key)| &**key).filter(|_| jwt.is_none()),
        sig: signed.as_ref().map(|(signature, _)| &**signature),
    };
    serde_json::to_string(&hello).map_err(|error| Failed::Closed(error.to_string()))
}

/// A subject that no other process has.
fn inbox() -> Result<String, Failed> {
    let mut random = [0; 16];
    getrandom::fill(&mut random).map_err(|error| Failed::Closed(error.to_string()))?;
    Ok(format!("_INBOX.{}", URL_SAFE_NO_PAD.encode(random)))
}

/// The next frame.
async fn frame(stream: &mut (impl AsyncRead + Unpin), received: &mut BytesMut) -> Result<Frame, Failed> {
    loop {
        if let Some(frame) = wire::take(received).map_err(Failed::Closed)? {
            return Ok(frame);
        }
        match stream.read_buf(received).await {
            Ok(0) => return Err(Failed::Closed("it has closed the connection".into())),
            Ok(_) => {}
            Err(error) => return Err(Failed::Closed(format!("read: {error}"))),
        }
    }
}

async fn read(
    mut stream: ReadHalf<impl AsyncRead>,
    mut received: BytesMut,
    shared: Arc<Shared>,
    frames: mpsc::Sender<Vec<u8>>,
) {
    let reading = async {
        loop {
            match frame(&mut stream, &mut received).await {
                Ok(Frame::Message(message)) => shared.deliver(message).await,
                Ok(Frame::Ping) => {
                    // An error means that the connection has ended.
                    let _ = frames.send(wire::PONG.to_vec()).await;
                }
                Ok(Frame::Error(why)) => shared.refuse(&why),
                Ok(Frame::Greeting(_) | Frame::Other) => {}
                Err(Failed::Closed(why)) => return why,
                Err(other) => return format!("{other:?}"),
            }
        }
    };
    tokio::select! {
        why = reading => shared.close(&why),
        () = shared.ended.cancelled() => {}
    }
}

async fn write(mut stream: WriteHalf<impl AsyncWrite>, mut frames: mpsc::Receiver<Vec<u8>>, shared: Arc<Shared>) {
    let writing = async {
        let mut together = Vec::new();
        while frames.recv_many(&mut together, WAITING).await > 0 {
            for frame in together.drain(..) {
                stream.write_all(&frame).await?;
            }
            stream.flush().await?;
        }
        Ok::<(), std::io::Error>(())
    };
    tokio::select! {
        done = writing => {
            if let Err(error) = done {
                shared.close(&format!("write: {error}"));
            }
        }
        () = shared.ended.cancelled() => {}
    }
}
