//! `wharf audit show`.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::Stdio;

use serde_json::{Value, json};

use super::log;
use crate::support::home::Home;
use crate::support::process::{command, run};

/// The exit code, and what is written to stdout and stderr.
fn show(home: &Home, options: &[&str]) -> (i32, String, String) {
    let output = run(home, ["audit", "show"].iter().chain(options));
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    (output.status.code().expect("an exit code"), text(output.stdout), text(output.stderr))
}

fn lines(records: &[Value]) -> String {
    records.iter().map(|record| format!("{record}\n")).collect()
}

/// A log with a rotated file, a member of another version and a line that is being written.
fn home() -> Home {
    let home = Home::with(&[]);
    let call = |day: u32, principal: &str, tool: &str, code: &str, rule: &str| {
        json!({
            "ts": format!("2020-07-{day:02}T08:00:00.000001Z"), "seq": day, "event": "call", "plugin": "echo",
            "principal": principal, "method": "tools/call", "tool": tool, "dur_us": 1500, "code": code, "rule": rule,
        })
    };
    let older = [call(1, "ci", "echo", "ok", "all"), call(2, "me", "echo_add", "forbidden", "nobody adds")];
    let mut newer = [call(3, "ci", "echo_add", "ok", "all"), call(4, "ci", "echo", "error", "all")];
    newer[0]["invented"] = json!({"later": [1]});
    let refused = json!({"ts": "2020-07-05T00:00:00.000001Z", "seq": 5, "event": "refuse", "peer": "192.0.2.1", "code": "unauthorized"});
    fs::create_dir_all(log(&home).parent().expect("a folder")).expect("a folder");
    fs::write(log(&home).with_extension("jsonl.1"), lines(&older)).expect("a file");
    let written = lines(&newer) + &refused.to_string() + "\n{\"ts\":\"2020-07-06T00:00:00.000001Z\",\"seq\":6,\"ev";
    fs::write(log(&home), written).expect("a file");
    home
}

fn numbers(home: &Home, options: &[&str]) -> Vec<u64> {
    let (code, out, err) = show(home, &[options, &["--json"]].concat());
    assert_eq!(code, 0, "{err}");
    out.lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON")["seq"].as_u64().expect("a number"))
        .collect()
}

#[test]
fn records_are_shown_from_the_oldest_file_on() {
    let home = home();
    let (code, out, err) = show(&home, &[]);
    assert_eq!((code, err.as_str()), (0, ""));
    let expected = "\
time                  principal  request     plugin/tool    outcome       took   rule or reason\n\
2020-07-01T08:00:00Z  ci         tools/call  echo/echo      ok            1.5ms  all\n\
2020-07-02T08:00:00Z  me         tools/call  echo/echo_add  forbidden     1.5ms  nobody adds\n\
2020-07-03T08:00:00Z  ci         tools/call  echo/echo_add  ok            1.5ms  all\n\
2020-07-04T08:00:00Z  ci         tools/call  echo/echo      error         1.5ms  all\n\
2020-07-05T00:00:00Z  192.0.2.1  refuse      -              unauthorized  -      -\n";
    assert_eq!(out, expected);
    // As they are in the files.
    let (_, out, _) = show(&home, &["--json"]);
    let written = fs::read_to_string(log(&home).with_extension("jsonl.1")).expect("a file")
        + &fs::read_to_string(log(&home)).expect("a file");
    assert!(out.lines().count() == 5 && written.starts_with(&out), "{out}");
}

#[test]
fn records_are_chosen_by_time_and_members() {
    let home = home();
    let cases: [(&[&str], &[u64]); 12] = [
        (&["--since", "2020-07-03"], &[3, 4, 5]),
        (&["--since", "2020-07-03T08:00:01"], &[4, 5]),
        (&["--since", "1s"], &[]),
        (&["--principal", "me"], &[2]),
        (&["--plugin", "echo"], &[1, 2, 3, 4]),
        (&["--tool", "echo_add"], &[2, 3]),
        (&["--code", "forbidden"], &[2]),
        (&["--event", "refuse"], &[5]),
        (&["--rule", "nobody adds"], &[2]),
        (&["--tool", "echo_add", "--code", "ok"], &[3]),
        (&["--last", "2"], &[4, 5]),
        (&["--principal", "ci", "--last", "2"], &[3, 4]),
    ];
    for (options, expected) in cases {
        assert_eq!(numbers(&home, options), expected, "{options:?}");
    }
    assert_eq!(numbers(&home, &["--last", "100"]), [1, 2, 3, 4, 5]);
    let (code, out, err) = show(&home, &["--tool", "other"]);
    assert_eq!((code, out.as_str(), err.as_str()), (0, "", "no records\n"));
}

#[test]
fn files_can_be_named_and_lines_that_are_no_records_are_counted() {
    let home = home();
    let copy = home.path("copy.jsonl");
    let mut file = fs::File::create(&copy).expect("a file");
    file.write_all(b"no record\n[1]\n{\"seq\":7,\"event\":\"load\\u001b[2J\",\"plugin\":\"a\\nb\"}\n\xff\n")
        .expect("a file");
    let name = copy.to_str().expect("UTF-8");
    assert_eq!(numbers(&home, &[name]), [7]);
    let (code, out, err) = show(&home, &[name]);
    assert!(code == 0 && out.ends_with("-     -          load\\u{1b}[2J  a\\nb         -        -     -\n"), "{out}");
    assert!(err.contains("left out 3 lines of the audit log that are no records"), "{err}");
    assert!(err.contains("wharf audit verify"), "{err}");
}

#[test]
fn what_is_not_there_or_no_time_is_an_error_with_advice() {
    let home = Home::with(&[]);
    for (options, what, advice) in [
        (&[][..], "failed to find the audit log: no such file: ", "a server creates it"),
        (&["--since", "yesterday"], "neither a time ago nor a date: \"yesterday\"", "1h"),
        (&["absent.jsonl"], "failed to read the audit log: ", ""),
        (&["--last", "0"], "0", ""),
        (&["--last", "100001"], "100001", ""),
    ] {
        let (code, out, err) = show(&home, options);
        assert_eq!((code, out.as_str()), (2, ""), "{err}");
        assert!(err.contains(what) && err.contains(advice), "{err}");
    }
    home.configure("[audit]\nenabled = false\n");
    assert!(show(&home, &[]).2.contains("it is off"));
}

/// Far more than a pipe holds: a reader that has seen enough ends it.
#[test]
fn a_reader_that_ends_is_no_error() {
    let home = home();
    let record = json!({"event": "call", "reason": "x".repeat(500)});
    fs::write(log(&home), lines(&vec![record; 5000])).expect("a file");
    let mut command = command(&home, ["audit", "show", "--json"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the binary runs");
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut line).expect("a line");
    let output = child.wait_with_output().expect("it ends");
    assert!(line.contains("\"seq\":1,") && output.status.success() && output.stderr.is_empty(), "{output:?}");
}
