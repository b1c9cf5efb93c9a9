//! `wharf top`: what calls cost, of a server that runs.

use std::fs;
use std::io::Read as _;
use std::net::TcpListener;
use std::process::Output;
use std::thread;

use regex::Regex;
use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};

use crate::support::client::Client;
use crate::support::guest::Guest;
use crate::support::home::Home;
use crate::support::http::metrics_address;
use crate::support::process::{command, run};
use crate::terminal::at_screen;

const TOKEN: &str = "scraper-0123456789abcdef";

fn home(config: &str) -> Home {
    let home = Home::new();
    home.put_bytes(&Guest::returning("one").build(), "one");
    home.put_bytes(&Guest::trapping().build(), "trap");
    home.configure(config);
    home
}

/// A port that was free a moment ago.
fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a port").port()
}

/// A configuration with metrics at a port that is known.
fn metered(more: &str) -> Home {
    home(&format!("[metrics]\naddress = '127.0.0.1:{}'\n{more}", free_port()))
}

/// Output of `wharf top` while calls are made, which go on until it has ended.
fn top_during_calls(home: &Home, client: &mut Client, arguments: &[&str]) -> Output {
    let mut top = command(home, ["top"]);
    top.args(arguments);
    thread::scope(|scope| {
        let output = scope.spawn(move || top.output().expect("the binary starts"));
        while !output.is_finished() {
            client.call("one_version", json!({}));
            client.call("trap_version", json!({}));
        }
        output.join().expect("its output")
    })
}

fn stdout(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

/// The error and its hint.
fn refused(home: &Home, arguments: &[&str]) -> (Option<i32>, String) {
    let output = run(home, ["top", "--every", "100ms"].iter().chain(arguments));
    assert!(!output.status.success() && output.stdout.is_empty(), "{output:?}");
    (output.status.code(), String::from_utf8(output.stderr).expect("UTF-8"))
}

/// The row with that value of a member.
fn row<'a>(shown: &'a Value, member: &str, name: &str) -> &'a Value {
    let rows = shown["rows"].as_array().expect("rows");
    rows.iter().find(|row| row[member] == name).unwrap_or_else(|| panic!("no {name}: {shown}"))
}

#[test]
fn one_table_has_the_rates_of_plugins_and_tools_and_the_server() {
    let home = metered("");
    let mut client = Client::start(&home);
    metrics_address(client.process());
    client.call("one_version", json!({}));
    let text = stdout(&top_during_calls(&home, &mut client, &["--once", "--every", "300ms"]));
    let (header, table) = text.split_once("\n\n").expect("two parts");
    assert!(header.starts_with("wharf ") && header.contains("2 plugins") && header.contains("process "), "{text}");
    assert!(table.starts_with("plugin ") && table.contains("cpu%↓"), "{text}");
    let rate = Regex::new(r"(?m)^one +([0-9.]+) ").expect("a pattern");
    let calls: f64 = rate.captures(table).expect(table)[1].parse().expect(table);
    assert!(calls > 0.0, "{text}");
    let by_tool = ["--by", "tool", "--sort", "name", "--once", "--every", "300ms"];
    let text = stdout(&top_during_calls(&home, &mut client, &by_tool));
    let names: Vec<&str> = text.lines().filter_map(|line| line.split(' ').next()).collect();
    assert!(names.ends_with(&["plugin/tool↑", "one/one_version", "trap/trap_version"]), "{text}");
    client.finish();
}

#[test]
fn the_json_has_each_value_by_its_name() {
    let home = metered("[[budgets]]\nname = 'all'\ncalls = 1000000\nwindow = '1h'\n");
    let mut client = Client::start(&home);
    metrics_address(client.process());
    let text = stdout(&top_during_calls(&home, &mut client, &["--json", "--by", "tool", "--every", "300ms"]));
    let shown: Value = serde_json::from_str(&text).expect(&text);
    assert!(shown["seconds"].as_f64().is_some_and(|seconds| seconds >= 0.3), "{text}");
    assert!(shown["restarted"] == false && shown["server"]["plugins"] == 2, "{text}");
    assert!(shown["server"]["processMemoryBytes"].as_u64() > Some(1 << 20), "{text}");
    assert_eq!(shown["server"]["budgets"][0]["budget"], "all", "{text}");
    let one = row(&shown, "tool", "one_version");
    for member in
        ["callsPerSecond", "p50Seconds", "p95Seconds", "cpuPercent", "cpuSecondsPerCall", "sentBytesPerSecond"]
    {
        assert!(one[member].as_f64() > Some(0.0), "{member}: {text}");
    }
    assert!(one["p50Seconds"].as_f64() <= one["p95Seconds"].as_f64(), "{text}");
    assert_eq!((&one["errorsPerSecond"], &one["faultsPerSecond"]), (&json!(0.0), &json!(0.0)), "{text}");
    let trap = row(&shown, "tool", "trap_version");
    assert!(trap["faultsPerSecond"].as_f64() > Some(0.0), "{text}");
    assert_eq!((&trap["errorsPerSecond"], &trap["p50Seconds"]), (&trap["faultsPerSecond"], &Value::Null), "{text}");
    client.finish();
}

#[test]
fn users_are_those_of_the_audit_log() {
    let home = home("");
    let mut client = Client::start(&home);
    client.call("one_version", json!({}));
    let text = stdout(&top_during_calls(&home, &mut client, &["--by", "subject", "--json", "--every", "500ms"]));
    let shown: Value = serde_json::from_str(&text).expect(&text);
    let source = shown["source"].as_str().unwrap_or_default();
    assert!(shown["server"].is_null() && source.ends_with("audit.jsonl"), "{text}");
    let local = row(&shown, "subject", "local");
    for member in ["callsPerSecond", "p50Seconds", "cpuPercent", "faultsPerSecond", "memoryPeakBytes"] {
        assert!(local[member].as_f64() > Some(0.0), "{member}: {text}");
    }
    // The record from before it is not counted again.
    let faults = local["faultsPerSecond"].as_f64().expect("a rate");
    let calls = local["callsPerSecond"].as_f64().expect("a rate");
    assert!((calls - 2.0 * faults).abs() * shown["seconds"].as_f64().expect("seconds") < 1.5, "{text}");
    let table = stdout(&top_during_calls(&home, &mut client, &["--by", "subject", "--every", "500ms"]));
    assert!(table.starts_with("audit log /") && table.contains("\nlocal "), "{table}");
    client.finish();
}

#[test]
fn what_is_off_says_how_it_is_switched_on() {
    let home = home("[audit]\nenabled = false\n");
    let (code, told) = refused(&home, &[]);
    assert_eq!(code, Some(2), "{told}");
    assert!(told.contains("failed to find the metrics: the configuration has no metrics.address"), "{told}");
    assert!(told.contains("write address = \"127.0.0.1:9464\" under [metrics]"), "{told}");
    let (code, told) = refused(&home, &["--by", "subject"]);
    assert_eq!(code, Some(2), "{told}");
    assert!(told.contains("it is off") && told.contains("remove enabled = false under [audit]"), "{told}");
    home.configure("");
    let (_, told) = refused(&home, &["--by", "subject"]);
    assert!(told.contains("no such file") && told.contains("a server makes it when it starts"), "{told}");
    home.configure("[metrics]\naddress = '127.0.0.1:0'\n");
    let (_, told) = refused(&home, &[]);
    assert!(told.contains("any port may be that") && told.contains("--url http://127.0.0.1:PORT/metrics"), "{told}");
}

#[test]
fn a_server_that_is_not_there_or_wants_a_token_is_named() {
    let home = metered("token = { file = 'token' }\n");
    fs::write(home.path("config/wharf/token"), TOKEN).expect("a token");
    let (code, told) = refused(&home, &[]);
    assert!(code == Some(1) && told.contains("failed to read the metrics: 127.0.0.1:"), "{told}");
    assert!(told.contains("hint: start the server with these metrics"), "{told}");

    let mut client = Client::start(&home);
    let address = metrics_address(client.process());
    // It finds the token where the server does.
    stdout(&run(&home, ["top", "--once", "--every", "100ms"]));
    let url = format!("http://{address}/metrics");
    let (code, told) = refused(&home, &["--url", &url]);
    assert!(code == Some(1) && told.contains("answered 401") && told.contains("--token-file"), "{told}");
    let wrong = home.path("wrong");
    fs::write(&wrong, "another-0123456789").expect("a token");
    let (_, told) = refused(&home, &["--url", &url, "--token-file", &wrong.to_string_lossy()]);
    assert!(told.contains("the token is not that of the server's metrics.token"), "{told}");
    assert!(!told.contains("another-0123456789"), "{told}");
    fs::write(&wrong, format!("{TOKEN}\n")).expect("a token");
    let right = ["top", "--once", "--every", "100ms", "--url", &format!("http://{address}"), "--token-file"];
    stdout(&run(&home, right.into_iter().chain([&*wrong.to_string_lossy()])));
    client.finish();
}

#[test]
fn what_is_no_text_of_metrics_is_refused_with_its_line() {
    let home = home("");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("its address");
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _ = stream.read(&mut [0; 1024]);
            let body = "# TYPE a counter\n\u{1b}[2J\n";
            let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", body.len());
            let _ = std::io::Write::write_all(&mut stream, format!("{head}{body}").as_bytes());
        }
    });
    let (code, told) = refused(&home, &["--url", &format!("http://{address}/metrics")]);
    assert!(code == Some(1) && told.contains("line 2: ") && !told.contains('\u{1b}'), "{told}");
    for (url, why) in
        [("nowhere", "https:// or http://"), ("ftp://a/", "https:// or http://"), ("http://a:b@c/", "user information")]
    {
        let (code, told) = refused(&home, &["--url", url]);
        assert!(code == Some(2) && told.contains(why), "{url}: {told}");
    }
    let output = run(&home, ["top", "--every", "1ms"]);
    assert!(output.status.code() == Some(2), "{output:?}");
}

#[test]
fn q_quits_and_the_terminal_is_as_it_was() {
    let home = metered("");
    let mut client = Client::start(&home);
    metrics_address(client.process());
    let status = at_screen(&home, &["top".as_ref(), "--every".as_ref(), "100ms".as_ref()], |person, _| {
        let begun = person.reads_up_to("q quits");
        assert!(begun.contains("\u{1b}[?1049h") && begun.contains("wharf "), "{begun}");
        assert!(begun.contains("rates come with the next reading"), "{begun}");
        person.reads_up_to(" calls/s");
        person.sees("plugin", "t");
        person.sees("plugin/tool", "n");
        person.sees("plugin/tool↑", "s");
        person.sees("audit log", "q");
        // The screen before it, and the cursor.
        person.reads_up_to("\u{1b}[?25h\u{1b}[?1049l");
    });
    assert_eq!(status.code(), Some(0));
    let interrupted = at_screen(&home, &["top".as_ref()], |person, process| {
        person.reads_up_to("q quits");
        kill_process(process, Signal::INT).expect("it runs");
        person.reads_up_to("\u{1b}[?1049l");
    });
    assert_eq!(interrupted.code(), Some(130));
    client.finish();
}
