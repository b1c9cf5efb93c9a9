//! Checks that lines hang together: that none was changed, removed, added or moved.
//!
//! It cannot tell that the last lines are missing, nor that everything was written anew, unless
//! the process that wrote them was still there and has said so: the chain has no key. Who needs
//! that keeps the last hash elsewhere.

use std::io::{self, BufRead};

use serde::Deserialize;

use super::line::{ALTERED, Link};

/// Changes of a file that are told.
const TOLD: usize = 16;

/// What a line says of its place, and of the file.
#[derive(Deserialize)]
struct Place {
    seq: u64,
    prev: String,
    #[serde(default)]
    event: String,
    #[serde(default)]
    reason: Option<String>,
}

/// What was found in a file.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Verified {
    /// Records that are in their place.
    pub records: u64,
    /// The first one that is not, if there is one.
    pub broken: Option<Break>,
    /// Lines in which a server says that the file was changed under it, and how.
    pub altered: Vec<(u64, String)>,
    /// Bytes of a last line that has no end, as a process leaves it that was killed, or a full
    /// disk.
    pub cut: u64,
    /// The number and the hash of the last record.
    pub last: Option<(u64, String)>,
}

/// Where a chain does not hold.
#[derive(Debug, PartialEq, Eq)]
pub struct Break {
    /// From 1.
    pub line: u64,
    pub why: &'static str,
}

/// Reads the place of a line without its end.
pub(super) fn link(line: &[u8]) -> Option<Link> {
    let place: Place = serde_json::from_slice(line).ok()?;
    Some(Link { seq: place.seq, hash: blake3::hash(line) })
}

/// Reads lines until the end or the first break. `after` is the last one of the file before, if
/// this one goes on from there; afterwards it is the last one of this.
///
/// # Errors
/// If they cannot be read.
pub fn verify(mut lines: impl BufRead, after: &mut Option<(u64, String)>) -> io::Result<Verified> {
    let mut found = Verified::default();
    let mut line = Vec::new();
    loop {
        line.clear();
        lines.read_until(b'\n', &mut line)?;
        if line.pop_if(|byte| *byte == b'\n').is_none() {
            found.cut = line.len() as u64;
            found.last.clone_from(after);
            return Ok(found);
        }
        match check(&line, after.as_ref()) {
            Ok((place, altered)) => {
                *after = Some(place);
                if let Some(how) = altered.filter(|_| found.altered.len() < TOLD) {
                    found.altered.push((found.records + 1, how));
                }
            }
            Err(why) => {
                found.broken = Some(Break { line: found.records + 1, why });
                return Ok(found);
            }
        }
        found.records += 1;
    }
}

/// The place of a line, and what it says of changes of the file.
type Checked = ((u64, String), Option<String>);

fn check(line: &[u8], after: Option<&(u64, String)>) -> Result<Checked, &'static str> {
    let place: Place = serde_json::from_slice(line).map_err(|_| "it is not a record")?;
    let start = Link::START;
    let start = (start.seq, start.hash.to_hex().to_string());
    // A file whose predecessor is not at hand is believed its first line, unless that is the first of all.
    let before = after.or((place.seq == 1).then_some(&start));
    if let Some((seq, hash)) = before {
        if place.prev != *hash {
            return Err("it does not follow the record before it, or that one was changed");
        }
        if place.seq != seq + 1 {
            return Err("its number does not follow the one before it");
        }
    }
    let altered = (place.event == ALTERED).then(|| place.reason.unwrap_or_default());
    Ok(((place.seq, blake3::hash(line).to_hex().to_string()), altered))
}
