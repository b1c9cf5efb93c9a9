//! Verifies the hash chain: that no line was changed, removed, added or moved.
//!
//! The chain has no key: lines missing at the end, or a whole log written again, are detected only if
//! the process that wrote them was still running and recorded it (`altered`). To detect them anyway, keep
//! the last hash elsewhere.

use std::io::{self, BufRead, Read as _};

use serde::Deserialize;

use super::line::{ALTERED, Link, MAX_LINE};

/// Maximum number of `altered` lines returned.
const MAX_REPORTED: usize = 16;

/// The fields of a line that verification needs.
#[derive(Deserialize)]
struct Header {
    seq: u64,
    prev: String,
    #[serde(default)]
    event: String,
    #[serde(default)]
    reason: Option<String>,
}

/// The result of verifying a file.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Verified {
    /// Valid records before the first break.
    pub records: u64,
    /// The first break; verification stops there.
    pub broken: Option<ChainBreak>,
    /// `altered` lines, with line number and reason: a server found that the file had been changed by
    /// something else.
    pub altered: Vec<(u64, String)>,
    /// Bytes of an incomplete last line, left by a killed process or a full disk.
    pub cut: u64,
    /// The sequence number and hash of the last record.
    pub last: Option<(u64, String)>,
}

/// Where the chain is broken.
#[derive(Debug, PartialEq, Eq)]
pub struct ChainBreak {
    /// From 1.
    pub line: u64,
    pub why: &'static str,
}

/// The link of a line, given without its line break.
pub(super) fn link(line: &[u8]) -> Option<Link> {
    let header: Header = serde_json::from_slice(line).ok()?;
    Some(Link { seq: header.seq, hash: blake3::hash(line) })
}

/// Verifies lines until the end or the first break. `after` is the last record of the previous file, if
/// known; on return, the last record of this one.
///
/// # Errors
/// If the lines cannot be read.
pub fn verify(mut lines: impl BufRead, after: &mut Option<(u64, String)>) -> io::Result<Verified> {
    let mut found = Verified::default();
    let mut line = Vec::new();
    loop {
        line.clear();
        (&mut lines).take(MAX_LINE as u64).read_until(b'\n', &mut line)?;
        if line.len() == MAX_LINE && line.last() != Some(&b'\n') {
            found.broken = Some(ChainBreak { line: found.records + 1, why: "it is longer than any record" });
            return Ok(found);
        }
        if line.pop_if(|byte| *byte == b'\n').is_none() {
            found.cut = line.len() as u64;
            found.last.clone_from(after);
            return Ok(found);
        }
        match check(&line, after.as_ref()) {
            Ok((header, altered)) => {
                *after = Some(header);
                if let Some(how) = altered.filter(|_| found.altered.len() < MAX_REPORTED) {
                    found.altered.push((found.records + 1, how));
                }
            }
            Err(why) => {
                found.broken = Some(ChainBreak { line: found.records + 1, why });
                return Ok(found);
            }
        }
        found.records += 1;
    }
}

/// The sequence number and hash of a line; and its reason, if it is an `altered` line.
type CheckedLine = ((u64, String), Option<String>);

fn check(line: &[u8], after: Option<&(u64, String)>) -> Result<CheckedLine, &'static str> {
    let header: Header = serde_json::from_slice(line).map_err(|_| "it is not a record")?;
    let start = Link::START;
    let start = (start.seq, start.hash.to_hex().to_string());
    // Without the previous file, the first line is accepted as it is, unless its number is 1.
    let before = after.or((header.seq == 1).then_some(&start));
    if let Some((seq, hash)) = before {
        if header.prev != *hash {
            return Err(
                "its hash does not match: the record before it was changed, or records were removed or added between them",
            );
        }
        if header.seq != seq + 1 {
            return Err("its number does not follow the one before it");
        }
    }
    let altered = (header.event == ALTERED).then(|| header.reason.unwrap_or_default());
    Ok(((header.seq, blake3::hash(line).to_hex().to_string()), altered))
}
