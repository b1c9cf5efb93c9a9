//! Readings of a server's metrics.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::header::{self, HeaderValue};
use http::{Request, StatusCode, Uri};
use http_body_util::Full;
use tokio::time::timeout;
use wharf_report::{ShowPath as _, line};

use super::reading::{Counts, Key, Reading, Total};
use super::server::ServerState;
use crate::cli::options::Options;
use crate::metrics::NO_ERRORS;
use crate::metrics::read::{ReadFamily, ReadPoint, Suffix, read};
use crate::net::http::{Http, NamedBy, is_loopback};
use crate::net::target::Target;
use crate::os::files;
use crate::report::Failure;

/// Of a text of metrics: all tools and plugins that have labels of their own, with long names.
const MAX_TEXT: u64 = 32 << 20;
/// Of a token's file.
const MAX_TOKEN: u64 = 16 << 10;
/// For one reading.
const TIME: Duration = Duration::from_secs(10);

/// Metrics at a URL.
pub(super) struct Scraped {
    uri: Uri,
    target: Target,
    token: Option<HeaderValue>,
    http: Http,
}

impl Scraped {
    /// Those of that URL, or of the server of the configuration.
    ///
    /// # Errors
    /// If it has no metrics, or the token cannot be read.
    pub(super) fn of(options: &Options, url: Option<&str>, token_file: Option<&Path>) -> Result<Self, Failure> {
        let Some(url) = url else { return Self::configured(options) };
        let invalid = |why: &str| {
            Failure::usage(format!("read --url: {why}: {}", line(url)))
                .hint("write it like this: --url http://127.0.0.1:9464/metrics".to_owned())
        };
        let uri: Uri = url.parse().map_err(|_| invalid("not a URL"))?;
        let target = Target::of(&uri).map_err(invalid)?;
        let uri = if uri.path() == "/" {
            format!("{target}/metrics").parse().map_err(|_| invalid("not a URL"))?
        } else {
            uri
        };
        let token = token_file.map(|path| {
            let text = files::read_text(path, MAX_TOKEN);
            text.map_err(|error| Failure::usage(format!("read the token: {error}: {}", path.shown())))
        });
        Self::new(uri, target, token.transpose()?.as_deref())
    }

    fn configured(options: &Options) -> Result<Self, Failure> {
        let config = options.config()?;
        let program = config.program();
        let elsewhere = format!("for another server: {program} top --url http://HOST:PORT/metrics");
        let Some(address) = config.metrics_address() else {
            let failure = Failure::usage("find the metrics: the configuration has no metrics.address");
            let on = "write address = \"127.0.0.1:9464\" under [metrics], and start the server again";
            return Err(failure.hint(format!("{on}; {elsewhere}")));
        };
        if address.port() == 0 {
            let failure =
                Failure::usage(format!("find the metrics: any port may be that of metrics.address: {address}"));
            return Err(failure.hint(format!(
                "name the URL that the server printed when it started: {program} top --url http://{}:PORT/metrics",
                address.ip()
            )));
        }
        let token = config.metrics_token().map_err(|error| Failure::usage(error.to_string()).hint(error.hint))?;
        let failed = || Failure::new(format!("find the metrics: no URL: {address}"));
        let uri: Uri = format!("http://{}/metrics", reachable(address)).parse().map_err(|_| failed())?;
        let target = Target::of(&uri).map_err(|_| failed())?;
        Self::new(uri, target, token.as_deref())
    }

    fn new(uri: Uri, target: Target, token: Option<&str>) -> Result<Self, Failure> {
        let header = |token: &str| {
            let mut header = HeaderValue::try_from(format!("Bearer {}", token.trim()))
                .map_err(|_| Failure::usage("read the token: it is more than one line of visible ASCII"))?;
            header.set_sensitive(true);
            Ok(header)
        };
        let token = token.map(header).transpose()?;
        // A proxy has another idea of what this machine is, and no business with the token.
        let http = if is_loopback(&target) { Http::direct() } else { Http::default() };
        Ok(Self { uri, target, token, http })
    }

    pub(super) fn name(&self) -> String {
        self.uri.to_string()
    }

    pub(super) async fn read(&self) -> Result<Reading, Failure> {
        let fetched = timeout(TIME, self.fetch()).await;
        let text = fetched.unwrap_or_else(|_| Err(self.failure("the server did not answer in time")))?;
        let at = Instant::now();
        let text = std::str::from_utf8(&text).map_err(|_| self.unreadable("it is not UTF-8 text"))?;
        let families = read(text).map_err(|error| self.unreadable(&error.to_string()))?;
        Ok(Reading { at, counts: counts(&families), server: Some(ServerState::of(&families)) })
    }

    async fn fetch(&self) -> Result<Vec<u8>, Failure> {
        let mut request = Request::new(Full::<Bytes>::default());
        *request.uri_mut() = self.uri.clone();
        if let Some(token) = &self.token {
            request.headers_mut().insert(header::AUTHORIZATION, token.clone());
        }
        let received = self.http.send(request, &self.target, NamedBy::Person).await.map_err(|error| {
            let hint = "start the server with these metrics, or look at what it printed when it started";
            self.failure(&error.to_string()).hint(hint.to_owned())
        })?;
        let status = received.response.status();
        if status != StatusCode::OK {
            return Err(self.refused(status));
        }
        received.text("the text of metrics", MAX_TEXT).await.map_err(|error| self.failure(&error.to_string()))
    }

    fn failure(&self, why: &str) -> Failure {
        Failure::new(format!("read the metrics: {}: {}", line(why), self.uri))
    }

    fn unreadable(&self, why: &str) -> Failure {
        self.failure(why).hint("name the URL of a Wharf server's metrics, which ends with /metrics".to_owned())
    }

    fn refused(&self, status: StatusCode) -> Failure {
        let hint = match status {
            StatusCode::UNAUTHORIZED if self.token.is_some() => {
                "the token is not that of the server's metrics.token: name its file with --url and --token-file"
            }
            StatusCode::UNAUTHORIZED => "the server wants its metrics.token: name its file with --token-file",
            StatusCode::FORBIDDEN => "without a token, the server must be called by its IP address, or localhost",
            _ => "name the URL of a Wharf server's metrics, which ends with /metrics",
        };
        self.failure(&format!("the server answered {status}")).hint(hint.to_owned())
    }
}

/// Where an address that listens everywhere is reached from this machine.
fn reachable(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        ip if !ip.is_unspecified() => ip,
        IpAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
    };
    SocketAddr::new(ip, address.port())
}

/// What is counted of each tool, and of each plugin without its tools.
fn counts(families: &[ReadFamily]) -> BTreeMap<Key, Counts> {
    let points = |name: &'static str| {
        families.iter().filter(move |family| family.name == name).flat_map(|family| &family.points)
    };
    // A plugin and a result that is its fault.
    let faults: BTreeSet<(&str, &str)> =
        points("wharf_faults").map(|point| (point.label("plugin"), point.label("kind"))).collect();
    let mut all: BTreeMap<Key, Counts> = BTreeMap::new();
    let mut of = |point: &ReadPoint, what: &mut dyn FnMut(&mut Counts)| {
        what(all.entry((point.label("plugin").to_owned(), point.label("tool").to_owned())).or_default());
    };
    for point in points("wharf_calls") {
        let result = point.label("result");
        of(point, &mut |counts| {
            counts.add(Total::Calls, point.value);
            if !NO_ERRORS.contains(&result) {
                counts.add(Total::Errors, point.value);
            }
            if faults.contains(&(point.label("plugin"), result)) {
                counts.add(Total::Faults, point.value);
            }
        });
    }
    for (name, total) in [
        ("wharf_call_cpu_seconds", Total::Cpu),
        ("wharf_call_upstream_seconds", Total::Upstream),
        ("wharf_call_queued_seconds", Total::Queued),
        ("wharf_call_received_bytes", Total::Received),
        ("wharf_call_sent_bytes", Total::Sent),
    ] {
        points(name).for_each(|point| of(point, &mut |counts| counts.add(total, point.value)));
    }
    for point in points("wharf_call_duration_seconds").filter(|point| point.suffix == Suffix::Bucket) {
        // It is one: the reader has checked it.
        if let Ok(bound) = point.label("le").parse() {
            of(point, &mut |counts| counts.durations.add(bound, point.value));
        }
    }
    for point in points("wharf_plugin_memory_peak_bytes") {
        of(point, &mut |counts| counts.used_memory(point.value));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::{Total, counts, reachable, read};

    const TEXT: &str = r#"# TYPE wharf_calls counter
wharf_calls_total{plugin="a",tool="x",result="ok"} 7
wharf_calls_total{plugin="a",tool="x",result="asks"} 1
wharf_calls_total{plugin="a",tool="x",result="trap"} 2
wharf_calls_total{plugin="b",tool="x",result="trap"} 3
# TYPE wharf_call_duration_seconds histogram
wharf_call_duration_seconds_sum{plugin="a",tool="x"} 0.7
wharf_call_duration_seconds_count{plugin="a",tool="x"} 7
wharf_call_duration_seconds_bucket{le="0.2",plugin="a",tool="x"} 7
wharf_call_duration_seconds_bucket{le="+Inf",plugin="a",tool="x"} 7
# TYPE wharf_call_cpu_seconds counter
wharf_call_cpu_seconds_total{plugin="a",tool="x"} 0.5
# TYPE wharf_plugin_memory_peak_bytes gauge
wharf_plugin_memory_peak_bytes{plugin="a"} 65536
# TYPE wharf_faults counter
wharf_faults_total{plugin="a",kind="trap"} 2
# EOF
"#;

    #[test]
    fn a_tool_has_its_calls_and_a_plugin_its_memory() {
        let all = counts(&read(TEXT).expect("metrics"));
        let of = |plugin: &str, tool: &str| &all[&(plugin.to_owned(), tool.to_owned())];
        let a = of("a", "x");
        let totals = [Total::Calls, Total::Errors, Total::Faults, Total::Cpu].map(|total| a.get(total));
        assert_eq!((totals, a.memory), ([10.0, 2.0, 2.0, 0.5], None));
        assert_eq!(a.durations.quantile(0.5), Some(0.1));
        // It is no fault of that plugin.
        assert_eq!((of("b", "x").get(Total::Errors), of("b", "x").get(Total::Faults)), (3.0, 0.0));
        assert_eq!(of("a", "").memory, Some(65536.0));
    }

    #[test]
    fn an_address_of_all_interfaces_is_reached_at_this_machine() {
        for (listens, is_at) in [("0.0.0.0:1", "127.0.0.1:1"), ("[::]:2", "[::1]:2"), ("192.0.2.1:3", "192.0.2.1:3")] {
            assert_eq!(reachable(listens.parse().expect("an address")).to_string(), is_at);
        }
    }
}
