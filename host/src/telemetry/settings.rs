//! Where traces and metrics go: the configuration, and the standard environment variables, which go before it.
//!
//! Sources: OpenTelemetry, "Environment Variable Specification" and "OpenTelemetry Protocol Exporter".

use std::time::Duration;

use http::Uri;
use http::header::{CONTENT_TYPE, HeaderName, HeaderValue, USER_AGENT};

use crate::net::http::is_reserved;
use crate::net::target::Target;
use crate::traces::Sampler;

/// Where a collector on this machine listens.
const LOCAL: &str = "http://localhost:4318";
const PROTOCOL: &str = "http/protobuf";
/// Settings of the standard that are not implemented. `none` is what is done without `COMPRESSION`.
const NOT_SUPPORTED: [&str; 4] = ["CERTIFICATE", "CLIENT_CERTIFICATE", "CLIENT_KEY", "COMPRESSION"];
/// Requests that wait at most.
const MAX_QUEUE: usize = 1 << 16;

/// What the configuration says.
#[derive(Clone, Debug, Default)]
pub struct Configured {
    /// Without the path of a signal.
    pub endpoint: Option<String>,
    pub headers: Vec<(String, String)>,
    pub no_traces: bool,
    pub no_metrics: bool,
    /// The share of requests, from 0 to 1.
    pub sample: Option<f64>,
    /// It is that of all requests, whatever their senders say.
    pub ignores_parents: bool,
    pub interval: Option<Duration>,
    /// The name of the server, and of this process among those of that name.
    pub service: String,
    pub instance: String,
}

/// Where one signal goes.
#[derive(Clone, Debug)]
pub struct Endpoint {
    pub uri: Uri,
    pub target: Target,
    pub headers: Vec<(HeaderName, HeaderValue)>,
    pub timeout: Duration,
}

/// What is exported, and where.
#[derive(Clone, Debug)]
pub struct Settings {
    pub traces: Option<Endpoint>,
    pub metrics: Option<Endpoint>,
    pub sampler: Sampler,
    /// Between two exports of metrics.
    pub interval: Duration,
    /// Between two exports of traces.
    pub delay: Duration,
    /// Requests that wait, and of one export.
    pub queue: usize,
    pub batch: usize,
    /// Attributes of the server.
    pub resource: Vec<(String, String)>,
}

/// A value of the environment that is not used, and why.
type Warnings = Vec<String>;

impl Settings {
    /// `None` if nothing is exported. `variable` reads the environment; what is wrong there is a warning, as the
    /// specification asks.
    pub fn of(configured: &Configured, variable: &dyn Fn(&str) -> Option<String>) -> (Option<Self>, Warnings) {
        let mut reading = Reading { variable, warnings: Vec::new() };
        if reading.text("OTEL_SDK_DISABLED").is_some_and(|text| text.eq_ignore_ascii_case("true")) {
            return (None, reading.warnings);
        }
        let traces = reading.endpoint(configured, "TRACES", "v1/traces", configured.no_traces);
        let metrics = reading.endpoint(configured, "METRICS", "v1/metrics", configured.no_metrics);
        if traces.is_none() && metrics.is_none() {
            return (None, reading.warnings);
        }
        let queue = reading.number("OTEL_BSP_MAX_QUEUE_SIZE").map_or(2048, |max| max as usize).clamp(1, MAX_QUEUE);
        let settings = Self {
            traces,
            metrics,
            sampler: reading.sampler(configured),
            interval: reading.time("OTEL_METRIC_EXPORT_INTERVAL").or(configured.interval).unwrap_or(MINUTE),
            delay: reading.time("OTEL_BSP_SCHEDULE_DELAY").unwrap_or(Duration::from_secs(5)),
            queue,
            batch: reading.number("OTEL_BSP_MAX_EXPORT_BATCH_SIZE").map_or(512, |max| max as usize).clamp(1, queue),
            resource: reading.resource(configured),
        };
        (Some(settings), reading.warnings)
    }
}

const MINUTE: Duration = Duration::from_secs(60);

/// The endpoint of a signal below that of the collector.
///
/// # Errors
/// If it is no URL of HTTP, or has what would be shown where secrets are not. The text is not in the error: it may have
/// a password.
pub fn endpoint(base: &str, path: &str) -> Result<(Uri, Target), &'static str> {
    if !path.is_empty() && ["/v1/traces", "/v1/metrics"].iter().any(|end| base.trim_end_matches('/').ends_with(end)) {
        return Err("it ends in the path of a signal, which is added to it");
    }
    let joined = if path.is_empty() { base.to_owned() } else { format!("{}/{path}", base.trim_end_matches('/')) };
    let uri: Uri = joined.parse().map_err(|_| "it is no URL")?;
    if uri.query().is_some() {
        return Err("it has a query: keys are sent in headers");
    }
    let target = Target::of(&uri)?;
    Ok((uri, target))
}

/// The header fields of exports: not those that only the host sets.
///
/// # Errors
/// If the name or the value is invalid.
pub fn header(name: &str, value: &str) -> Result<(HeaderName, HeaderValue), &'static str> {
    let name = HeaderName::try_from(name).map_err(|_| "is no name of a header field")?;
    if is_reserved(&name) || [CONTENT_TYPE, USER_AGENT].contains(&name) {
        return Err("is a header field that the server sets");
    }
    let mut value = HeaderValue::try_from(value).map_err(|_| "has a value that is none of a header field")?;
    value.set_sensitive(true);
    Ok((name, value))
}

struct Reading<'a> {
    variable: &'a dyn Fn(&str) -> Option<String>,
    warnings: Warnings,
}

impl Reading<'_> {
    /// Once: a variable may be read for each signal.
    fn warn(&mut self, warning: String) {
        if !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }

    /// An empty value is as none.
    fn text(&self, name: &str) -> Option<String> {
        (self.variable)(name).map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
    }

    fn number(&mut self, name: &str) -> Option<u64> {
        let text = self.text(name)?;
        let number = text.parse().ok().filter(|number| *number > 0);
        if number.is_none() {
            self.warn(format!("{name} is not used: expected a whole number above 0, found {text:?}"));
        }
        number
    }

    /// In milliseconds.
    fn time(&mut self, name: &str) -> Option<Duration> {
        self.number(name).map(Duration::from_millis)
    }

    /// That of one signal, or of all.
    fn of_signal(&self, signal: &str, name: &str) -> Option<(String, String)> {
        let own = format!("OTEL_EXPORTER_OTLP_{signal}_{name}");
        let all = format!("OTEL_EXPORTER_OTLP_{name}");
        [own, all].into_iter().find_map(|name| self.text(&name).map(|text| (name, text)))
    }

    fn endpoint(&mut self, configured: &Configured, signal: &str, path: &str, is_off: bool) -> Option<Endpoint> {
        let exporter = format!("OTEL_{signal}_EXPORTER");
        let chosen = self.text(&exporter);
        let mut wants = chosen.iter().flat_map(|chosen| chosen.split(',')).map(str::trim);
        let is_wanted = wants.clone().any(|each| each == "otlp");
        if chosen.is_some() && !is_wanted {
            if wants.any(|each| each != "none") {
                self.warn(format!("{exporter} is not used: this server has otlp and none"));
            }
            return None;
        }
        let own = format!("OTEL_EXPORTER_OTLP_{signal}_ENDPOINT");
        // The secrets of the file are for the collector of the file.
        let mut of_file: &[(String, String)] = &[];
        let (name, base, path) = if let Some(whole) = self.text(&own) {
            (own, whole, "")
        } else if let Some(base) = self.text("OTEL_EXPORTER_OTLP_ENDPOINT") {
            ("OTEL_EXPORTER_OTLP_ENDPOINT".to_owned(), base, path)
        } else if is_off {
            return None;
        } else if let Some(base) = &configured.endpoint {
            of_file = &configured.headers;
            ("telemetry.endpoint".to_owned(), base.clone(), path)
        } else if is_wanted {
            (exporter, LOCAL.to_owned(), path)
        } else {
            return None;
        };
        if let Some((variable, protocol)) = self.of_signal(signal, "PROTOCOL").filter(|(_, text)| text != PROTOCOL) {
            let what = signal.to_ascii_lowercase();
            self.warn(format!(
                "no {what} are exported: {variable} is {protocol:?}; set it to {PROTOCOL}, and the endpoint to the \
                 port for HTTP, which is usually 4318"
            ));
            return None;
        }
        for unused in NOT_SUPPORTED {
            if let Some((variable, _)) = self.of_signal(signal, unused).filter(|(_, text)| text != "none") {
                self.warn(format!("{variable} is not used: this server does not support it"));
            }
        }
        let (uri, target) = match endpoint(&base, path) {
            Ok(found) => found,
            Err(why) => {
                self.warn(format!("{name} is not used: {why}"));
                return None;
            }
        };
        let timeout = self.of_signal(signal, "TIMEOUT").and_then(|(name, _)| self.time(&name));
        Some(Endpoint {
            uri,
            target,
            headers: self.headers(signal, of_file),
            timeout: timeout.unwrap_or(Duration::from_secs(10)),
        })
    }

    fn headers(&mut self, signal: &str, configured: &[(String, String)]) -> Vec<(HeaderName, HeaderValue)> {
        let mut texts = configured.to_vec();
        if let Some((name, list)) = self.of_signal(signal, "HEADERS") {
            texts = Vec::new();
            for pair in list.split(',').filter(|pair| !pair.trim().is_empty()) {
                match pair.split_once('=') {
                    Some((key, value)) => texts.push((key.trim().to_owned(), decoded(value.trim()))),
                    None => self.warn(format!("an entry of {name} is not used: it has no =")),
                }
            }
        }
        let mut headers = Vec::new();
        for (key, value) in texts {
            match header(&key, &value) {
                Ok(header) => headers.push(header),
                Err(why) => self.warn(format!("a header for telemetry is not sent: {key:?} {why}")),
            }
        }
        headers
    }

    fn sampler(&mut self, configured: &Configured) -> Sampler {
        let default = Sampler { follows_parent: !configured.ignores_parents, ratio: configured.sample.unwrap_or(1.0) };
        let Some(name) = self.text("OTEL_TRACES_SAMPLER") else { return default };
        let (follows_parent, own) = match name.strip_prefix("parentbased_") {
            Some(own) => (true, own),
            None => (false, name.as_str()),
        };
        let ratio = match own {
            "always_on" => 1.0,
            "always_off" => 0.0,
            "traceidratio" => self.ratio(),
            _ => {
                self.warn(format!("OTEL_TRACES_SAMPLER is not used: it is not known: {name:?}"));
                return default;
            }
        };
        Sampler { follows_parent, ratio }
    }

    fn ratio(&mut self) -> f64 {
        let Some(text) = self.text("OTEL_TRACES_SAMPLER_ARG") else { return 1.0 };
        let ratio = text.parse().ok().filter(|ratio| (0.0..=1.0).contains(ratio));
        ratio.unwrap_or_else(|| {
            self.warn(format!("OTEL_TRACES_SAMPLER_ARG is not used: it is not from 0 to 1: {text:?}"));
            1.0
        })
    }

    fn resource(&self, configured: &Configured) -> Vec<(String, String)> {
        let mut resource = vec![
            ("service.name".to_owned(), configured.service.clone()),
            ("service.version".to_owned(), env!("CARGO_PKG_VERSION").to_owned()),
            ("service.instance.id".to_owned(), configured.instance.clone()),
        ];
        let mut set = |key: &str, value: String| {
            resource.retain(|(known, _)| known != key);
            resource.push((key.to_owned(), value));
        };
        for pair in self.text("OTEL_RESOURCE_ATTRIBUTES").unwrap_or_default().split(',') {
            if let Some((key, value)) = pair.split_once('=') {
                set(key.trim(), decoded(value.trim()));
            }
        }
        if let Some(name) = self.text("OTEL_SERVICE_NAME") {
            set("service.name", name);
        }
        resource
    }
}

/// Without percent-encoding, as values of W3C Baggage have it.
fn decoded(value: &str) -> String {
    let mut bytes = Vec::with_capacity(value.len());
    let mut rest = value.as_bytes();
    while let Some((first, more)) = rest.split_first() {
        let pair = more.get(..2).and_then(|pair| std::str::from_utf8(pair).ok());
        match pair.filter(|_| *first == b'%').and_then(|pair| u8::from_str_radix(pair, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &more[2..];
            }
            None => {
                bytes.push(*first);
                rest = more;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
