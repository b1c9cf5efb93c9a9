use std::collections::HashMap;
use std::time::Duration;

use super::*;

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
        ("OTEL_EXPORTER_OTLP_HEADERS", "a b=c", "is invalid"),
    ] {
        let (_, warnings) = settings(&configured(), &[(name, value)]);
        assert!(warnings.iter().any(|warning| warning.contains(part)), "{name}={value}: {warnings:?}");
    }
    let sampler = [("OTEL_TRACES_SAMPLER", "traceidratio"), ("OTEL_TRACES_SAMPLER_ARG", "2")];
    let (settings, warnings) = settings(&configured(), &sampler);
    assert_eq!((settings.expect("on").sampler.ratio, warnings.len()), (1.0, 1));
}
