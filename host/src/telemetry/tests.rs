use std::collections::HashMap;
use std::time::Duration;

use super::*;
use crate::traces::Sampler;

fn settings(configured: &Configured, variables: &[(&str, &str)]) -> (Option<Settings>, Vec<String>) {
    let variables: HashMap<&str, &str> = variables.iter().copied().collect();
    Settings::of(configured, &|name| variables.get(name).map(|value| (*value).to_owned()))
}

fn configured() -> Configured {
    Configured { endpoint: Some("http://127.0.0.1:4318/".into()), service: "tools".into(), ..Configured::default() }
}

fn uri(endpoint: Option<&Endpoint>) -> Option<String> {
    endpoint.map(|endpoint| endpoint.uri.to_string())
}

#[test]
fn it_is_off_until_the_file_or_a_variable_says_otherwise() {
    let off = Configured::default();
    for variables in [
        &[][..],
        &[("OTEL_SERVICE_NAME", "a"), ("OTEL_EXPORTER_OTLP_HEADERS", "a=b"), ("OTEL_EXPORTER_OTLP_ENDPOINT", " ")],
        &[("OTEL_EXPORTER_OTLP_ENDPOINT", "http://a:1"), ("OTEL_SDK_DISABLED", "TRUE")],
        &[
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://a:1"),
            ("OTEL_TRACES_EXPORTER", "none"),
            ("OTEL_METRICS_EXPORTER", "none"),
        ],
    ] {
        let (settings, warnings) = settings(&off, variables);
        assert!(settings.is_none() && warnings.is_empty(), "{variables:?} {warnings:?}");
    }
    let without = Configured { no_traces: true, no_metrics: true, ..configured() };
    assert!(settings(&without, &[]).0.is_none());
}

#[test]
fn each_signal_has_its_endpoint() {
    let (file, _) = settings(&configured(), &[]);
    let file = file.expect("on");
    assert_eq!(uri(file.traces.as_ref()).as_deref(), Some("http://127.0.0.1:4318/v1/traces"));
    assert_eq!(uri(file.metrics.as_ref()).as_deref(), Some("http://127.0.0.1:4318/v1/metrics"));
    let variables = [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "https://all:9/base"),
        ("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "http://own:8/here"),
    ];
    let (both, _) = settings(&configured(), &variables);
    let both = both.expect("on");
    assert_eq!(uri(both.traces.as_ref()).as_deref(), Some("https://all:9/base/v1/traces"));
    assert_eq!(uri(both.metrics.as_ref()).as_deref(), Some("http://own:8/here"));
    let (local, _) = settings(&Configured::default(), &[("OTEL_TRACES_EXPORTER", "otlp")]);
    let local = local.expect("on");
    assert_eq!(uri(local.traces.as_ref()).as_deref(), Some("http://localhost:4318/v1/traces"));
    assert!(local.metrics.is_none());
}

#[test]
fn variables_go_before_the_file() {
    let own = Configured {
        headers: vec![("authorization".into(), "Bearer file".into())],
        sample: Some(0.5),
        interval: Some(Duration::from_secs(7)),
        ..configured()
    };
    let (file, _) = settings(&own, &[]);
    let file = file.expect("on");
    assert_eq!((file.sampler.ratio, file.interval), (0.5, Duration::from_secs(7)));
    assert_eq!(file.traces.expect("on").headers[0].1, "Bearer file");
    assert!(file.sampler.follows_parent);
    let (all, _) = settings(&Configured { ignores_parents: true, ..own.clone() }, &[]);
    assert_eq!(all.expect("on").sampler, Sampler { follows_parent: false, ratio: 0.5 });
    let variables = [
        ("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20all, x-key = a%3Db"),
        ("OTEL_EXPORTER_OTLP_TRACES_HEADERS", "x-key=own"),
        ("OTEL_EXPORTER_OTLP_TIMEOUT", "1500"),
        ("OTEL_TRACES_SAMPLER", "traceidratio"),
        ("OTEL_TRACES_SAMPLER_ARG", "0.25"),
        ("OTEL_METRIC_EXPORT_INTERVAL", "250"),
        ("OTEL_BSP_SCHEDULE_DELAY", "20"),
        ("OTEL_BSP_MAX_QUEUE_SIZE", "10"),
        ("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment=test,service.name=no"),
        ("OTEL_SERVICE_NAME", "named"),
    ];
    let (set, warnings) = settings(&own, &variables);
    let set = set.expect("on");
    assert!(warnings.is_empty(), "{warnings:?}");
    let header = |endpoint: &Endpoint, index: usize| {
        let (name, value) = &endpoint.headers[index];
        (name.to_string(), value.to_str().expect("ASCII").to_owned())
    };
    let (traces, metrics) = (set.traces.expect("on"), set.metrics.expect("on"));
    assert_eq!(header(&traces, 0), ("x-key".into(), "own".into()));
    assert_eq!(header(&metrics, 0), ("authorization".into(), "Bearer all".into()));
    assert_eq!(header(&metrics, 1), ("x-key".into(), "a=b".into()));
    assert_eq!(traces.timeout, Duration::from_millis(1500));
    assert_eq!((set.sampler.follows_parent, set.sampler.ratio), (false, 0.25));
    assert_eq!((set.interval, set.delay), (Duration::from_millis(250), Duration::from_millis(20)));
    assert_eq!((set.queue, set.batch), (10, 10));
    let attribute = |key: &str| set.resource.iter().find(|(own, _)| own == key).map(|(_, value)| value.as_str());
    assert_eq!((attribute("service.name"), attribute("deployment.environment")), (Some("named"), Some("test")));
}

#[test]
fn what_is_wrong_in_the_environment_is_a_warning() {
    for (name, value, part) in [
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc", "set it to http/protobuf"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "not a url", "OTEL_EXPORTER_OTLP_ENDPOINT is not used"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "ftp://a", "OTEL_EXPORTER_OTLP_ENDPOINT is not used"),
        ("OTEL_TRACES_EXPORTER", "console", "OTEL_TRACES_EXPORTER is not used"),
        ("OTEL_TRACES_SAMPLER", "mine", "OTEL_TRACES_SAMPLER is not used"),
        ("OTEL_BSP_MAX_QUEUE_SIZE", "0", "OTEL_BSP_MAX_QUEUE_SIZE is not used"),
        ("OTEL_METRIC_EXPORT_INTERVAL", "1s", "OTEL_METRIC_EXPORT_INTERVAL is not used"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "nothing", "has no ="),
        ("OTEL_EXPORTER_OTLP_HEADERS", "a b=c", "is no name of a header field"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://a:4318/v1/traces", "it ends in the path of a signal"),
    ] {
        let (_, warnings) = settings(&configured(), &[(name, value)]);
        assert!(warnings.iter().any(|warning| warning.contains(part)), "{name}={value}: {warnings:?}");
    }
    for (value, count) in [("gzip", 1), ("none", 0)] {
        let given = [("OTEL_EXPORTER_OTLP_ENDPOINT", "http://a:1"), ("OTEL_EXPORTER_OTLP_COMPRESSION", value)];
        let (on, warnings) = settings(&configured(), &given);
        assert_eq!((on.is_some(), warnings.len()), (true, count), "{value}: {warnings:?}");
    }
    let sampler = [("OTEL_TRACES_SAMPLER", "traceidratio"), ("OTEL_TRACES_SAMPLER_ARG", "2")];
    let (settings, warnings) = settings(&configured(), &sampler);
    assert_eq!((settings.expect("on").sampler.ratio, warnings.len()), (1.0, 1));
}

#[test]
fn secrets_are_in_no_warning_and_only_for_their_collector() {
    for url in ["http://user:s3cret@127.0.0.1:1", "htp://user:s3cret@a", "user:s3cret@a:1", "http://a:1/?key=s3cret"] {
        let (_, warnings) = settings(&configured(), &[("OTEL_EXPORTER_OTLP_ENDPOINT", url)]);
        assert_eq!(warnings.len(), 1, "once, though it is read for each signal: {warnings:?}");
        assert!(!warnings[0].contains("s3cret"), "{warnings:?}");
        assert!(!endpoint(url, "v1/traces").expect_err(url).contains("s3cret"));
    }
    let own = Configured { headers: vec![("authorization".into(), "Bearer file".into())], ..configured() };
    let (elsewhere, _) = settings(&own, &[("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://other:1/v1/traces")]);
    let elsewhere = elsewhere.expect("on");
    assert!(elsewhere.traces.expect("on").headers.is_empty());
    assert_eq!(elsewhere.metrics.expect("on").headers.len(), 1);
}

#[test]
fn what_the_server_sets_is_no_header_of_the_operator() {
    for name in ["content-length", "Transfer-Encoding", "host", "connection", "content-type", "proxy-authorization"] {
        assert!(header(name, "3").is_err(), "{name}");
        let list = format!("{name}=3,x-key=a");
        let (on, warnings) = settings(&configured(), &[("OTEL_EXPORTER_OTLP_HEADERS", &list)]);
        assert_eq!(on.expect("on").traces.expect("on").headers.len(), 1, "{name}");
        assert_eq!(warnings.len(), 1, "{warnings:?}");
    }
}
