//! One record as one line: JSON in printable ASCII, so that it cannot contain terminal escapes.
//!
//! The caller renders a record; the writer adds its position in the chain.

use std::io::{self, Write};
use std::time::SystemTime;

use serde::Serialize;
use serde_json::ser::{Formatter, Serializer};

use super::file::{Altered, FoundState};
use super::{Body, Record};

/// Hexadecimal digits recorded of a body's hash: 128 bits identify it.
const BODY_HASH_LENGTH: usize = 32;

/// Maximum bytes of a line with its line break. The longest record has two bodies of 16 KiB and some
/// texts, each byte of which may take six.
pub const MAX_LINE: usize = 1 << 20;

/// The event of a line which records that the file was changed.
pub(super) const ALTERED: &str = "altered";

/// The position of a line in the chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Link {
    pub(super) seq: u64,
    /// Of the line, without its line break.
    pub(super) hash: blake3::Hash,
}

impl Link {
    /// The predecessor of the first line of a log.
    pub(super) const START: Self = Self { seq: 0, hash: blake3::Hash::from_bytes([0; 32]) };
}

/// The members of a line besides its time and its link.
#[derive(Serialize)]
struct Members<'a> {
    event: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    plugin: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    principal: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    issuer: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    subject: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    client: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    scopes: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rule: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    extra: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    via: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    peer: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    method: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    task: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    trace: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dur_us: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cpu_us: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    queue_us: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    memory_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    upstream_requests: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    upstream_us: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    in_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    in_hash: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    out_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    out_hash: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    access: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    omitted: Option<u64>,
    #[serde(rename = "in", skip_serializing_if = "Option::is_none")]
    input: Option<&'a str>,
    #[serde(rename = "out", skip_serializing_if = "Option::is_none")]
    output: Option<&'a str>,
}

/// Separates the time from the members of a rendered record; occurs in neither.
const SEPARATOR: u8 = b'\t';

/// Renders a record without its link and its line break.
pub(super) fn render(record: &Record) -> Vec<u8> {
    let bytes = |body: &Option<Body>| body.as_ref().map(|body| body.bytes);
    let hash = |body: &Option<Body>| body.as_ref().map(|body| body.hash.to_hex());
    let content = record.content.map(|content| blake3::Hash::from_bytes(content).to_hex());
    let (in_hash, out_hash) = (hash(&record.input), hash(&record.output));
    let spent = record.spent.as_ref();
    let sent = spent.filter(|spent| spent.upstream_requests > 0);
    let members = Members {
        event: record.event.name(),
        plugin: record.plugin.as_deref(),
        content: content.as_deref(),
        principal: record.principal.as_deref(),
        issuer: record.issuer.as_deref(),
        subject: record.subject.as_deref(),
        client: record.client.as_deref(),
        scopes: record.scopes.as_deref(),
        rule: record.rule.as_deref(),
        extra: record.extra.as_deref(),
        by: record.by,
        via: record.via,
        peer: record.peer.as_deref(),
        method: record.method.as_deref(),
        tool: record.tool.as_deref(),
        id: record.id.as_deref(),
        task: record.task.as_deref(),
        trace: record.trace.as_deref(),
        dur_us: record.took.map(|took| took.as_micros() as u64),
        cpu_us: spent.map(|spent| spent.cpu.as_micros() as u64),
        queue_us: spent.map(|spent| spent.queued.as_micros() as u64).filter(|us| *us > 0),
        memory_bytes: spent.map(|spent| spent.memory),
        upstream_requests: sent.map(|spent| spent.upstream_requests),
        upstream_us: sent.map(|spent| spent.upstream.as_micros() as u64),
        in_bytes: bytes(&record.input),
        in_hash: in_hash.as_ref().map(|hash| &hash[..BODY_HASH_LENGTH]),
        out_bytes: bytes(&record.output),
        out_hash: out_hash.as_ref().map(|hash| &hash[..BODY_HASH_LENGTH]),
        code: record.code,
        access: record.access,
        reason: record.reason.as_deref(),
        omitted: record.omitted,
        input: record.input.as_ref().and_then(|body| body.text.as_deref()),
        output: record.output.as_ref().and_then(|body| body.text.as_deref()),
    };
    render_members(record.at, &members)
}

/// Renders a line on `count` lost records, and on calls refused because they could not have been
/// recorded.
fn render_lost(count: u64, refused: u64) -> Vec<u8> {
    #[derive(Serialize)]
    struct Lost {
        event: &'static str,
        count: u64,
        #[serde(skip_serializing_if = "is_zero")]
        refused: u64,
    }
    render_members(SystemTime::now(), &Lost { event: "lost", count, refused })
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Renders a line on a change of the file by something else.
fn render_altered(altered: &Altered) -> Vec<u8> {
    #[derive(Serialize)]
    struct Line<'a> {
        event: &'static str,
        reason: &'static str,
        after: u64,
        hash: &'a str,
    }
    let Altered { why, last } = altered;
    let hash = last.hash.to_hex();
    render_members(SystemTime::now(), &Line { event: ALTERED, reason: why, after: last.seq, hash: &hash })
}

fn render_members(at: SystemTime, members: &impl Serialize) -> Vec<u8> {
    let mut line = Vec::with_capacity(512);
    // Infallible: strings and numbers are written to memory.
    let _ = write!(line, "{}", humantime::format_rfc3339_micros(at));
    line.push(SEPARATOR);
    let _ = members.serialize(&mut Serializer::with_formatter(&mut line, Ascii));
    line
}

/// Appends what was found in the file, `lost` records and `refused` calls, as lines of their own.
pub(super) fn append_found(found: &FoundState, lost: u64, refused: u64, after: &mut Link, into: &mut Vec<u8>) {
    if let Some(altered) = &found.altered {
        append(&render_altered(altered), after, into);
    }
    if lost + refused > 0 {
        append(&render_lost(lost, refused), after, into);
    }
}

/// Appends a rendered record to `into` as the line after `after`, with its line break; advances `after`.
pub(super) fn append(rendered: &[u8], after: &mut Link, into: &mut Vec<u8>) {
    let start = into.len();
    let gap = memchr::memchr(SEPARATOR, rendered).unwrap_or_default();
    let (time, members) = (&rendered[..gap], &rendered[gap + 1..]);
    let seq = after.seq + 1;
    into.extend_from_slice(br#"{"ts":""#);
    into.extend_from_slice(time);
    let _ = write!(into, r#"","seq":{seq},"prev":"{}","#, after.hash.to_hex());
    // Without the opening brace.
    into.extend_from_slice(&members[1..]);
    *after = Link { seq, hash: blake3::hash(&into[start..]) };
    into.push(b'\n');
}

/// Escapes non-ASCII characters and DEL. The other controls are always escaped in JSON.
struct Ascii;

impl Formatter for Ascii {
    fn write_string_fragment<W: ?Sized + Write>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()> {
        let as_it_is = |c: char| c.is_ascii() && c != '\u{7f}';
        // The common case.
        if fragment.is_ascii() && memchr::memchr(0x7f, fragment.as_bytes()).is_none() {
            return writer.write_all(fragment.as_bytes());
        }
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
