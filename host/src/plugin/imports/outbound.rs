//! HTTP that plugins send: the one place where a request is compared with the plugin's grants,
//! and from which it is sent.
//!
//! Two front ends share it, `wharf:plugin/http` (`fetch`) and `wasi:http` (`wasi`); neither decides
//! anything.

pub(super) mod bindings;
mod connection;
mod dial;
mod exchange;
mod failure;
mod fetch;
mod pool;
mod resolve;
#[cfg(test)]
mod tests;
mod wasi;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{self, HeaderName, HeaderValue};
use http::{Request, Response, Uri};
use http_body::Body;
use tokio::runtime::Handle;
use tokio::sync::{OnceCell, Semaphore};
use tokio_rustls::TlsConnector;
use tokio_util::task::AbortOnDropHandle;

use super::granted::Granted;
use super::state::State;
use crate::plugin::events::Events;
use crate::plugin::policy::access::Access;
use crate::plugin::policy::denial::Lack;
use crate::plugin::policy::grants::Grants;
use crate::plugin::policy::outbound::grant::{HttpGrant, Wanted};
use crate::plugin::policy::outbound::headers;
use crate::plugin::policy::outbound::target::Target;
use crate::plugin::threads::Threads;
use connection::{BoxError, Route};
use exchange::{Exchange, Received};
use failure::Failure;
use pool::Pool;

pub use resolve::{Resolve, SystemResolver};
pub(in crate::plugin) use wasi::WasiHttp;

/// Threads for lookups of names, which block. Each counts as an exchange of its plugin.
const LOOKUPS: usize = 64;

/// How requests are sent.
#[derive(Debug, Clone)]
pub struct OutboundSettings {
    pub resolver: Arc<dyn Resolve>,
    pub caps: Caps,
}

impl Default for OutboundSettings {
    fn default() -> Self {
        Self { resolver: Arc::new(SystemResolver), caps: Caps::default() }
    }
}

/// The bounds of an exchange. The call's own time ends it too.
#[derive(Debug, Clone)]
pub struct Caps {
    /// For the plugin's turn, the name and the connection.
    pub connect: Duration,
    /// For the handshake of TLS.
    pub tls: Duration,
    /// From the request's first byte to the response's.
    pub first_byte: Duration,
    /// For all of it.
    pub whole: Duration,
    /// Bytes of a request's body.
    pub request: u64,
    /// Bytes of a response's body.
    pub response: u64,
    /// Header fields, in each direction.
    pub headers: usize,
    /// Exchanges of one plugin at the same time.
    pub exchanges: usize,
    /// How long a connection is kept for the next request of its plugin; none is if it is zero.
    pub idle: Duration,
}

impl Default for Caps {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(5),
            tls: Duration::from_secs(5),
            first_byte: Duration::from_secs(30),
            whole: Duration::from_secs(60),
            request: 16 << 20,
            response: 16 << 20,
            headers: 128,
            exchanges: 8,
            idle: Duration::from_secs(20),
        }
    }
}

/// What all plugins' requests share. They are sent on a thread of their own: a guest that
/// spins delays none of them, and none of them delays a guest.
pub(in crate::plugin) struct Outbound {
    threads: Threads,
    resolver: Arc<dyn Resolve>,
    caps: Caps,
    connector: OnceCell<TlsConnector>,
    /// Places for connections that are idle.
    idle: Arc<Semaphore>,
}

impl Outbound {
    pub(in crate::plugin) fn start(settings: OutboundSettings) -> std::io::Result<Arc<Self>> {
        let OutboundSettings { resolver, caps } = settings;
        let threads = Threads::start("wharf-outbound", 1, LOOKUPS)?;
        let idle = Arc::new(Semaphore::new(pool::IN_ALL));
        Ok(Arc::new(Self { threads, resolver, caps, connector: OnceCell::new(), idle }))
    }

    fn handle(&self) -> &Handle {
        self.threads.handle()
    }

    /// What is trusted, read when it is first needed.
    async fn connector(&self) -> Result<TlsConnector, Failure> {
        let made = self.connector.get_or_try_init(|| async {
            let made =
                tokio::task::spawn_blocking(dial::connector).await.unwrap_or_else(|error| Err(error.to_string()));
            made.map_err(|why| {
                tracing::error!("failed to set up TLS for plugins: {why}");
                Failure::Host
            })
        });
        made.await.cloned()
    }
}

/// What one plugin may send.
pub(in crate::plugin) struct Allowed {
    rules: Vec<Rule>,
    turns: Arc<Semaphore>,
    pool: Arc<Pool>,
    outbound: Arc<Outbound>,
}

/// An entry of the grant with the secrets filled in.
struct Rule {
    grant: HttpGrant,
    /// Or what it lacks. It still decides on what it covers: a later entry may not add what this
    /// one does.
    headers: Result<Headers, Lack>,
}

type Headers = Vec<(HeaderName, HeaderValue)>;

impl Allowed {
    pub(in crate::plugin) fn new(grants: &Grants, outbound: Arc<Outbound>) -> Self {
        let secret = |name: &str| grants.secret(name);
        let rule = |grant: &HttpGrant| {
            let filled = grant.headers.iter().map(|(name, value)| Some((name.clone(), value.fill(secret)?)));
            let headers = filled.collect::<Option<_>>().ok_or_else(|| grants.lack_of(grant));
            Rule { grant: grant.clone(), headers }
        };
        let rules = grants.http.iter().map(rule).collect();
        let turns = Arc::new(Semaphore::new(outbound.caps.exchanges));
        let pool = Pool::new(outbound.idle.clone(), outbound.caps.idle, outbound.handle().clone());
        Self { rules, turns, pool, outbound }
    }

    /// The line that grants what there is, and that too.
    fn line_with(&self, entry: &HttpGrant) -> String {
        let entries = self.rules.iter().map(|rule| &rule.grant).filter(|grant| **grant != entry.clone().private(false));
        let entries: Vec<String> = entries.chain([entry]).map(HttpGrant::to_string).collect();
        format!("http = [{}]", entries.join(", "))
    }
}

/// What a guest asks for beyond the caps; none of it exceeds them.
#[derive(Default)]
struct Patience {
    connect: Option<Duration>,
    first_byte: Option<Duration>,
    between: Option<Duration>,
    whole: Option<Duration>,
}

/// Sends the requests of one call.
#[derive(Clone)]
struct Sender {
    granted: Arc<Granted>,
    events: Option<Arc<Events>>,
}

impl Sender {
    fn of(state: &State) -> Self {
        Self { granted: state.granted.clone(), events: state.events.clone() }
    }

    /// Sends a request whose URI is absolute, if the plugin was granted that. Dropping the
    /// future, or a body that was not read whole, closes the connection.
    async fn send<B>(self, request: Request<B>, patience: Patience) -> Result<Response<Received>, Failure>
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        let allowed = &self.granted.http;
        let invalid = |why: &str| Failure::Invalid(why.into());
        let wanted = Wanted::of(request.method(), request.uri()).map_err(invalid)?;
        let Some(rule) = allowed.rules.iter().find(|rule| rule.grant.covers(&wanted)) else {
            let entry = wanted.grant(wanted.target.is_inside());
            self.deny(&entry);
            let first = allowed.rules.is_empty();
            let would = if first { format!("http = [{entry}]") } else { format!("{entry}, added to its http") };
            return Err(Failure::NotGranted(would));
        };
        let headers = rule.headers.as_ref().map_err(|lack| {
            self.granted.withhold(self.events.as_deref(), Access::Http, lack);
            Failure::Lacking(lack.to_string())
        })?;
        let outbound = allowed.outbound.clone();
        let mut caps = outbound.caps.clone();
        let shorter = |cap: &mut Duration, asked: Option<Duration>| *cap = asked.unwrap_or(*cap).min(*cap);
        shorter(&mut caps.connect, patience.connect);
        shorter(&mut caps.first_byte, patience.first_byte);
        shorter(&mut caps.whole, patience.whole);
        let request = outgoing(request, &wanted, headers, caps.headers)?;
        let exchange = Exchange {
            request: request.map(|body| connection::outgoing(body, caps.request)),
            route: Route { target: wanted.target.clone(), private: rule.grant.private },
            between: patience.between.unwrap_or(caps.whole),
            turns: allowed.turns.clone(),
            pool: allowed.pool.clone(),
            caps,
        };
        let task = outbound.handle().spawn(exchange.run(outbound.clone()));
        let outcome = AbortOnDropHandle::new(task).await.unwrap_or_else(|error| {
            tracing::error!("an exchange's task failed: {error}");
            Err(Failure::Host)
        });
        match outcome {
            Err(Failure::NotPublic) => {
                self.deny(&rule.grant.clone().private(true));
                Err(Failure::NotPublic)
            }
            outcome => outcome,
        }
    }

    fn deny(&self, entry: &HttpGrant) {
        self.granted.deny(self.events.as_deref(), Access::Http, || self.granted.http.line_with(entry));
    }
}

/// The request as it is sent: in origin-form, with the host's own fields and those of the entry
/// in place of the guest's.
fn outgoing<B: Body>(request: Request<B>, wanted: &Wanted, own: &Headers, most: usize) -> Result<Request<B>, Failure> {
    let (mut parts, body) = request.into_parts();
    let invalid = |why: &str| Failure::Invalid(why.into());
    if parts.headers.get_all(header::HOST).iter().any(|host| !names(host, &wanted.target)) {
        return Err(invalid("its Host is not that of its URL"));
    }
    // Without a body, a server would take the head of the connection's next request for it.
    let length =
        parts.headers.get(header::CONTENT_LENGTH).filter(|told| *told == "0" || !body.is_end_stream()).cloned();
    headers::strip(&mut parts.headers, length);
    for (name, value) in own {
        parts.headers.insert(name, value.clone());
    }
    let host = HeaderValue::try_from(wanted.target.authority()).map_err(|_| invalid("its host is none"))?;
    parts.headers.insert(header::HOST, host);
    if parts.headers.len() > most {
        return Err(invalid("it has too many header fields"));
    }
    let path = match parts.uri.query() {
        Some(query) => format!("{}?{query}", wanted.path),
        None => wanted.path.clone(),
    };
    parts.uri = Uri::try_from(path).map_err(|_| invalid("its path is none"))?;
    Ok(Request::from_parts(parts, body))
}

/// Whether a `Host` names that target.
fn names(host: &HeaderValue, target: &Target) -> bool {
    let authority = host.to_str().ok().and_then(|host| host.parse().ok());
    authority.and_then(|authority| Target::at(target.https, &authority).ok()).is_some_and(|named| named == *target)
}
