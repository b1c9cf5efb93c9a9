//! `[telemetry]`: traces and metrics by OTLP, as a collector gets them.

mod context;
mod failing;

use std::os::unix::fs::PermissionsExt as _;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;
use opentelemetry_proto::tonic::metrics::v1::Metric;
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::trace::v1::Span;
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use prost::Message;
use serde_json::{Value, json};

use crate::support::TIMEOUT;
use crate::support::client::Client;
use crate::support::guest::Guest;
use crate::support::home::Home;
use crate::support::http::{HttpConnection, serve};
use crate::support::process::{Process, command, run};
use crate::support::site::{Site, field, write};
use crate::support::streamable::{Endpoint, request, stateless};

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT: &str = "00f067aa0ba902b7";

/// A collector, and what it gets: the path, the head and the body of each request.
struct Collector {
    site: Site,
    received: Receiver<(String, Vec<u8>)>,
}

impl Collector {
    fn start(status: &'static str) -> Self {
        let (sender, received): (Sender<(String, Vec<u8>)>, _) = channel();
        let site = Site::start(move |head, connection| {
            let length = field(head, "content-length").and_then(|length| length.parse().ok()).expect("a length");
            let mut body = vec![0; length];
            connection.read_exact(&mut body).expect("a body");
            let _ = sender.send((head.to_owned(), body));
            write(connection, status, "Content-Type: application/x-protobuf\r\n", "");
        });
        Self { site, received }
    }

    fn config(&self, more: &str) -> String {
        format!("[telemetry]\nendpoint = '{}'\n{more}\n", self.site.url(""))
    }

    /// The spans that come until one of them is what is wanted.
    fn spans(&self, wanted: impl Fn(&Span) -> bool) -> Vec<Span> {
        let mut spans = Vec::new();
        let until = Instant::now() + TIMEOUT;
        while !spans.iter().any(&wanted) {
            let left = until.saturating_duration_since(Instant::now());
            let (head, body) = self.received.recv_timeout(left).expect("the span is exported");
            if head.starts_with("POST /v1/traces ") {
                let request = ExportTraceServiceRequest::decode(&*body).expect("OTLP");
                let scoped = request.resource_spans.into_iter().flat_map(|each| each.scope_spans);
                spans.extend(scoped.flat_map(|each| each.spans));
            }
        }
        spans
    }

    /// Metrics, once one of them is what is wanted.
    fn metrics(&self, wanted: impl Fn(&Metric) -> bool) -> Vec<Metric> {
        let until = Instant::now() + TIMEOUT;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let (head, body) = self.received.recv_timeout(left).expect("the metric is exported");
            if head.starts_with("POST /v1/metrics ") {
                let request = ExportMetricsServiceRequest::decode(&*body).expect("OTLP");
                let scoped = request.resource_metrics.into_iter().flat_map(|each| each.scope_metrics);
                let metrics: Vec<Metric> = scoped.flat_map(|each| each.metrics).collect();
                if metrics.iter().any(&wanted) {
                    return metrics;
                }
            }
        }
    }
}

fn home(config: &str) -> Home {
    let home = Home::new();
    home.put_bytes(&Guest::returning("one").build(), "one");
    home.put_bytes(&Guest::trapping().build(), "trap");
    home.configure(config);
    home
}

fn put_secret(home: &Home, path: &str, secret: &str) {
    let file = home.path(path);
    std::fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
    std::fs::write(&file, secret).expect("it is written");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).expect("its owner's");
}

fn text(attributes: &[KeyValue], key: &str) -> String {
    let found = attributes.iter().find(|attribute| attribute.key == key);
    match found.and_then(|attribute| attribute.value.clone()).and_then(|value| value.value) {
        Some(Any::StringValue(text)) => text,
        Some(Any::IntValue(number)) => number.to_string(),
        other => format!("{other:?}"),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn call(name: &str, flags: &str) -> Value {
    json!({"name": name, "arguments": {}, "_meta": {"traceparent": format!("00-{TRACE}-{PARENT}-{flags}")}})
}

#[test]
fn a_call_is_a_span_of_its_senders_trace() {
    let collector = Collector::start("200 OK");
    let home = home(&collector.config(""));
    let mut client = Client::start(&home);
    client.result("tools/call", call("one_version", "01"));
    client.result("tools/call", call("trap_version", "01"));
    client.finish();
    let spans = collector.spans(|span| span.name == "tools/call trap_version");
    let of = |plugin: &str| {
        let own = |span: &&Span| text(&span.attributes, "wharf.plugin") == plugin;
        spans.iter().find(own).unwrap_or_else(|| panic!("{plugin}: {spans:?}"))
    };
    let one = of("one");
    assert_eq!((hex(&one.trace_id), hex(&one.parent_span_id)), (TRACE.to_owned(), PARENT.to_owned()));
    assert_eq!(one.kind, SpanKind::Server as i32);
    for (key, value) in [
        ("mcp.method.name", "tools/call"),
        ("mcp.protocol.version", "2025-11-25"),
        ("gen_ai.tool.name", "one_version"),
        ("gen_ai.operation.name", "execute_tool"),
    ] {
        assert_eq!(text(&one.attributes, key), value, "{key}");
    }
    assert!(one.end_time_unix_nano > one.start_time_unix_nano && one.status.is_none());
    let guest = spans.iter().find(|span| span.name == "guest" && span.parent_span_id == one.span_id);
    let guest = guest.expect("the guest ran");
    assert!(guest.start_time_unix_nano >= one.start_time_unix_nano);
    assert!(guest.end_time_unix_nano <= one.end_time_unix_nano);
    assert_eq!(text(&of("trap").attributes, "error.type"), "trap");
    // Requests that reach no plugin have spans too, of traces of their own.
    let hello = spans.iter().find(|span| span.name == "initialize").expect("the handshake");
    assert!(hello.parent_span_id.is_empty() && hex(&hello.trace_id) != TRACE);
}

#[test]
fn the_header_names_the_parent_where_the_request_does_not() {
    let collector = Collector::start("200 OK");
    let home = home(&collector.config(""));
    let (_process, address) = serve(&home, &[]);
    let header = format!("00-{TRACE}-{PARENT}-01");
    let send = |endpoint: &Endpoint, message: &Value| {
        let response = HttpConnection::connect(address).exchange(&endpoint.post(message).with("Traceparent", &header));
        assert_eq!(response.status, 200, "{response:?}");
    };
    send(&Endpoint::new(address), &stateless(1, "tools/list", json!({})));
    let session = Endpoint::initialize(address, "2025-11-25");
    send(&session, &request(2, "prompts/list", json!({})));
    let own = json!({"_meta": {"traceparent": format!("00-{}-{PARENT}-01", "a".repeat(32))}});
    send(&session, &request(3, "resources/list", own));
    let spans = collector.spans(|span| span.name == "resources/list");
    let trace = |name: &str| spans.iter().find(|span| span.name == name).map(|span| hex(&span.trace_id));
    assert_eq!(trace("tools/list").as_deref(), Some(TRACE));
    assert_eq!(trace("prompts/list").as_deref(), Some(TRACE));
    assert_eq!(trace("resources/list"), Some("a".repeat(32)));
}

#[test]
fn services_are_told_of_the_span() {
    let collector = Collector::start("200 OK");
    let site = Site::start(|_, connection| write(connection, "404 Not Found", "", "no"));
    let home = Home::with(&["online"]);
    home.configure(&format!("{}[plugins.online.grants]\n{}", collector.config(""), site.grant()));
    let mut client = Client::start(&home);
    let fetch = |flags: &str| {
        let mut params = call("online_fetch", flags);
        // What the guest makes up does not count.
        params["arguments"] = json!({"url": site.url("/secret?token=1"), "headers": [["Traceparent", "mine"]]});
        params
    };
    client.result("tools/call", fetch("00"));
    client.result("tools/call", fetch("01"));
    client.finish();
    let spans = collector.spans(|span| span.kind == SpanKind::Client as i32);
    let span = spans.iter().find(|span| span.kind == SpanKind::Client as i32).expect("the request");
    assert_eq!(span.name, "GET");
    for (key, value) in [
        ("http.request.method", "GET"),
        ("http.response.status_code", "404"),
        ("server.address", "127.0.0.1"),
        ("server.port", &site.port.to_string()),
        ("error.type", "404"),
    ] {
        assert_eq!(text(&span.attributes, key), value, "{key}");
    }
    assert!(!format!("{spans:?}").contains("secret"), "{spans:?}");
    let told: Vec<String> =
        site.heads().iter().filter_map(|head| field(head, "traceparent").map(str::to_owned)).collect();
    assert!(told[0].starts_with(&format!("00-{TRACE}-")) && told[0].ends_with("-00"), "{told:?}");
    assert_eq!(told[1], format!("00-{TRACE}-{}-01", hex(&span.span_id)));
    assert_eq!(spans.iter().filter(|span| span.kind == SpanKind::Client as i32).count(), 1, "one was not sampled");
}

#[test]
fn metrics_are_exported_under_the_names_of_opentelemetry() {
    let collector = Collector::start("200 OK");
    let home = home(&collector.config("traces = false\ninterval = '100ms'\ntoken = { file = 'collector-token' }"));
    put_secret(&home, "config/wharf/collector-token", "collector-0123456789");
    let mut client = Client::start(&home);
    client.call("one_version", json!({}));
    let metrics = collector.metrics(|metric| metric.name == "wharf.call.duration");
    let metric = |name: &str| metrics.iter().find(|metric| metric.name == name).unwrap_or_else(|| panic!("{name}"));
    let Some(Data::Histogram(calls)) = &metric("wharf.call.duration").data else { panic!("a histogram") };
    let point = &calls.data_points[0];
    assert_eq!((point.count, point.bucket_counts.iter().sum::<u64>()), (1, 1));
    assert_eq!(point.bucket_counts.len(), point.explicit_bounds.len() + 1);
    assert_eq!(text(&point.attributes, "tool"), "one_version");
    assert_eq!(metric("wharf.call.duration").unit, "s");
    let Some(Data::Sum(ended)) = &metric("wharf.calls").data else { panic!("a sum") };
    assert!(ended.is_monotonic && !ended.data_points.is_empty());
    let Some(Data::Histogram(operations)) = &metric("mcp.server.operation.duration").data else { panic!() };
    let methods: Vec<String> =
        operations.data_points.iter().map(|point| text(&point.attributes, "mcp.method.name")).collect();
    assert!(methods.contains(&"initialize".to_owned()), "{methods:?}");
    assert!(matches!(&metric("process.memory.usage").data, Some(Data::Gauge(_))));
    let heads = collector.site.heads();
    assert_eq!(field(&heads[0], "authorization"), Some("Bearer collector-0123456789"));
    assert!(heads.iter().all(|head| head.starts_with("POST /v1/metrics ")), "{heads:?}");
    client.finish();
}

/// In a folder that the OS sandbox does not open for anything else.
#[test]
fn secrets_are_read_wherever_they_are() {
    let collector = Collector::start("200 OK");
    let home = home("");
    let place = |name: &str| format!("{{ file = '{}' }}", home.path(name).display());
    let headers = format!("headers = {{ x-key = {} }}", place("elsewhere/key"));
    let more = format!("traces = false\ninterval = '50ms'\ntoken = {}\n{headers}", place("elsewhere/token"));
    home.configure(&collector.config(&more));
    put_secret(&home, "elsewhere/token", "collector-0123456789");
    put_secret(&home, "elsewhere/key", "key-0123456789");
    let client = Client::start(&home);
    collector.metrics(|_| true);
    let heads = collector.site.heads();
    assert_eq!(field(&heads[0], "authorization"), Some("Bearer collector-0123456789"));
    assert_eq!(field(&heads[0], "x-key"), Some("key-0123456789"));
    client.finish();
}

#[test]
fn a_collector_of_traces_that_hangs_delays_no_metrics() {
    let (end, ended) = channel::<()>();
    let ended = Arc::new(Mutex::new(ended));
    let hanging = Site::start(move |_, _| {
        let _ = ended.lock().expect("no panic").recv();
    });
    let collector = Collector::start("200 OK");
    let home = home("");
    let mut serving = command(&home, ["serve".as_ref(), home.plugins().as_os_str()]);
    serving
        .env("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", hanging.url("/v1/traces"))
        .env("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", collector.site.url("/v1/metrics"))
        .env("OTEL_BSP_SCHEDULE_DELAY", "10")
        .env("OTEL_METRIC_EXPORT_INTERVAL", "200");
    let mut client = Client::initialized(Process::start(serving), "2025-11-25");
    let until = Instant::now() + TIMEOUT;
    while hanging.heads().is_empty() {
        assert!(Instant::now() < until, "no trace is sent");
        client.call("one_version", json!({}));
    }
    // More than were on their way when it began to hang.
    for _ in 0..3 {
        collector.metrics(|_| true);
    }
    drop(end);
    client.finish();
}

#[test]
fn a_collector_that_fails_disturbs_no_call_and_is_reported_once() {
    let collector = Collector::start("400 Bad Request");
    let home = home(&collector.config("interval = '20ms'"));
    let mut client = Client::start(&home);
    for _ in 0..3 {
        client.call("one_version", json!({}));
        collector.metrics(|_| true);
    }
    let failed = "failed to export metrics to http://127.0.0.1";
    let log = client.process().log_with(failed);
    let began = Instant::now();
    client.finish();
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    assert_eq!(log.matches(failed).count(), 1, "{log}");
    assert!(log.contains("it answered 400 Bad Request"), "{log}");
}

#[test]
fn what_cannot_be_exported_to_is_an_error_with_its_place() {
    for (config, why, hint) in [
        ("endpoint = 'collector'", "telemetry.endpoint", "write it like this: endpoint = \"http://127.0.0.1:4318\""),
        ("endpoint = 'http://user:s3cret@a'", "telemetry.endpoint: it has user information", "write it like this: "),
        ("endpoint = 'http://a/?key=s3cret'", "it has a query: keys are sent in headers", "write it like this: "),
        (
            "headers = { content-length = { env = 'A' } }",
            "is a header field that the server sets",
            "write it like this: ",
        ),
        ("sample = 2.0", "telemetry.sample", "for one request of a hundred write sample = 0.01"),
        ("token = {}", "telemetry.token", "write { env = \"OTLP_TOKEN\" } or { file = \"otlp-token\" }"),
        ("headers = { 'a b' = { env = 'A' } }", "telemetry.headers", "is no name of a header field"),
    ] {
        let home = home(&format!("[telemetry]\n{config}\n"));
        let output = run(&home, ["serve".as_ref(), home.plugins().as_os_str()]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && said.contains(why) && said.contains(hint), "{config}: {said}");
        assert!(!said.contains("s3cret"), "{config}: {said}");
    }
}

#[test]
fn the_environment_turns_it_on_and_its_mistakes_do_not_stop_the_server() {
    let collector = Collector::start("200 OK");
    let home = home("");
    let mut serving = command(&home, ["serve".as_ref(), home.plugins().as_os_str()]);
    serving
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", collector.site.url(""))
        .env("OTEL_TRACES_SAMPLER", "mine")
        .env("OTEL_METRICS_EXPORTER", "none")
        .env("OTEL_BSP_SCHEDULE_DELAY", "10");
    let mut client = Client::initialized(Process::start(serving), "2025-11-25");
    client.call("one_version", json!({}));
    collector.spans(|span| span.name == "tools/call one_version");
    client.process().log_with("OTEL_TRACES_SAMPLER is not used");
    client.process().log_with("traces are exported to http://127.0.0.1");
    client.finish();
}
