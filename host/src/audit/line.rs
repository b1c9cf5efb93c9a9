//! One record as one line: JSON in plain ASCII, so that nothing in it steers a terminal.

use std::io::{self, Write};
use std::time::{Duration, SystemTime};

use serde::Serialize;
use serde_json::ser::{Formatter, Serializer};

use super::{Body, Record};

/// Where a line stands in its chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Link {
    pub(super) seq: u64,
    /// Of the line, without its end.
    pub(super) hash: blake3::Hash,
}

impl Link {
    /// What the first line of all follows.
    pub(super) const START: Self = Self { seq: 0, hash: blake3::Hash::from_bytes([0; 32]) };
}

/// What every line has.
#[derive(Serialize)]
struct Head {
    ts: String,
    seq: u64,
    prev: String,
    event: &'static str,
}

impl Head {
    fn new(after: &Link, at: SystemTime, event: &'static str) -> Self {
        Self {
            ts: humantime::format_rfc3339_micros(at).to_string(),
            seq: after.seq + 1,
            prev: after.hash.to_hex().to_string(),
            event,
        }
    }
}

#[derive(Serialize)]
struct Line<'a> {
    #[serde(flatten)]
    head: Head,
    #[serde(flatten)]
    record: Members<'a>,
}

#[derive(Serialize)]
struct Members<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    plugin: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    principal: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    method: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dur_us: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    in_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    in_hash: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    out_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    out_hash: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    access: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    #[serde(rename = "in", skip_serializing_if = "Option::is_none")]
    input: Option<&'a str>,
    #[serde(rename = "out", skip_serializing_if = "Option::is_none")]
    output: Option<&'a str>,
}

/// Puts a record's line, with its end, behind what is there.
pub(super) fn write(record: &Record, after: &mut Link, into: &mut Vec<u8>) {
    let bytes = |body: &Option<Body>| body.as_ref().map(|body| body.bytes);
    let hash = |body: &Option<Body>| body.as_ref().map(|body| short(&body.hash));
    let micros = |took: Duration| took.as_micros() as u64;
    let record = Line {
        head: Head::new(after, record.at, record.event.name()),
        record: Members {
            plugin: record.plugin.as_deref(),
            content: record.content.map(|content| blake3::Hash::from_bytes(content).to_hex().to_string()),
            principal: record.principal.as_deref(),
            method: record.method.as_deref(),
            tool: record.tool.as_deref(),
            id: record.id.as_deref(),
            dur_us: record.took.map(micros),
            in_bytes: bytes(&record.input),
            in_hash: hash(&record.input),
            out_bytes: bytes(&record.output),
            out_hash: hash(&record.output),
            code: record.code,
            access: record.access,
            reason: record.reason.as_deref(),
            input: record.input.as_ref().and_then(|body| body.text.as_deref()),
            output: record.output.as_ref().and_then(|body| body.text.as_deref()),
        },
    };
    put(&record, after, into);
}

/// The same for word that so many records are missing.
pub(super) fn write_lost(count: u64, after: &mut Link, into: &mut Vec<u8>) {
    #[derive(Serialize)]
    struct Lost {
        #[serde(flatten)]
        head: Head,
        count: u64,
    }
    put(&Lost { head: Head::new(after, SystemTime::now(), "lost"), count }, after, into);
}

fn put(line: &impl Serialize, after: &mut Link, into: &mut Vec<u8>) {
    let start = into.len();
    // Into memory, and of nothing but texts and numbers: it cannot fail.
    let _ = line.serialize(&mut Serializer::with_formatter(&mut *into, Ascii));
    *after = Link { seq: after.seq + 1, hash: blake3::hash(&into[start..]) };
    into.push(b'\n');
}

/// 128 bits are enough to find a body by.
fn short(hash: &blake3::Hash) -> String {
    hash.to_hex()[..32].to_owned()
}

/// Escapes whatever is not ASCII. Controls are escaped in any JSON, but for the last one.
struct Ascii;

impl Formatter for Ascii {
    fn write_string_fragment<W: ?Sized + Write>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()> {
        let as_it_is = |c: char| c.is_ascii() && c != '\u{7f}';
        let mut rest = fragment;
        while let Some(at) = rest.find(|c| !as_it_is(c)) {
            let (plain, special) = rest.split_at(at);
            writer.write_all(plain.as_bytes())?;
            let mut chars = special.chars();
            for unit in chars.next().unwrap_or_default().encode_utf16(&mut [0; 2]) {
                write!(writer, "\\u{unit:04x}")?;
            }
            rest = chars.as_str();
        }
        writer.write_all(rest.as_bytes())
    }
}
