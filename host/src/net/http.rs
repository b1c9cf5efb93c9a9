//! One request over a connection of its own: to an address that may be used, through a proxy if the environment names
//! one, with a time limit for each step.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{self, HeaderName, HeaderValue};
use http::{Method, Request, Response, StatusCode, Uri};
use http_body::Body as _;
use http_body_util::{BodyExt as _, Empty, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::client::proxy::matcher::{Intercept, Matcher};
use hyper_util::rt::TokioIo;
use tokio::sync::OnceCell;
use tokio::time::{Instant, timeout};
use tokio_rustls::TlsConnector;
use tokio_util::task::AbortOnDropHandle;

use super::dial::{self, DialError, Stream};
use super::interim;
use super::resolve::{Resolve, SystemResolver};
use super::target::{Host, Target};

/// For the lookup and the connection, and for the TLS handshake.
const CONNECT: Duration = Duration::from_secs(10);
/// From the request to the head of its response, and between two parts of a body.
const STALL: Duration = Duration::from_secs(30);
/// For a small body.
const SMALL: Duration = Duration::from_secs(60);
/// Header fields, and bytes of a response head.
const MAX_HEADERS: usize = 128;
const MAX_HEAD: usize = 64 << 10;

/// Fields that only the host sets: RFC 9110, section 7.6.1, and message framing.
const RESERVED: [HeaderName; 9] = [
    header::CONNECTION,
    header::CONTENT_LENGTH,
    header::EXPECT,
    header::HOST,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
    HeaderName::from_static("keep-alive"),
];

/// Why there is no response. Reads after "failed to" and what was to be done.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    #[error("{host}: {why}")]
    Connect { host: String, why: DialError },
    /// A server named an address that only a person may name.
    #[error("{host} is at a private address, to which {by} led")]
    Private { host: String, by: String },
    #[error("{0}")]
    Protocol(String),
    #[error("{what} has more than {limit} bytes")]
    TooLarge { what: &'static str, limit: u64 },
    #[error("{host} did not answer in time")]
    Timeout { host: String },
}

/// Who named a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NamedBy<'a> {
    /// A reference or the configuration: it may be anywhere.
    Person,
    /// A server, which is named here: only public addresses, so that it leads nobody into their own network.
    Server(&'a str),
}

/// Sends requests.
pub struct Http {
    resolver: Arc<dyn Resolve>,
    proxies: Matcher,
    connector: OnceCell<TlsConnector>,
}

impl Default for Http {
    fn default() -> Self {
        Self { resolver: Arc::new(SystemResolver), proxies: Matcher::from_env(), connector: OnceCell::new() }
    }
}

/// A body that is being received. Dropping it closes the connection.
pub struct Received {
    pub response: Response<Incoming>,
    host: String,
    _connection: AbortOnDropHandle<hyper::Result<()>>,
}

impl Received {
    /// The next bytes; `None` at the end.
    pub async fn next(&mut self) -> Result<Option<Bytes>, HttpError> {
        loop {
            match timeout(STALL, self.response.body_mut().frame()).await {
                Err(_) => return Err(HttpError::Timeout { host: self.host.clone() }),
                Ok(None) => return Ok(None),
                Ok(Some(Err(error))) => return Err(HttpError::Protocol(format!("{}: {error}", self.host))),
                Ok(Some(Ok(frame))) => {
                    if let Ok(bytes) = frame.into_data() {
                        return Ok(Some(bytes));
                    }
                }
            }
        }
    }

    /// Where it redirects to, from `at`: to none without TLS from one with it.
    pub fn redirection(&self, at: &Target) -> Result<Option<(Uri, Target)>, HttpError> {
        let location = self.response.headers().get(header::LOCATION).and_then(|value| value.to_str().ok());
        let Some(location) = location.filter(|_| self.response.status().is_redirection()) else { return Ok(None) };
        let location = if location.starts_with('/') { format!("{at}{location}") } else { location.to_owned() };
        let invalid = || HttpError::Protocol(format!("{} redirected to an invalid URL", at.authority()));
        let uri: Uri = location.parse().map_err(|_| invalid())?;
        let target = target_of(&uri)?;
        require_tls(at, &target)?;
        Ok(Some((uri, target)))
    }

    /// All of a body that is to be small.
    pub async fn text(self, what: &'static str, limit: u64) -> Result<Vec<u8>, HttpError> {
        self.whole(what, limit, SMALL).await
    }

    /// All of a body, of at most `limit` bytes, if it comes in that time.
    pub async fn whole(mut self, what: &'static str, limit: u64, time: Duration) -> Result<Vec<u8>, HttpError> {
        let too_large = HttpError::TooLarge { what, limit };
        if self.response.body().size_hint().lower() > limit {
            return Err(too_large);
        }
        let mut text = Vec::new();
        let until = Instant::now() + time;
        while let Some(bytes) = self.next().await? {
            if Instant::now() > until {
                return Err(HttpError::Timeout { host: self.host });
            }
            if (text.len() + bytes.len()) as u64 > limit {
                return Err(too_large);
            }
            text.extend_from_slice(&bytes);
        }
        Ok(text)
    }
}

impl Http {
    /// Without the proxies that the environment names.
    pub(crate) fn direct() -> Self {
        Self { proxies: Matcher::builder().build(), ..Self::default() }
    }

    /// Sends a request with an absolute URI. Redirects are not followed.
    pub async fn send(
        &self,
        mut request: Request<Full<Bytes>>,
        target: &Target,
        named: NamedBy<'_>,
    ) -> Result<Received, HttpError> {
        let uri = request.uri().clone();
        let host = target.authority();
        let failed = |why: DialError| match (why, named) {
            (DialError::NotPublic, NamedBy::Server(by)) => HttpError::Private { host: host.clone(), by: by.to_owned() },
            (why, _) => HttpError::Connect { host: host.clone(), why },
        };
        let proxy = self.proxies.intercept(&uri);
        // Without a proxy in between, a request names only its path.
        let is_direct = proxy.is_none() || target.https;
        let origin = uri.path_and_query().map_or("/", |path| path.as_str()).parse::<Uri>();
        if let (true, Ok(origin)) = (is_direct, origin) {
            *request.uri_mut() = origin;
        }
        let authority = HeaderValue::try_from(target.authority());
        let authority = authority.map_err(|_| HttpError::Protocol(format!("a host's name is invalid: {host}")))?;
        request.headers_mut().insert(header::HOST, authority);
        let agent = HeaderValue::from_static(concat!("wharf/", env!("CARGO_PKG_VERSION")));
        request.headers_mut().insert(header::USER_AGENT, agent);
        if let (false, Some(auth)) = (is_direct, proxy.as_ref().and_then(Intercept::basic_auth)) {
            request.headers_mut().insert(header::PROXY_AUTHORIZATION, auth.clone());
        }
        let stream: Box<dyn Stream> = match proxy {
            None => Box::new(self.dial(target, named).await.map_err(failed)?),
            Some(proxy) => self.dial_proxy(&proxy, target, named).await?,
        };
        let (mut sender, connection) =
            if target.https { open(self.tls(stream, target).await.map_err(failed)?).await } else { open(stream).await }
                .map_err(|error| HttpError::Protocol(format!("{host}: {error}")))?;
        let protocol = |why: &dyn fmt::Display| HttpError::Protocol(format!("{host}: {why}"));
        match timeout(STALL, interim::bounded(request, |request| sender.send_request(request))).await {
            Err(_) => Err(HttpError::Timeout { host }),
            Ok(Err(too_many)) => Err(protocol(&too_many)),
            Ok(Ok(Err(error))) => Err(protocol(&error)),
            Ok(Ok(Ok(response))) => Ok(Received { response, host, _connection: connection }),
        }
    }

    async fn dial(&self, target: &Target, named: NamedBy<'_>) -> Result<tokio::net::TcpStream, DialError> {
        let lookup = dial::addresses(&*self.resolver, &target.host, named == NamedBy::Person);
        let found = timeout(CONNECT, lookup).await.map_err(|_| DialError::Timeout)??;
        dial::tcp(&found, target.port, Instant::now() + CONNECT).await
    }

    /// Connects to a proxy: for a host with TLS, a tunnel to that host. The proxy looks up names, so that only what is
    /// private by its text is refused here.
    async fn dial_proxy(
        &self,
        proxy: &Intercept,
        target: &Target,
        named: NamedBy<'_>,
    ) -> Result<Box<dyn Stream>, HttpError> {
        if let (NamedBy::Server(by), true) = (named, target.is_private()) {
            return Err(HttpError::Private { host: target.authority(), by: by.to_owned() });
        }
        let uri = proxy.uri();
        let invalid = |why: &str| HttpError::Protocol(format!("the proxy {} cannot be used: {why}", shown(uri)));
        let at = Target::of(uri).map_err(invalid)?;
        let failed = |why: DialError| HttpError::Connect { host: format!("the proxy {}", at.authority()), why };
        let stream = self.dial(&at, NamedBy::Person).await.map_err(failed)?;
        let stream: Box<dyn Stream> =
            if at.https { Box::new(self.tls(stream, &at).await.map_err(failed)?) } else { Box::new(stream) };
        if !target.https {
            return Ok(stream);
        }
        let (mut sender, connection) =
            http1::handshake(TokioIo::new(stream)).await.map_err(|e| invalid(&e.to_string()))?;
        let connection = AbortOnDropHandle::new(tokio::spawn(connection.with_upgrades()));
        let to = format!("{}:{}", target.host, target.port);
        let mut connect = Request::builder().method(Method::CONNECT).uri(&to).header(header::HOST, &to);
        if let Some(auth) = proxy.basic_auth() {
            connect = connect.header(header::PROXY_AUTHORIZATION, auth);
        }
        let connect = connect.body(Empty::<Bytes>::new()).map_err(|error| invalid(&error.to_string()))?;
        let sent = timeout(STALL, interim::bounded(connect, |connect| sender.send_request(connect))).await;
        let answer = sent.map_err(|_| failed(DialError::Timeout))?.map_err(|error| invalid(&error.to_string()))?;
        let answer = answer.map_err(|error| invalid(&error.to_string()))?;
        if answer.status() != StatusCode::OK {
            return Err(invalid(&format!("it answered {} to CONNECT {to}", answer.status())));
        }
        let tunnel = hyper::upgrade::on(answer).await.map_err(|error| invalid(&error.to_string()))?;
        drop(connection);
        Ok(Box::new(TokioIo::new(tunnel)))
    }

    async fn tls<S: Stream + 'static>(&self, stream: S, target: &Target) -> Result<impl Stream + use<S>, DialError> {
        let made = self.connector.get_or_try_init(|| async {
            let made = tokio::task::spawn_blocking(dial::connector).await;
            made.unwrap_or_else(|error| Err(error.to_string())).map_err(DialError::Tls)
        });
        dial::tls(made.await?, stream, target, Instant::now() + CONNECT).await
    }
}

/// A proxy without its password.
fn shown(uri: &Uri) -> String {
    let host = uri.host().unwrap_or_default();
    uri.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

type Opened = (http1::SendRequest<Full<Bytes>>, AbortOnDropHandle<hyper::Result<()>>);

async fn open(stream: impl Stream + 'static) -> hyper::Result<Opened> {
    let (sender, connection) =
        http1::Builder::new().max_headers(MAX_HEADERS).max_buf_size(MAX_HEAD).handshake(TokioIo::new(stream)).await?;
    Ok((sender, AbortOnDropHandle::new(tokio::spawn(connection))))
}

/// The target of a URL that a server named.
pub fn target_of(uri: &Uri) -> Result<Target, HttpError> {
    Target::of(uri).map_err(|why| HttpError::Protocol(format!("a URL of the server cannot be used, {why}: {uri}")))
}

/// A server with TLS leads to none without.
pub fn require_tls(by: &Target, to: &Target) -> Result<(), HttpError> {
    if by.https && !to.https {
        let (by, to) = (by.authority(), to.authority());
        return Err(HttpError::Protocol(format!("{by} led to a server without TLS: {to}")));
    }
    Ok(())
}

/// Whether a host is this machine itself: docker and others speak to it without TLS.
pub fn is_loopback(target: &Target) -> bool {
    match &target.host {
        Host::Address(address) => address.is_loopback(),
        Host::Name(name) => name == "localhost" || name.ends_with(".localhost"),
    }
}

/// Whether only the host may set it.
pub fn is_reserved(name: &HeaderName) -> bool {
    RESERVED.contains(name) || name.as_str().starts_with("proxy-")
}

/// Pairs as in a query or a form.
pub fn form<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let mut text = String::new();
    for (name, value) in pairs {
        if !text.is_empty() {
            text.push('&');
        }
        text.push_str(name);
        text.push('=');
        for byte in value.bytes() {
            if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
                text.push(byte.into());
            } else {
                text.push_str(&format!("%{byte:02X}"));
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_have_one_reading() {
        assert_eq!(form([("a", "x:y,z w&="), ("b", "~._-")]), "a=x%3Ay%2Cz%20w%26%3D&b=~._-");
    }
}
