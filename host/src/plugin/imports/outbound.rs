//! Outbound HTTP of plugins: the only place that checks requests against the plugin's grants and
//! sends them.
//!
//! Two front ends share it, `wharf:plugin/http` (`fetch`) and `wasi:http` (`wasi`); neither enforces
//! policy.

pub(super) mod bindings;
mod connection;
mod exchange;
mod failure;
mod fetch;
mod pool;
mod span;
mod taped;
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
use super::state::GuestState;
use crate::identity::Identity;
use crate::metrics::Cost;
use crate::net::dial;
use crate::net::resolve::{Resolve, SystemResolver};
use crate::net::target::Target;
use crate::plugin::events::Events;
use crate::plugin::policy::access::Access;
use crate::plugin::policy::denial::GrantProblem;
use crate::plugin::policy::grants::Grants;
use crate::plugin::policy::outbound::grant::{HttpGrant, Requested};
use crate::plugin::policy::outbound::headers;
use crate::plugin::policy::redact::call::Redaction;
use crate::plugin::policy::secret::Missing;
use crate::plugin::tape::Tape;
use crate::plugin::threads::Threads;
use crate::traces::SpanId;
use connection::{BoxError, Route};
use exchange::{Exchange, Received};
use failure::Failure;
use pool::Pool;
use span::RequestSpan;

pub(in crate::plugin) use wasi::WasiHttp;

/// Maximum threads for DNS lookups, which block. Each counts as an exchange of its plugin.
const MAX_LOOKUPS: usize = 64;

/// Settings of outbound HTTP.
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

/// The limits of an exchange. The call's timeout applies too.
#[derive(Debug, Clone)]
pub struct Caps {
    /// For the plugin's permit, the DNS lookup and the connection.
    pub connect: Duration,
    /// For the TLS handshake.
    pub tls: Duration,
    /// From the request's first byte to the response's.
    pub first_byte: Duration,
    /// For the whole exchange.
    pub whole: Duration,
    /// Bytes of a request body.
    pub request: u64,
    /// Bytes of a response body.
    pub response: u64,
    /// Header fields, in each direction.
    pub headers: usize,
    /// Concurrent exchanges of one plugin.
    pub exchanges: usize,
    /// How long an idle connection is kept for the next request of its plugin; zero disables this.
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

/// Shared by the requests of all plugins. They are sent on a separate thread: a guest that
/// spins delays none of them, and none of them delays a guest.
pub(in crate::plugin) struct Outbound {
    threads: Threads,
    resolver: Arc<dyn Resolve>,
    caps: Caps,
    connector: OnceCell<TlsConnector>,
    /// Permits for idle connections.
    idle: Arc<Semaphore>,
}

impl Outbound {
    pub(in crate::plugin) fn start(settings: OutboundSettings) -> std::io::Result<Arc<Self>> {
        let OutboundSettings { resolver, caps } = settings;
        let threads = Threads::start("wharf-outbound", 1, MAX_LOOKUPS)?;
        let idle = Arc::new(Semaphore::new(pool::MAX_TOTAL));
        Ok(Arc::new(Self { threads, resolver, caps, connector: OnceCell::new(), idle }))
    }

    fn handle(&self) -> &Handle {
        self.threads.handle()
    }

    /// TLS with the trusted root certificates, read when first needed.
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

/// The outbound HTTP of one plugin.
pub(in crate::plugin) struct PluginOutbound {
    rules: Vec<Rule>,
    exchanges: Arc<Semaphore>,
    pool: Arc<Pool>,
    outbound: Arc<Outbound>,
}

/// An entry of the grant, with its secrets filled in.
struct Rule {
    grant: HttpGrant,
    /// Or why the entry cannot be used. It still applies to the requests that it covers: a later
    /// entry must not send them with other header fields. `None`: they need a token of the caller,
    /// which is had when a request is sent.
    headers: Option<Result<Headers, GrantProblem>>,
}

type Headers = Vec<(HeaderName, HeaderValue)>;

impl PluginOutbound {
    pub(in crate::plugin) fn new(grants: &Grants, outbound: Arc<Outbound>) -> Self {
        let exchanges = Arc::new(Semaphore::new(outbound.caps.exchanges));
        let pool = Pool::new(outbound.idle.clone(), outbound.caps.idle, outbound.handle().clone());
        Self { rules: Self::rules(grants), exchanges, pool, outbound }
    }

    /// The same with other secrets.
    pub(in crate::plugin) fn with_secrets(&self, grants: &Grants) -> Self {
        let Self { rules: _, exchanges, pool, outbound } = self;
        Self {
            rules: Self::rules(grants),
            exchanges: exchanges.clone(),
            pool: pool.clone(),
            outbound: outbound.clone(),
        }
    }

    fn rules(grants: &Grants) -> Vec<Rule> {
        let secret = |name: &str| grants.secret(name);
        let is_exchanged =
            |name: &str| grants.secrets.iter().any(|secret| secret.is_exchanged() && secret.name == name);
        let rule = |grant: &HttpGrant| {
            if grant.secrets().any(is_exchanged) {
                return Rule { grant: grant.clone(), headers: None };
            }
            let filled = grant.headers.iter().map(|(name, value)| Some((name.clone(), value.fill(secret)?)));
            let headers = filled.collect::<Option<_>>().ok_or_else(|| grants.problem_of(grant));
            Rule { grant: grant.clone(), headers: Some(headers) }
        };
        grants.http.iter().map(rule).collect()
    }
}

/// Timeouts that a guest sets, capped by [`Caps`].
#[derive(Default)]
struct GuestTimeouts {
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
    caller: Option<Arc<Identity>>,
    redaction: Redaction,
    cost: Option<Arc<Cost>>,
    /// The span of the guest.
    within: Option<SpanId>,
    tape: Option<Tape>,
}

impl Sender {
    fn of(state: &GuestState) -> Self {
        let GuestState { granted, events, identity, redaction, cost, within, tape, .. } = state;
        Self {
            granted: granted.clone(),
            events: events.clone(),
            caller: identity.clone(),
            redaction: redaction.clone(),
            cost: cost.clone(),
            within: *within,
            tape: tape.clone(),
        }
    }

    /// Sends a request with an absolute URI, if a grant covers it. Dropping the future, or a body
    /// that was not read to its end, closes the connection.
    async fn send<B>(self, request: Request<B>, timeouts: GuestTimeouts) -> Result<Response<Received>, Failure>
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        let own = &self.granted.http;
        let invalid = |why: &str| Failure::Invalid(why.into());
        let requested = Requested::of(request.method(), request.uri()).map_err(invalid)?;
        let Some(rule) = own.rules.iter().find(|rule| rule.grant.covers(&requested)) else {
            let entry = requested.grant(requested.target.is_private());
            let covers = |grants: &Grants| grants.http.iter().any(|own| own.covers(&requested));
            self.deny(&entry, covers);
            let first = own.rules.is_empty();
            let would = if first { format!("http = [{entry}]") } else { format!("{entry}, added to its http") };
            return Err(Failure::NotGranted(would));
        };
        let headers = match &rule.headers {
            Some(headers) => headers.clone(),
            None => self.with_tokens(&rule.grant).await,
        };
        let headers = headers.map_err(|problem| {
            self.granted.deny_unusable(self.events.as_deref(), Access::Http, &problem);
            Failure::Unusable(problem.to_string())
        })?;
        let begin = |cost: &Arc<Cost>| RequestSpan::begin(cost, self.within, request.method(), &requested.target);
        let mut span = self.cost.as_ref().and_then(begin);
        let outbound = own.outbound.clone();
        let mut caps = outbound.caps.clone();
        let shorter = |cap: &mut Duration, asked: Option<Duration>| *cap = asked.unwrap_or(*cap).min(*cap);
        shorter(&mut caps.connect, timeouts.connect);
        shorter(&mut caps.first_byte, timeouts.first_byte);
        shorter(&mut caps.whole, timeouts.whole);
        let mut request = prepare(request, &requested, &headers, caps.headers)?;
        if let Some(span) = &span {
            span.tell(request.headers_mut());
        }
        let exchange = Exchange {
            request: request.map(|body| connection::request_body(body, caps.request)),
            route: Route { target: requested.target.clone(), private: rule.grant.private },
            between: timeouts.between.unwrap_or(caps.whole),
            exchanges: own.exchanges.clone(),
            pool: own.pool.clone(),
            caps,
        };
        let began = tokio::time::Instant::now();
        let task = outbound.handle().spawn(exchange.run(outbound.clone()));
        let outcome = AbortOnDropHandle::new(task).await.unwrap_or_else(|error| {
            tracing::error!("an exchange's task failed: {error}");
            Err(Failure::Host)
        });
        if let Some(cost) = &self.cost {
            cost.add_upstream(began.elapsed());
        }
        if let Some(span) = &mut span {
            match &outcome {
                Ok(response) => span.answered(response.status()),
                Err(failure) => span.failed(failure.kind()),
            }
        }
        match outcome {
            Err(Failure::NotPublic) => {
                let private = |grants: &Grants| grants.http.iter().any(|own| own.private && own.covers(&requested));
                self.deny(&rule.grant.clone().private(true), private);
                Err(Failure::NotPublic)
            }
            outcome => outcome,
        }
    }

    /// The header fields of an entry with tokens in the caller's name, which are not sent anywhere else.
    async fn with_tokens(&self, entry: &HttpGrant) -> Result<Headers, GrantProblem> {
        let grants = &self.granted.grants;
        let mut tokens = Vec::new();
        for secret in grants.secrets.iter().filter(|secret| secret.is_exchanged()) {
            if !entry.secrets().any(|name| name == secret.name) {
                continue;
            }
            let Some(caller) = self.caller.clone() else {
                let why = String::from("is only for calls of users");
                let missing = Missing { why, hint: "call it as a user".into(), temporary: false };
                return Err(missing.problem(&secret.name));
            };
            let (personal, name) = (self.granted.personal.clone(), secret.name.clone());
            // On the threads for such: a guest that spins delays none.
            let had =
                self.granted.http.outbound.handle().spawn(async move { personal.value(&name, true, &caller).await });
            let had = AbortOnDropHandle::new(had).await.unwrap_or_else(|error| {
                tracing::error!("an exchange of tokens failed: {error}");
                Err(Missing { why: "cannot be had now".into(), hint: "try again".into(), temporary: true })
            });
            let token = had.map_err(|missing| missing.problem(&secret.name))?;
            self.redaction.add(&secret.name, token.expose());
            tokens.push((&secret.name, token));
        }
        let value = |name: &str| {
            let token = tokens.iter().find(|(own, _)| *own == name).map(|(_, token)| token.expose());
            token.or_else(|| grants.secret(name))
        };
        let filled = entry.headers.iter().map(|(name, template)| Some((name.clone(), template.fill(value)?)));
        filled.collect::<Option<_>>().ok_or_else(|| grants.problem_of(entry))
    }

    /// `has`: whether grants of other callers would allow it.
    fn deny(&self, entry: &HttpGrant, has: impl Fn(&Grants) -> bool) {
        let remedy = || {
            // A plain entry is quoted in the configuration only.
            let written = entry.to_string();
            let word = format!("http={}", written.trim_matches('"'));
            // The host may be a token that the plugin's request was given, and that came back.
            (self.redaction.text(&self.granted.line_with(entry)), self.redaction.text(&word))
        };
        self.granted.deny_unless(has, self.events.as_deref(), Access::Http, remedy);
    }
}

/// Prepares the request: origin-form, with the host's fields and those of the entry
/// replacing the guest's.
fn prepare<B: Body>(
    request: Request<B>,
    requested: &Requested,
    own: &Headers,
    limit: usize,
) -> Result<Request<B>, Failure> {
    let (mut parts, body) = request.into_parts();
    let invalid = |why: &str| Failure::Invalid(why.into());
    if parts.headers.get_all(header::HOST).iter().any(|host| !names(host, &requested.target)) {
        return Err(invalid("its Host does not match its URL"));
    }
    // Without a body, a server would parse the connection's next request as this one's body.
    let length =
        parts.headers.get(header::CONTENT_LENGTH).filter(|length| *length == "0" || !body.is_end_stream()).cloned();
    headers::strip(&mut parts.headers, length);
    for (name, value) in own {
        parts.headers.insert(name, value.clone());
    }
    let host = HeaderValue::try_from(requested.target.authority()).map_err(|_| invalid("its host is invalid"))?;
    parts.headers.insert(header::HOST, host);
    if parts.headers.len() > limit {
        return Err(invalid("it has too many header fields"));
    }
    let path = match parts.uri.query() {
        Some(query) => format!("{}?{query}", requested.path),
        None => requested.path.clone(),
    };
    parts.uri = Uri::try_from(path).map_err(|_| invalid("its path is invalid"))?;
    Ok(Request::from_parts(parts, body))
}

/// Whether a `Host` field names that target.
fn names(host: &HeaderValue, target: &Target) -> bool {
    let authority = host.to_str().ok().and_then(|host| host.parse().ok());
    authority.and_then(|authority| Target::at(target.https, &authority).ok()).is_some_and(|named| named == *target)
}
