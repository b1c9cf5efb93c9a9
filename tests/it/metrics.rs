//! `[metrics]`: what Prometheus gets, and what a call costs.

use std::net::{SocketAddr, TcpStream};
use std::time::Instant;

use regex::Regex;
use serde_json::{Value, json};

use crate::support::client::Client;
use crate::support::guest::Guest;
use crate::support::home::{Home, repository};
use crate::support::http::{HttpConnection, Request, Response, metrics_address, sample_sum, serve};
use crate::support::process::{Process, command, run};
use crate::support::streamable::{Endpoint, Streamable, stateless};
use crate::support::tasks::{SOON, capabilities, task};
use crate::support::{MODERN, TIMEOUT};

const ON: &str = "[metrics]\naddress = '127.0.0.1:0'\n";
const TOKEN: &str = "scraper-0123456789abcdef";

fn home(config: &str) -> Home {
    let home = Home::new();
    home.put_bytes(&Guest::returning("one").build(), "one");
    home.put_bytes(&Guest::trapping().build(), "trap");
    home.configure(config);
    home
}

fn get(address: SocketAddr, path: &str) -> Request {
    Request::new("GET", path, address)
}

fn ask(address: SocketAddr, request: &Request) -> Response {
    HttpConnection::connect(address).exchange(request)
}

fn scrape(address: SocketAddr) -> String {
    let response = ask(address, &get(address, "/metrics"));
    assert_eq!(response.status, 200, "{response:?}");
    let kind = response.header("content-type").unwrap_or_default();
    assert!(kind.starts_with("application/openmetrics-text; version=1.0.0"), "{kind}");
    assert!(response.text().ends_with("# EOF\n"), "{}", response.text());
    response.text().to_owned()
}

#[test]
fn calls_over_stdio_are_counted_by_plugin_tool_and_result() {
    let home = home(ON);
    let mut client = Client::start(&home);
    let address = metrics_address(client.process());
    for _ in 0..3 {
        client.call("one_version", json!({}));
    }
    client.call("trap_version", json!({}));
    client.error("tools/call", json!({"name": "no such tool"}));
    let text = scrape(address);
    let calls = |plugin: &str, tool: &str, result: &str| {
        sample_sum(&text, &format!("wharf_calls_total{{plugin=\"{plugin}\",tool=\"{tool}\",result=\"{result}\"}}"))
    };
    assert_eq!(calls("one", "one_version", "ok"), 3.0, "{text}");
    assert_eq!(calls("", "", "not-found"), 1.0, "{text}");
    assert_eq!(sample_sum(&text, "wharf_faults_total{plugin=\"trap\""), 1.0, "{text}");
    let one = "{plugin=\"one\",tool=\"one_version\"}";
    assert_eq!(sample_sum(&text, &format!("wharf_call_duration_seconds_count{one}")), 3.0, "{text}");
    assert!(sample_sum(&text, &format!("wharf_call_cpu_seconds_total{one}")) > 0.0, "{text}");
    assert!(sample_sum(&text, &format!("wharf_call_sent_bytes_total{one}")) > 0.0, "{text}");
    assert!(sample_sum(&text, "wharf_plugin_memory_peak_bytes{plugin=\"one\"}") >= 65536.0, "{text}");
    let operations = "mcp_server_operation_duration_seconds_count{mcp_method_name=\"tools/call\",mcp_protocol_version=\"2025-11-25\"";
    assert_eq!(sample_sum(&text, &format!("{operations},error_type=\"\"}}")), 4.0, "{text}");
    assert_eq!(sample_sum(&text, "wharf_plugins "), 2.0, "{text}");
    assert_eq!(sample_sum(&text, "wharf_reloads_total{result=\"loaded\"}"), 2.0, "{text}");
    assert!(text.contains("wharf_build_info{version="), "{text}");
    assert!(sample_sum(&text, "process_cpu_seconds_total") > 0.0, "{text}");
    client.finish();
}

#[test]
fn methods_that_do_not_exist_are_counted_together() {
    let home = home(ON);
    let mut client = Client::start(&home);
    let address = metrics_address(client.process());
    for number in 0..20 {
        client.error(&format!("made/up{number}"), json!({}));
    }
    let text = scrape(address);
    assert!(!text.contains("made/up"), "{text}");
    let other = "mcp_server_operation_duration_seconds_count{mcp_method_name=\"other\"";
    assert_eq!(sample_sum(&text, other), 20.0, "{text}");
    client.finish();
}

#[test]
fn servers_over_http_have_metrics_with_what_is_left_of_budgets_and_without_subjects() {
    let home = home(&format!("{ON}[[budgets]]\nname = 'few'\ncalls = 4\nwindow = '1h'\n"));
    let (process, served) = serve(&home, &[]);
    let scraped = metrics_address(&process);
    let endpoint = Endpoint::new(served);
    for id in 0..5 {
        let message = stateless(id, "tools/call", json!({"name": "one_version", "arguments": {}}));
        endpoint.exchange(&message);
    }
    let text = scrape(scraped);
    let left = "wharf_budget_left_ratio{budget=\"few\",resource=\"calls\"}";
    // A little has come back meanwhile.
    assert!(text.contains(left) && sample_sum(&text, left) < 0.2, "{text}");
    assert_eq!(sample_sum(&text, "wharf_refusals_total{reason=\"budget\"}"), 1.0, "{text}");
    assert!(!text.contains("subject") && !text.contains("local"), "{text}");
}

#[test]
fn what_is_open_over_http_is_counted_until_it_is_closed() {
    let home = Home::with(&["everything"]);
    home.configure(&format!("{ON}{SOON}"));
    let (process, served) = serve(&home, &[]);
    let scraped = metrics_address(&process);
    let open = |kind: &str| sample_sum(&scrape(scraped), &format!("wharf_open{{kind=\"{kind}\"}}"));
    let until = |kind: &str, count: f64| {
        let deadline = Instant::now() + TIMEOUT;
        while open(kind) != count {
            assert!(Instant::now() < deadline, "{kind}: {} and not {count}", open(kind));
        }
    };
    for kind in ["connection", "session", "stream", "task"] {
        assert_eq!(open(kind), 0.0, "{kind}");
    }
    let client = Endpoint::initialize(served, "2025-11-25");
    let stream = client.listen();
    until("session", 1.0);
    until("stream", 1.0);
    assert!(open("connection") >= 1.0);
    let mut tasks = Client::with_capabilities(Streamable::connect(served), MODERN, capabilities());
    let id = task(&mut tasks, "slow_compute", json!({"seconds": 600.0}));
    until("task", 1.0);
    tasks.result("tasks/cancel", json!({"taskId": id}));
    until("task", 0.0);
    HttpConnection::connect(served).exchange(&client.delete());
    drop(stream);
    until("session", 0.0);
    until("stream", 0.0);
}

#[test]
fn the_listener_has_nothing_but_metrics_and_is_not_for_pages_of_other_sites() {
    let home = home(ON);
    let mut client = Client::start(&home);
    let address = metrics_address(client.process());
    assert_eq!(ask(address, &get(address, "/mcp")).status, 404);
    assert_eq!(ask(address, &Request::new("POST", "/metrics", address)).status, 405);
    assert_eq!(ask(address, &Request::new("GET", "/metrics", "page.example:9464")).status, 403);
    assert_eq!(ask(address, &Request::new("GET", "/metrics", "localhost:9464")).status, 200);
    client.finish();
}

#[test]
fn a_token_is_asked_for_and_other_machines_need_one() {
    let home = home(&format!("{ON}token = {{ file = 'scraper' }}\n"));
    std::fs::write(home.path("config/wharf/scraper"), TOKEN).expect("a file");
    let mut client = Client::start(&home);
    let address = metrics_address(client.process());
    let with = |token: &str| get(address, "/metrics").with("Authorization", &format!("Bearer {token}"));
    assert_eq!(ask(address, &get(address, "/metrics")).status, 401);
    assert_eq!(ask(address, &with("wrong-0123456789abcdef")).status, 401);
    assert_eq!(ask(address, &with(TOKEN)).status, 200);
    let twice = with(TOKEN).with("Authorization", "Bearer wrong-0123456789abcdef");
    assert_eq!(ask(address, &twice).status, 401);
    // Those who say nothing keep nobody out.
    let silent: Vec<TcpStream> = (0..200).map(|_| TcpStream::connect(address).expect("a connection")).collect();
    assert_eq!(ask(address, &with(TOKEN)).status, 200);
    drop(silent);
    client.finish();
    home.configure("[metrics]\naddress = '0.0.0.0:0'\n");
    let refused = run(&home, ["serve".as_ref(), home.plugins().as_os_str()]);
    let said = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(2), "{said}");
    assert!(said.contains("metrics.address: needs a token") && said.contains("127.0.0.1:9464"), "{said}");
}

#[test]
fn a_call_says_what_it_cost_if_it_is_asked() {
    let home = home("");
    let mut client = Client::start(&home);
    let plain = client.call("one_version", json!({}));
    assert!(plain.pointer("/_meta/wharf~1cost").is_none(), "{plain}");
    let params = json!({"name": "one_version", "arguments": {}, "_meta": {"wharf/cost": true}});
    let asked = client.result("tools/call", params);
    let cost = &asked["_meta"]["wharf/cost"];
    assert!(cost["cpuSeconds"].as_f64().is_some_and(|seconds| seconds > 0.0), "{asked}");
    assert!(cost["memoryBytes"].as_u64().is_some_and(|bytes| bytes >= 65536), "{asked}");
    assert_eq!(cost["queueSeconds"].as_f64(), Some(0.0), "{asked}");
    assert_eq!(cost["upstreamRequests"], 0, "{asked}");
    client.finish();
    let shown = run(&home, ["audit", "show", "--json", "--tool", "one_version"]);
    let text = String::from_utf8_lossy(&shown.stdout).into_owned();
    let record: Value = text.lines().next().and_then(|line| serde_json::from_str(line).ok()).unwrap_or_default();
    assert!(record["cpu_us"].is_u64() && record["memory_bytes"].as_u64() >= Some(65536), "{text}");
}

#[test]
fn what_was_compiled_is_counted() {
    let home = home(ON);
    let cache = home.path("own-cache");
    for (result, count) in [("compiled", 2.0), ("cached", 2.0)] {
        let mut start = command(&home, ["serve".as_ref(), home.plugins().as_os_str()]);
        start.env("WHARF_CACHE", &cache);
        let mut client = Client::initialized(Process::start(start), "2025-11-25");
        client.call("one_version", json!({}));
        let address = metrics_address(client.process());
        let until = Instant::now() + TIMEOUT;
        let text = loop {
            let text = scrape(address);
            if sample_sum(&text, "wharf_plugins ") == 2.0 {
                break text;
            }
            assert!(Instant::now() < until, "{text}");
        };
        let each = |result: &str| sample_sum(&text, &format!("wharf_compilations_total{{result=\"{result}\"}}"));
        assert_eq!((each(result), each("cached") + each("compiled") + each("failed")), (count, count), "{text}");
        assert_eq!(sample_sum(&text, "wharf_compilation_seconds_total ") > 0.0, result == "compiled", "{text}");
        client.finish();
    }
}

#[test]
fn resources_and_prompts_say_what_they_cost_if_they_are_asked() {
    let home = home("");
    home.put("everything", "everything");
    let mut client = Client::start(&home);
    for (method, mut params) in [
        ("resources/read", json!({"uri": "test://static-text"})),
        ("prompts/get", json!({"name": "everything_test_simple_prompt"})),
    ] {
        let plain = client.result(method, params.clone());
        assert!(plain.pointer("/_meta/wharf~1cost").is_none(), "{plain}");
        params["_meta"] = json!({"wharf/cost": true});
        let asked = client.result(method, params);
        let cost = &asked["_meta"]["wharf/cost"];
        assert!(cost["cpuSeconds"].as_f64().is_some_and(|seconds| seconds > 0.0), "{method}: {asked}");
        assert!(cost["memoryBytes"].as_u64().is_some_and(|bytes| bytes >= 65536), "{method}: {asked}");
    }
    client.finish();
}

#[test]
fn the_log_can_be_json() {
    let home = home("");
    let mut start = command(&home, ["serve".as_ref(), home.plugins().as_os_str()]);
    start.args(["--log-format", "json", "--log", "info,call=debug"]);
    let mut client = Client::initialized(Process::start(start), "2025-11-25");
    let trace = "4bf92f3577b34da6a3ce929d0e0e4736";
    let meta = json!({"traceparent": format!("00-{trace}-00f067aa0ba902b7-01")});
    client.result("tools/call", json!({"name": "one_version", "arguments": {}, "_meta": meta}));
    let log = client.process().log_with(trace);
    let line = log.lines().find(|line| line.contains(trace)).expect("the call's line");
    let event: Value = serde_json::from_str(line).unwrap_or_else(|_| panic!("not JSON: {line}"));
    assert_eq!((&event["level"], &event["target"], &event["trace"]), (&json!("DEBUG"), &json!("call"), &json!(trace)));
    client.finish();
}

#[test]
fn where_the_log_is_json_every_line_is() {
    let home = home("[metrics]\naddress = 'localhost:0'\n[telemetry]\nendpoint = 'http://127.0.0.1:9'\n");
    let started = |options: &[&str]| {
        let mut start = command(&home, ["serve".as_ref(), home.plugins().as_os_str()]);
        start.args(["--log-format", "json"]).args(options);
        start
    };
    let lines = |log: &str| -> Vec<Value> {
        let read = |line: &str| serde_json::from_str(line).unwrap_or_else(|_| panic!("not JSON: {line}"));
        log.lines().map(read).collect()
    };
    // No level hides what scripts read.
    let process = Process::start(started(&["--log", "off", "--http", "127.0.0.1:0", "--page"]));
    let said = ["traces are exported to", "metrics are exported to", "metrics at http://", "page at http://"];
    let log = said.map(|text| process.log_with(text)).concat();
    let messages: Vec<Value> = lines(&log).iter().map(|line| line["message"].clone()).collect();
    for text in said.iter().chain(&["listening on http://"]) {
        assert!(messages.iter().any(|message| message.as_str().is_some_and(|own| own.starts_with(text))), "{log}");
    }
    drop(process);
    // So is why it ends.
    let output = started(&["--http", "nowhere"]).output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    let all = lines(&said);
    let last = all.last().expect("a line");
    assert_eq!(
        (&last["level"], &last["message"]),
        (&json!("ERROR"), &json!("failed to read the address to listen on: not an address: \"nowhere\""))
    );
    assert!(last["hint"].is_string(), "{last}");
}

/// What a dashboard or an alert asks for would otherwise never be there, and nobody would notice.
#[test]
fn dashboard_and_alerts_name_only_metrics_that_there_are() {
    let home = home(&format!("{ON}[[budgets]]\nname = 'few'\ncalls = 4\nwindow = '1h'\n"));
    let (process, served) = serve(&home, &[]);
    let scraped = metrics_address(&process);
    let endpoint = Endpoint::new(served);
    for tool in ["one_version", "trap_version"] {
        endpoint.exchange(&stateless(1, "tools/call", json!({"name": tool, "arguments": {}})));
    }
    let text = scrape(scraped);
    let name = Regex::new(r"\b(?:wharf|mcp_server|process)_[a-z_]+\b").expect("a pattern");
    for file in ["dist/monitoring/alerts.yml", "dist/monitoring/dashboard.json", "docs/operate.md"] {
        let content = std::fs::read_to_string(repository().join(file)).expect("a file");
        let named: Vec<&str> = name.find_iter(&content).map(|found| found.as_str()).collect();
        assert!(named.len() > 5, "{file}");
        for metric in named {
            let has = |line: &str| {
                line.strip_prefix(metric)
                    .is_some_and(|rest| ["{", " ", "_count", "_bucket"].iter().any(|end| rest.starts_with(end)))
            };
            assert!(text.lines().any(has), "{file} names {metric}, which is not in:\n{text}");
        }
    }
    let dashboard = std::fs::read_to_string(repository().join("dist/monitoring/dashboard.json")).expect("a file");
    let dashboard: Value = serde_json::from_str(&dashboard).expect("JSON");
    assert!(dashboard["panels"].as_array().is_some_and(|panels| panels.len() >= 8));
}
