//! The threads that export: they take what has ended, and what was counted, and send it.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::RecvTimeoutError;
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
use super::retry_after::retry_after;
use super::settings::{Endpoint, Settings};
use crate::metrics::read;
use crate::net::http::{Http, NamedBy};
use crate::text::quote;
use crate::traces::Queue;

/// Bytes of an answer.
const MAX_ANSWER: u64 = 64 << 10;
/// Before a request is sent once more.
const PAUSES: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(3)];
/// The longest that a collector is waited for if it wants no requests for a while.
const LONGEST_PAUSE: Duration = Duration::from_secs(5 * 60);

/// The running threads.
pub struct Exporter {
    queue: Arc<Queue>,
    /// Traces that were taken from it, and are not exported yet.
    unsent: Arc<AtomicUsize>,
    /// Dropped to end that of metrics.
    stop: Option<mpsc::Sender<()>>,
    /// Closed when both have ended.
    ended: mpsc::Receiver<()>,
}

impl Exporter {
    /// Exports from now on what comes into `queue`, and what `metrics` says: each from a thread of its own, so that a
    /// collector that hangs delays nothing for another one.
    ///
    /// # Errors
    /// If a thread cannot be started.
    pub fn start(settings: Settings, queue: Arc<Queue>, metrics: Box<dyn Fn() -> String + Send>) -> io::Result<Self> {
        let Settings { traces, metrics: to_metrics, interval, delay, batch, resource, .. } = settings;
        let (sender, ended) = mpsc::channel();
        let unsent = Arc::new(AtomicUsize::new(0));
        if let Some(endpoint) = traces {
            let mut signal = Signal::new("traces", endpoint, sender.clone())?;
            let from = Source { queue: queue.clone(), unsent: unsent.clone(), delay, batch };
            let resource = resource.clone();
            spawn("wharf-traces", move || export_traces(&mut signal, &from, &resource))?;
        }
        let (stop, stopped) = mpsc::channel();
        if let Some(endpoint) = to_metrics {
            let mut signal = Signal::new("metrics", endpoint, sender)?;
            spawn("wharf-metrics", move || export_metrics(&mut signal, &*metrics, interval, &stopped, &resource))?;
        }
        Ok(Self { queue, unsent, stop: Some(stop), ended })
    }

    /// Exports what is left, if it takes no longer. Says how many traces could not be.
    pub fn close(mut self, within: Duration) {
        self.queue.close();
        self.stop = None;
        // Nothing is sent: it ends with the last of the threads.
        let _ = self.ended.recv_timeout(within);
        let left = self.queue.take(Instant::now());
        let lost = self.unsent.load(Ordering::Relaxed) as u64 + left.ended.len() as u64 + left.dropped;
        if lost > 0 {
            tracing::warn!("{lost} traces were dropped: the server stops, and they were not exported in time");
        }
    }
}

fn spawn(name: &str, run: impl FnOnce() + Send + 'static) -> io::Result<()> {
    thread::Builder::new().name(name.into()).spawn(run).map(drop)
}

/// Where traces come from.
struct Source {
    queue: Arc<Queue>,
    unsent: Arc<AtomicUsize>,
    delay: Duration,
    /// Requests of one export.
    batch: usize,
}

fn export_traces(signal: &mut Signal, from: &Source, resource: &[(String, String)]) {
    let rejected = |answer: &[u8]| {
        let partial = ExportTraceServiceResponse::decode(answer).ok()?.partial_success?;
        (partial.rejected_spans > 0).then_some(partial.error_message)
    };
    loop {
        let batch = from.queue.take(Instant::now() + from.delay);
        from.unsent.fetch_add(batch.ended.len(), Ordering::Relaxed);
        if batch.dropped > 0 {
            tracing::warn!("{} traces were dropped: more come than can be exported", batch.dropped);
        }
        for ended in batch.ended.chunks(from.batch) {
            let is_sent =
                signal.export(otlp::spans::request(resource, ended).encode_to_vec(), batch.is_closed, rejected);
            // What could not be sent at the end is told of there.
            if is_sent || !batch.is_closed {
                from.unsent.fetch_sub(ended.len(), Ordering::Relaxed);
            }
        }
        if batch.is_closed {
            return;
        }
    }
}

fn export_metrics(
    signal: &mut Signal,
    text: &dyn Fn() -> String,
    interval: Duration,
    stopped: &mpsc::Receiver<()>,
    resource: &[(String, String)],
) {
    let began = nanoseconds(SystemTime::now());
    let rejected = |answer: &[u8]| {
        let partial = ExportMetricsServiceResponse::decode(answer).ok()?.partial_success?;
        (partial.rejected_data_points > 0).then_some(partial.error_message)
    };
    loop {
        let is_last = stopped.recv_timeout(interval) != Err(RecvTimeoutError::Timeout);
        match read::read(&text()) {
            Ok(families) => {
                let now = nanoseconds(SystemTime::now());
                let request = otlp::metrics::request(resource, &families, began, now);
                signal.export(request.encode_to_vec(), is_last, rejected);
            }
            // It is the host's own text.
            Err(error) => tracing::error!("failed to read the metrics: {error}"),
        }
        if is_last {
            return;
        }
    }
}

/// Where one signal goes, and what is known of its exports.
struct Signal {
    name: &'static str,
    endpoint: Endpoint,
    http: Http,
    runtime: Runtime,
    /// The collector wants nothing before.
    not_before: Option<Instant>,
    is_failing: bool,
    has_rejected: bool,
    _running: mpsc::Sender<()>,
}

/// Why an export failed.
struct Failed {
    why: String,
    /// It may succeed later.
    is_temporary: bool,
    /// Not before.
    retry_after: Option<Duration>,
}

impl Signal {
    fn new(name: &'static str, endpoint: Endpoint, running: mpsc::Sender<()>) -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let http = Http::default();
        let not_before = None;
        Ok(Self {
            name,
            endpoint,
            http,
            runtime,
            not_before,
            is_failing: false,
            has_rejected: false,
            _running: running,
        })
    }

    /// Says once that exports fail, and once that they do not any more. `is_last`: there is no time to try again. Returns
    /// whether it was exported.
    fn export(&mut self, body: Vec<u8>, is_last: bool, rejected: impl Fn(&[u8]) -> Option<String>) -> bool {
        let not_before = &mut self.not_before;
        let sent = self.runtime.block_on(send(&self.http, &self.endpoint, body, (not_before, is_last)));
        let is_sent = sent.is_ok();
        let (name, at) = (self.name, format!("{}{}", self.endpoint.target, self.endpoint.uri.path()));
        match sent {
            Err(failed) if !self.is_failing => {
                tracing::warn!("failed to export {name} to {at}: {}", quote(&failed.why, 300));
                self.is_failing = true;
            }
            Err(failed) => tracing::debug!("failed to export {name} to {at}: {}", quote(&failed.why, 300)),
            Ok(answer) => {
                if std::mem::take(&mut self.is_failing) {
                    tracing::info!("{name} are exported again to {at}");
                }
                if let Some(why) = rejected(&answer).filter(|_| !self.has_rejected) {
                    tracing::warn!("{at} rejected some of the {name}: {}", quote(&why, 300));
                    self.has_rejected = true;
                }
            }
        }
        is_sent
    }
}

/// Sends a request, and once more after a pause if that may help.
async fn send(
    http: &Http,
    endpoint: &Endpoint,
    body: Vec<u8>,
    (not_before, is_last): (&mut Option<Instant>, bool),
) -> Result<Vec<u8>, Failed> {
    let body = Bytes::from(body);
    let mut pauses = PAUSES.iter().filter(|_| !is_last);
    loop {
        let wanted = not_before.map_or(Duration::ZERO, |until| until.saturating_duration_since(Instant::now()));
        if is_last && !wanted.is_zero() {
            return Err(Failed {
                why: "it wants no requests for a while".into(),
                is_temporary: true,
                retry_after: None,
            });
        }
        sleep(wanted).await;
        let sent = timeout(endpoint.timeout, post(http, endpoint, body.clone())).await;
        let failed = match sent {
            Ok(Ok(answer)) => return Ok(answer),
            Ok(Err(failed)) => failed,
            Err(_) => Failed { why: "it did not answer in time".into(), is_temporary: true, retry_after: None },
        };
        *not_before = failed.retry_after.map(|wait| Instant::now() + wait.min(LONGEST_PAUSE));
        match pauses.next() {
            Some(_) if failed.is_temporary && not_before.is_some() => {}
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
    let failed = |why: String| Failed { why, is_temporary: true, retry_after: None };
    let sent = http.send(request, &endpoint.target, NamedBy::Person).await;
    let received = sent.map_err(|error| failed(error.to_string()))?;
    let status = received.response.status();
    let retry_after = retry_after(received.response.headers(), SystemTime::now());
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
    Err(Failed {
        why: format!("it answered {status}"),
        is_temporary,
        retry_after: retry_after.filter(|_| is_temporary),
    })
}

pub(super) fn nanoseconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).map_or(0, |since| u64::try_from(since.as_nanos()).unwrap_or(u64::MAX))
}
