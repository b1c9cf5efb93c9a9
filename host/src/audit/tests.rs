use std::fs::{self, File};
use std::io::{BufReader, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::Instant;

use rustix::fs::{FlockOperation, flock};
use serde_json::Value;
use tempfile::TempDir;

use super::queue::CAPACITY;
use super::*;

/// Generous, for busy machines.
const TIMEOUT: Duration = Duration::from_secs(60);

fn settings(folder: &TempDir) -> AuditSettings {
    AuditSettings { path: folder.path().join("audit.jsonl"), bodies: false, size: 64 << 20, files: 8, required: false }
}

fn call(name: &str) -> Record {
    Record { tool: Some(name.into()), code: Some("ok"), ..Record::new(Event::Call) }
}

/// Records one call for each name, and closes the log.
fn record(settings: &AuditSettings, names: impl IntoIterator<Item = String>) {
    let (audit, writer) = Audit::open(settings.clone()).expect("a log");
    for name in names {
        audit.record(&call(&name));
    }
    writer.close(TIMEOUT);
}

fn lines(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).expect("a log");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

fn verified(text: &[u8]) -> Verified {
    verify(text, &mut None).expect("readable")
}

#[test]
fn every_change_before_the_last_record_is_detected() {
    let folder = TempDir::new().expect("a folder");
    let settings = settings(&folder);
    record(&settings, (0..5).map(|n| format!("tool-{n}")));
    let text = fs::read(&settings.path).expect("a log");
    let whole = verified(&text);
    assert_eq!((whole.records, whole.broken.as_ref(), whole.cut), (5, None, 0));
    let ends: Vec<usize> = (0..).zip(&text).filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1).collect();
    // Every byte before the last record.
    for at in 0..ends[3] {
        let mut changed = text.clone();
        changed[at] ^= 1;
        assert!(verified(&changed).broken.is_some(), "a change of byte {at} is not detected");
    }
    let line = |n: usize| &text[if n == 0 { 0 } else { ends[n - 1] }..ends[n]];
    let of = |order: &[usize]| verified(&order.iter().flat_map(|n| line(*n)).copied().collect::<Vec<_>>());
    for (order, broken) in
        [(&[0, 2, 3, 4][..], 2), (&[0, 1, 3, 2, 4], 3), (&[0, 1, 1, 2, 3, 4], 3), (&[1, 0, 2, 3, 4], 2)]
    {
        assert_eq!(of(order).broken.expect("a break").line, broken, "{order:?}");
    }
    // The first line of a later file has a predecessor.
    assert_eq!(of(&[2, 3, 4]).broken, None);
    assert_eq!(verified(&text[..text.len() - 7]).cut, line(4).len() as u64 - 7);
}

#[test]
fn an_incomplete_last_line_is_replaced_by_the_next_process() {
    let folder = TempDir::new().expect("a folder");
    let settings = settings(&folder);
    record(&settings, ["before".into()]);
    let mut file = File::options().append(true).open(&settings.path).expect("the log");
    file.write_all(br#"{"ts":"2026-01-01T00:00:00Z","seq":2,"pr"#).expect("half a line");
    let found = verified(&fs::read(&settings.path).expect("a log"));
    assert_eq!((found.records, found.broken, found.cut), (1, None, 40));
    record(&settings, ["after".into()]);
    let found = verified(&fs::read(&settings.path).expect("a log"));
    assert_eq!((found.records, found.broken, found.cut), (3, None, 0));
    let lines = lines(&settings.path);
    assert_eq!((&lines[1]["event"], &lines[1]["count"]), (&"lost".into(), &1.into()));
    assert_eq!(lines[2]["tool"], "after");
}

#[test]
fn concurrent_writers_make_one_chain_over_all_files() {
    let folder = TempDir::new().expect("a folder");
    // A file has at most this size and that of a batch, so these records need at least five.
    let settings = AuditSettings { size: 16 << 10, files: 100, ..settings(&folder) };
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let settings = &settings;
            scope.spawn(move || record(settings, (0..600).map(|n| format!("{writer}-{n}"))));
        }
    });
    let files = generations(&settings.path, settings.files);
    assert!(files.len() > 3, "{files:?}");
    let (mut after, mut tools) = (None, Vec::new());
    for file in &files {
        let found = verify(BufReader::new(File::open(file).expect("a file")), &mut after).expect("readable");
        assert_eq!((found.broken, found.cut), (None, 0), "{}", file.display());
        tools.extend(lines(file).into_iter().map(|line| line["tool"].as_str().expect("a tool").to_owned()));
    }
    assert_eq!(after.expect("a last record").0, 2400);
    for writer in 0..4 {
        let of_one: Vec<&String> = tools.iter().filter(|tool| tool.starts_with(&format!("{writer}-"))).collect();
        assert!(
            (0..600).map(|n| format!("{writer}-{n}")).eq(of_one.into_iter().cloned()),
            "in the order of each writer"
        );
    }
}

#[test]
fn rotation_deletes_the_oldest_file() {
    let folder = TempDir::new().expect("a folder");
    let settings = AuditSettings { size: 16 << 10, files: 3, ..settings(&folder) };
    for round in 0..10 {
        record(&settings, (0..128).map(|n| format!("{round}-{n}")));
    }
    assert!(generations(&settings.path, 100).len() <= 3);
    let mut after = None;
    for file in generations(&settings.path, 3) {
        let found = verify(BufReader::new(File::open(file).expect("a file")), &mut after).expect("readable");
        assert_eq!(found.broken, None);
    }
    assert_eq!(after.expect("a last record").0, 1280);
}

/// Callers never wait, however slow the disk is.
#[test]
fn records_dropped_from_a_full_queue_are_counted_in_the_log() {
    let folder = TempDir::new().expect("a folder");
    let settings = settings(&folder);
    let (audit, writer) = Audit::open(settings.clone()).expect("a log");
    let lock = File::open(folder.path().join("audit.jsonl.lock")).expect("the lock");
    flock(&lock, FlockOperation::LockExclusive).expect("it is free");
    // What the writer has taken, a full queue, and as much again.
    let all = 3 * (CAPACITY / MAX_TEXT) as u64;
    for n in 0..all {
        audit.record(&Record { reason: Some("x".repeat(MAX_TEXT)), ..call(&n.to_string()) });
    }
    flock(&lock, FlockOperation::Unlock).expect("it is held");
    writer.close(TIMEOUT);
    let lines = lines(&settings.path);
    let lost: u64 =
        lines.iter().filter(|line| line["event"] == "lost").map(|line| line["count"].as_u64().unwrap()).sum();
    let kept = lines.iter().filter(|line| line["event"] == "call").count() as u64;
    assert!(lost >= all / 3 && lost + kept == all, "{lost} lost, {kept} kept, of {all}");
    assert_eq!(verified(&fs::read(&settings.path).expect("a log")).broken, None);
}

fn wait<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    runtime.block_on(future)
}

/// Waits for a record as a request does.
fn commit(audit: &Audit, record: &Record) -> Result<(), Unrecorded> {
    wait(audit.commit(record))
}

#[test]
fn a_required_log_acknowledges_only_records_in_the_file() {
    let folder = TempDir::new().expect("a folder");
    let place = folder.path().join("log");
    let settings = AuditSettings { path: place.join("audit.jsonl"), required: true, ..settings(&folder) };
    let (audit, writer) = Audit::open(settings.clone()).expect("a log");
    for n in 0..100 {
        assert_eq!((audit.admit(), commit(&audit, &call(&n.to_string()))), (Ok(()), Ok(())));
        assert_eq!(lines(&settings.path).len(), n + 1, "it was acknowledged before it was written");
    }
    let away = folder.path().join("away");
    fs::rename(&place, &away).expect("my folder");
    assert_eq!(commit(&audit, &call("started before the failure")), Err(Unrecorded));
    for _ in 0..10 {
        assert_eq!(audit.admit(), Err(Unrecorded));
    }
    fs::rename(&away, &place).expect("my folder");
    wait(audit.recording());
    assert_eq!((audit.admit(), commit(&audit, &call("after"))), (Ok(()), Ok(())));
    assert!(writer.close(TIMEOUT));
    // The started call is recorded later, and refused ones are counted.
    let lines = lines(&settings.path);
    let tools: Vec<&Value> = lines[100..].iter().map(|line| &line["tool"]).filter(|tool| !tool.is_null()).collect();
    assert_eq!(tools, ["started before the failure", "after"]);
    let refused: u64 = lines.iter().filter_map(|line| line["refused"].as_u64()).sum();
    let lost: u64 = lines.iter().filter(|line| line["event"] == "lost").filter_map(|line| line["count"].as_u64()).sum();
    assert_eq!((refused, lost), (10, 0));
    let found = verified(&fs::read(&settings.path).expect("a log"));
    assert_eq!((found.broken, found.altered), (None, Vec::new()));
}

#[test]
fn a_required_log_reserves_space_or_does_not_open() {
    let folder = TempDir::new().expect("a folder");
    let settings = AuditSettings { required: true, ..settings(&folder) };
    let (audit, writer) = Audit::open(settings.clone()).expect("a log");
    commit(&audit, &call("one")).expect("room");
    assert!(writer.close(TIMEOUT));
    // On Linux, space is allocated beyond the end.
    #[cfg(target_os = "linux")]
    {
        use std::os::unix::fs::MetadataExt as _;
        let found = fs::metadata(&settings.path).expect("the log");
        assert!(found.blocks() * 512 >= found.len() + 128 * 1024, "{} blocks", found.blocks());
    }
    let gone = AuditSettings { path: "/proc/self/audit.jsonl".into(), ..settings };
    assert!(Audit::open(gone).is_err());
}

#[test]
fn a_change_by_something_else_is_recorded() {
    type Change = fn(&Path);
    let changes: [(&str, Change); 5] = [
        ("it was truncated", |path| drop(File::create(path).expect("the log"))),
        ("it was truncated", |path| {
            let text = fs::read(path).expect("the log");
            let end = text.iter().position(|byte| *byte == b'\n').expect("a line") + 1;
            fs::write(path, &text[..end]).expect("the log");
        }),
        ("records in it were changed", |path| {
            let text = fs::read_to_string(path).expect("the log");
            fs::write(path, text.replace("\"one\"", "\"eno\"").replace("\"two\"", "\"owt\"") + "{}\n")
                .expect("the log");
        }),
        ("it was removed, moved or replaced", |path| fs::remove_file(path).expect("the log")),
        ("it was removed, moved or replaced", |path| {
            let copy = path.with_extension("copy");
            fs::copy(path, &copy).expect("the log");
            fs::rename(copy, path).expect("a copy");
        }),
    ];
    for (why, change) in changes {
        let folder = TempDir::new().expect("a folder");
        let settings = AuditSettings { required: true, ..settings(&folder) };
        let (audit, writer) = Audit::open(settings.clone()).expect("a log");
        commit(&audit, &call("one")).expect("a disk");
        commit(&audit, &call("two")).expect("a disk");
        let last = verified(&fs::read(&settings.path).expect("a log")).last.expect("a record");
        change(&settings.path);
        commit(&audit, &call("three")).expect("a disk");
        writer.close(TIMEOUT);
        let line = lines(&settings.path).into_iter().find(|line| line["event"] == "altered").expect(why);
        assert_eq!((&line["reason"], &line["after"], &line["hash"]), (&why.into(), &last.0.into(), &last.1.into()));
        if why != "records in it were changed" {
            let found = verified(&fs::read(&settings.path).expect("a log"));
            assert_eq!(found.altered.iter().map(|(_, how)| how.as_str()).collect::<Vec<_>>(), [why]);
        }
    }
}

#[test]
fn lines_are_plain_ascii_and_texts_are_capped() {
    let folder = TempDir::new().expect("a folder");
    let settings = AuditSettings { bodies: true, ..settings(&folder) };
    let (audit, writer) = Audit::open(settings.clone()).expect("a log");
    let odd = "a\n\u{1b}[31m\u{7f}\u{85}\u{202e}é🦀\"\\";
    let record = Record {
        tool: Some(Record::capped(&(odd.to_owned() + &"x".repeat(10_000)))),
        input: Some(audit.body(odd)),
        output: Some(audit.body(&"é".repeat(MAX_BODY))),
        ..Record::new(Event::Call)
    };
    audit.record(&record);
    writer.close(TIMEOUT);
    let text = fs::read(&settings.path).expect("a log");
    assert!(text[..text.len() - 1].iter().all(|byte| (0x20..0x7f).contains(byte)));
    let line = lines(&settings.path).remove(0);
    assert!(line["tool"].as_str().is_some_and(|tool| tool.starts_with(odd) && tool.len() <= MAX_TEXT));
    assert_eq!(line["in"], odd);
    assert_eq!(line["in_hash"], blake3::hash(odd.as_bytes()).to_hex()[..32]);
    assert_eq!(
        (line["out_bytes"].as_u64(), line["out"].as_str().map(str::len)),
        (Some(2 * MAX_BODY as u64), Some(MAX_BODY))
    );
}

#[test]
fn the_name_of_a_principal_is_capped() {
    let capped = |length: usize| Record::capped_name(&"x".repeat(length).into()).len();
    assert_eq!([1, MAX_TEXT, MAX_TEXT + 1].map(capped), [1, MAX_TEXT, MAX_TEXT]);
}

#[test]
fn lists_of_names_are_capped_at_a_whole_name() {
    let capped = |names: &[&str]| Record::capped_names(&names.iter().map(|name| Box::from(*name)).collect::<Vec<_>>());
    assert_eq!(capped(&[]), None);
    assert_eq!(capped(&["a:read", "b"]).as_deref(), Some("a:read b"));
    // The space and the mark of what is left out take four bytes.
    let longest = "x".repeat(MAX_TEXT - 4);
    assert_eq!(capped(&[&longest]), Some(longest.clone()));
    assert_eq!(capped(&[&longest, "y"]), Some(longest.clone() + " \u{2026}"));
    assert_eq!(capped(&[&(longest.clone() + "x")]).as_deref(), Some("\u{2026}"));
    assert_eq!(capped(&["a", &longest, "b"]).as_deref(), Some("a \u{2026}"));
    let many = capped(&["name"; 1000]).expect("some");
    assert!(many.ends_with("name \u{2026}") && many.len() <= MAX_TEXT && many.len() > MAX_TEXT - 8, "{many}");
}

/// Where each byte takes the most.
#[test]
fn the_longest_record_fits_a_line() {
    let text = || Record::capped(&"\u{7f}".repeat(MAX_TEXT));
    let folder = TempDir::new().expect("a folder");
    let settings = AuditSettings { bodies: true, ..settings(&folder) };
    let (audit, writer) = Audit::open(settings.clone()).expect("a log");
    let body = || Some(audit.body(&"\u{7f}".repeat(MAX_BODY + 1)));
    audit.record(&Record {
        plugin: Some(text()),
        content: Some([0; 32]),
        principal: Some(text().into()),
        issuer: Some(text().into()),
        subject: Some(text().into()),
        client: Some(text().into()),
        scopes: Some(text()),
        rule: Some(text()),
        peer: Some(text()),
        method: Some(text().into()),
        tool: Some(text()),
        id: Some(text()),
        took: Some(Duration::MAX),
        input: body(),
        output: body(),
        reason: Some(text()),
        omitted: Some(u64::MAX),
        ..Record::new(Event::Quarantine)
    });
    writer.close(TIMEOUT);
    let length = fs::metadata(&settings.path).expect("a log").len() as usize;
    assert!(length > 12 * MAX_BODY && length < line::MAX_LINE, "{length}");
    assert_eq!(verified(&fs::read(&settings.path).expect("a log")).records, 1);
}

#[test]
fn a_line_longer_than_any_record_is_a_break() {
    let folder = TempDir::new().expect("a folder");
    let settings = settings(&folder);
    record(&settings, ["one".into(), "two".into()]);
    let text = fs::read(&settings.path).expect("a log");
    for (length, end) in [(line::MAX_LINE, ""), (line::MAX_LINE, "\n"), (5 * line::MAX_LINE, "\n")] {
        let long = [text.clone(), vec![b'x'; length], end.into()].concat();
        let found = verified(&long);
        let broken = ChainBreak { line: 3, why: "it is longer than any record" };
        assert_eq!((found.records, found.broken), (2, Some(broken)));
        fs::write(&settings.path, &long).expect("the log");
        record(&settings, ["three".into()]);
        assert_eq!(fs::read(generations(&settings.path, 2)[0].as_path()).expect("the rotated log"), long);
        let events: Vec<Value> = lines(&settings.path).into_iter().map(|line| line["event"].clone()).collect();
        assert_eq!(events, ["altered", "call"]);
        fs::remove_file(&settings.path).expect("the log");
    }
}

#[test]
fn a_log_that_others_can_write_is_refused() {
    let folder = TempDir::new().expect("a folder");
    let settings = settings(&folder);
    record(&settings, ["one".into()]);
    let mode = |path: &Path| fs::metadata(path).expect("it is there").permissions().mode() & 0o777;
    assert_eq!((mode(&settings.path), mode(&folder.path().join("audit.jsonl.lock"))), (0o600, 0o600));
    fs::set_permissions(&settings.path, fs::Permissions::from_mode(0o606)).expect("my file");
    assert!(matches!(Audit::open(settings.clone()), Err(OpenError::Untrusted { .. })));
    fs::remove_file(&settings.path).expect("my file");
    std::os::unix::fs::symlink("/dev/null", &settings.path).expect("a link");
    assert!(matches!(Audit::open(settings.clone()), Err(OpenError::Io(_))));
    fs::remove_file(&settings.path).expect("my link");
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).expect("my folder");
    assert!(matches!(Audit::open(settings), Err(OpenError::Untrusted { .. })));
}

/// The bound is a hundred times the usual cost: it detects waiting, or work that belongs to the writer.
#[test]
fn recording_is_cheap() {
    let folder = TempDir::new().expect("a folder");
    let (audit, writer) = Audit::open(settings(&folder)).expect("a log");
    let began = Instant::now();
    for n in 0..1000 {
        let body = || Some(audit.body(r#"{"message":"a hundred bytes or so of a call's arguments"}"#));
        audit.record(&Record { input: body(), output: body(), id: Some(n.to_string()), ..call("math_add") });
    }
    let each = began.elapsed() / 1000;
    writer.close(TIMEOUT);
    assert!(each < Duration::from_micros(500), "{each:?}");
}
