//! The thread that exports: it takes what has ended, and sends it.

use std::io;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{Request, StatusCode};
use http_body_util::Full;
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceResponse;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceResponse;
use prost::Message;
use tokio::runtime::Runtime;
use tokio::time::{sleep, timeout};

use super::otlp;
use super::settings::{Endpoint, Settings};
use crate::metrics::read;
use crate::net::http::{Http, NamedBy};
use crate::text::quote;
use crate::traces::Queue;

/// Bytes of an answer.
const MAX_ANSWER: u64 = 64 << 10;
/// Before a request is sent once more.
const PAUSES: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(3)];

/// A running thread.
pub struct Exporter {
    queue: Arc<Queue>,
    /// Closed by the thread when it ends.
    ended: mpsc::Receiver<()>,
}

impl Exporter {
    /// Exports from now on what comes into `queue`, and what `metrics` says.
    ///
    /// # Errors
    /// If the thread cannot be started.
    pub fn start(settings: Settings, queue: Arc<Queue>, metrics: Box<dyn Fn() -> String + Send>) -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (sender, ended) = mpsc::channel();
        let mut export = Export {
            began: nanoseconds(SystemTime::now()),
            http: Http::default(),
            traces: Signal::new("traces"),
            metrics: Signal::new("metrics"),
            runtime,
            settings,
        };
        let own = queue.clone();
        thread::Builder::new().name("wharf-telemetry".into()).spawn(move || {
            export.run(&own, &*metrics);
            drop(sender);
        })?;
        Ok(Self { queue, ended })
    }

    /// Exports what is left, if it takes no longer.
    pub fn close(self, within: Duration) {
        self.queue.close();
        let _ = self.ended.recv_timeout(within);
    }
}

/// What is known of the exports of one signal.
struct Signal {
    name: &'static str,
    is_failing: bool,
    has_rejected: bool,
}

/// Why an export failed.
struct Failed {
    why: String,
    /// It may succeed later.
    is_temporary: bool,
}

struct Export {
    settings: Settings,
    http: Http,
    runtime: Runtime,
    /// When counting began, in nanoseconds since 1970.
    began: u64,
    traces: Signal,
    metrics: Signal,
}

impl Export {
    fn run(&mut self, queue: &Queue, text: &dyn Fn() -> String) {
        let mut due = Instant::now() + self.settings.interval;
        loop {
            let batch = queue.take(due.min(Instant::now() + self.settings.delay));
            if batch.dropped > 0 {
                tracing::warn!("{} traces were dropped: they come faster than they are exported", batch.dropped);
            }
            if let Some(endpoint) = &self.settings.traces {
                for ended in batch.ended.chunks(self.settings.batch) {
                    let body = otlp::spans::request(&self.settings.resource, ended).encode_to_vec();
                    let sent = self.runtime.block_on(send(&self.http, endpoint, body, batch.is_closed));
                    let rejected = |answer: &[u8]| {
                        let partial = ExportTraceServiceResponse::decode(answer).ok()?.partial_success?;
                        (partial.rejected_spans > 0).then_some(partial.error_message)
                    };
                    self.traces.tell(endpoint, sent, rejected);
                }
            }
            if batch.is_closed || Instant::now() >= due {
                due = Instant::now() + self.settings.interval;
                if let Some(endpoint) = &self.settings.metrics {
                    let families = read::read(&text()).unwrap_or_else(|error| {
                        // It is the host's own text.
                        tracing::error!("failed to read the metrics: {error}");
                        Vec::new()
                    });
                    let now = nanoseconds(SystemTime::now());
                    let request = otlp::metrics::request(&self.settings.resource, &families, self.began, now);
                    let body = request.encode_to_vec();
                    let sent = self.runtime.block_on(send(&self.http, endpoint, body, batch.is_closed));
                    let rejected = |answer: &[u8]| {
                        let partial = ExportMetricsServiceResponse::decode(answer).ok()?.partial_success?;
                        (partial.rejected_data_points > 0).then_some(partial.error_message)
                    };
                    self.metrics.tell(endpoint, sent, rejected);
                }
            }
            if batch.is_closed {
                return;
            }
        }
    }
}

impl Signal {
    fn new(name: &'static str) -> Self {
        Self { name, is_failing: false, has_rejected: false }
    }

    /// Says once that exports fail, and once that they do not any more.
    fn tell(&mut self, endpoint: &Endpoint, sent: Result<Vec<u8>, Failed>, rejected: impl Fn(&[u8]) -> Option<String>) {
        let (name, at) = (self.name, format!("{}{}", endpoint.target, endpoint.uri.path()));
        match sent {
            Err(failed) if !self.is_failing => {
                tracing::warn!("failed to export {name} to {at}: {}", quote(&failed.why, 300));
                self.is_failing = true;
            }
            Err(failed) => tracing::debug!("failed to export {name} to {at}: {}", quote(&failed.why, 300)),
            Ok(answer) => {
                if self.is_failing {
                    tracing::info!("{name} are exported again to {at}");
                    self.is_failing = false;
                }
                if let Some(why) = rejected(&answer).filter(|_| !self.has_rejected) {
                    tracing::warn!("{at} rejected some of the {name}: {}", quote(&why, 300));
                    self.has_rejected = true;
                }
            }
        }
    }
}

/// Sends a request, and once more after a pause if that may help.
async fn send(http: &Http, endpoint: &Endpoint, body: Vec<u8>, is_last: bool) -> Result<Vec<u8>, Failed> {
    let body = Bytes::from(body);
    let mut pauses = PAUSES.iter().filter(|_| !is_last);
    loop {
        let sent = timeout(endpoint.timeout, post(http, endpoint, body.clone())).await;
        let failed = match sent {
            Ok(Ok(answer)) => return Ok(answer),
            Ok(Err(failed)) => failed,
            Err(_) => Failed { why: "it did not answer in time".into(), is_temporary: true },
        };
        match pauses.next() {
            Some(pause) if failed.is_temporary => sleep(*pause).await,
            _ => return Err(failed),
        }
    }
}

async fn post(http: &Http, endpoint: &Endpoint, body: Bytes) -> Result<Vec<u8>, Failed> {
    let mut request = Request::new(Full::new(body));
    *request.method_mut() = http::Method::POST;
    *request.uri_mut() = endpoint.uri.clone();
    request.headers_mut().insert(CONTENT_TYPE, http::HeaderValue::from_static("application/x-protobuf"));
    for (name, value) in &endpoint.headers {
        request.headers_mut().insert(name, value.clone());
    }
    let failed = |why: String| Failed { why, is_temporary: true };
    let sent = http.send(request, &endpoint.target, NamedBy::Person).await;
    let received = sent.map_err(|error| failed(error.to_string()))?;
    let status = received.response.status();
    let answer = received.text("its answer", MAX_ANSWER).await.map_err(|error| failed(error.to_string()))?;
    if status.is_success() {
        return Ok(answer);
    }
    // OTLP, "Failures": these may be tried again.
    let is_temporary = matches!(
        status,
        StatusCode::TOO_MANY_REQUESTS
            | StatusCode::BAD_GATEWAY
            | StatusCode::SERVICE_UNAVAILABLE
            | StatusCode::GATEWAY_TIMEOUT
    );
    Err(Failed { why: format!("it answered {status}"), is_temporary })
}

pub(super) fn nanoseconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).map_or(0, |since| u64::try_from(since.as_nanos()).unwrap_or(u64::MAX))
}
