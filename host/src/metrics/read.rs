//! Reads what [`Metrics::text`](super::Metrics::text) writes: OpenMetrics 1.0, of the host or of another one.
//!
//! What is made is at most a multiple of the text. Timestamps, exemplars, and the types that the host does not use
//! are refused.
//!
//! Source: <https://github.com/prometheus/OpenMetrics/blob/v1.0.0/specification/OpenMetrics.md#text-format>.

use std::collections::HashSet;

/// Metrics of one name.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadFamily {
    /// With its unit, and without the suffixes of its points.
    pub name: String,
    pub kind: ReadKind,
    /// Empty if it has none.
    pub unit: String,
    /// Empty if it has none.
    pub help: String,
    pub points: Vec<ReadPoint>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReadKind {
    Counter,
    Gauge,
    Histogram,
    Info,
    #[default]
    Unknown,
}

/// One line.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadPoint {
    pub suffix: Suffix,
    /// As they are written, one of each name. A bucket has `le`, which is a number.
    pub labels: Vec<(String, String)>,
    /// Of a counter and of a histogram's buckets and count: not negative, and a number.
    pub value: f64,
}

/// What follows the family's name in that of a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Suffix {
    None,
    Total,
    Bucket,
    Sum,
    Count,
    Info,
}

/// Why a text is not one of metrics. Reads after "failed to read the metrics: ".
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {why}")]
pub struct ReadError {
    /// From 1.
    pub line: usize,
    pub why: &'static str,
}

impl ReadKind {
    fn of(name: &str) -> Option<Self> {
        Some(match name {
            "counter" => Self::Counter,
            "gauge" => Self::Gauge,
            "histogram" => Self::Histogram,
            "info" => Self::Info,
            "unknown" => Self::Unknown,
            _ => return None,
        })
    }

    /// The suffix of its points that is written so.
    fn suffix(self, text: &str) -> Option<Suffix> {
        Some(match (self, text) {
            (Self::Gauge | Self::Unknown, "") => Suffix::None,
            (Self::Counter, "_total") => Suffix::Total,
            (Self::Histogram, "_bucket") => Suffix::Bucket,
            (Self::Histogram, "_sum") => Suffix::Sum,
            (Self::Histogram, "_count") => Suffix::Count,
            (Self::Info, "_info") => Suffix::Info,
            _ => return None,
        })
    }
}

impl ReadPoint {
    /// The value of a label; empty if it has none of that name, which means the same.
    pub fn label(&self, name: &str) -> &str {
        self.labels.iter().find(|(own, _)| own == name).map_or("", |(_, value)| value)
    }
}

/// Reads a whole text.
///
/// # Errors
/// Says the first line that is none of the format.
pub fn read(text: &str) -> Result<Vec<ReadFamily>, ReadError> {
    let mut families = Families::default();
    let mut number = 0;
    let mut is_whole = false;
    for line in text.split_terminator('\n') {
        number += 1;
        let at = |why| ReadError { line: number, why };
        if is_whole {
            return Err(at("text follows the end, # EOF"));
        }
        if line == "# EOF" {
            is_whole = true;
        } else if let Some(described) = line.strip_prefix("# ") {
            families.describe(described).map_err(at)?;
        } else {
            families.point(line).map_err(at)?;
        }
    }
    if !is_whole {
        return Err(ReadError { line: number + 1, why: "the end, # EOF, is missing" });
    }
    Ok(families.all)
}

type Why = &'static str;
type Labels = Vec<(String, String)>;

/// What was read, the last being read.
#[derive(Default)]
struct Families<'t> {
    all: Vec<ReadFamily>,
    names: HashSet<&'t str>,
    /// Of the last one: which descriptions it has.
    described: Vec<&'t str>,
    /// Of the last one: names and labels of its points.
    seen: HashSet<&'t str>,
}

impl<'t> Families<'t> {
    /// `HELP`, `TYPE` and `UNIT`, which are before the points.
    fn describe(&mut self, text: &'t str) -> Result<(), Why> {
        let mut words = text.splitn(3, ' ');
        let (what, name, value) = (words.next().unwrap_or_default(), words.next(), words.next().unwrap_or_default());
        if !["HELP", "TYPE", "UNIT"].contains(&what) {
            return Err("neither HELP, TYPE, UNIT nor EOF");
        }
        let name = name.filter(|name| is_name(name, true)).ok_or("not the name of a metric")?;
        if self.all.last().is_none_or(|last| last.name != name) {
            self.begin(name)?;
        }
        let Some(family) = self.all.last_mut() else { return Ok(()) };
        if !family.points.is_empty() {
            return Err("a description follows a value of its metric");
        }
        if self.described.contains(&what) {
            return Err("a metric is described twice");
        }
        self.described.push(what);
        match what {
            "HELP" => family.help = unescaped(value)?,
            "TYPE" => family.kind = ReadKind::of(value).ok_or("not a type that is known here")?,
            _ if !value.is_empty() && !name.strip_suffix(value).is_some_and(|rest| rest.ends_with('_')) => {
                return Err("a unit that the metric's name does not end with");
            }
            _ => family.unit = value.to_owned(),
        }
        Ok(())
    }

    fn begin(&mut self, name: &'t str) -> Result<(), Why> {
        if !self.names.insert(name) {
            return Err("a metric comes again after another one");
        }
        self.described.clear();
        self.seen.clear();
        self.all.push(ReadFamily {
            name: name.to_owned(),
            kind: ReadKind::default(),
            unit: String::new(),
            help: String::new(),
            points: Vec::new(),
        });
        Ok(())
    }

    fn point(&mut self, line: &'t str) -> Result<(), Why> {
        let end = line.find(['{', ' ']).ok_or("neither a value nor a description")?;
        let (name, rest) = line.split_at(end);
        if !is_name(name, true) {
            return Err("not the name of a metric");
        }
        let (labels, rest) = match rest.strip_prefix('{') {
            Some(rest) => labels(rest)?,
            None => (Vec::new(), rest),
        };
        let of_last = |family: &ReadFamily| family.kind.suffix(name.strip_prefix(&*family.name)?);
        let suffix = match self.all.last().and_then(of_last) {
            Some(suffix) => suffix,
            // Without a description, it is of unknown type.
            None => {
                self.begin(name)?;
                Suffix::None
            }
        };
        if !self.seen.insert(&line[..line.len() - rest.len()]) {
            return Err("a value comes twice");
        }
        let value = number(rest.strip_prefix(' ').ok_or("no value")?)?;
        let is_counted = matches!(suffix, Suffix::Total | Suffix::Bucket | Suffix::Count);
        if is_counted && (value.is_nan() || value < 0.0) {
            return Err("a count that is none");
        }
        let point = ReadPoint { suffix, labels, value };
        if suffix == Suffix::Bucket && !number(point.label("le")).is_ok_and(|bound| !bound.is_nan()) {
            return Err("a bucket without a bound, le");
        }
        if let Some(family) = self.all.last_mut() {
            family.points.push(point);
        }
        Ok(())
    }
}

/// Whether it is the name of a metric, or of a label, which has no colons.
fn is_name(text: &str, may_have_colons: bool) -> bool {
    let is_first = |byte: u8| byte.is_ascii_alphabetic() || byte == b'_' || may_have_colons && byte == b':';
    let mut bytes = text.bytes();
    bytes.next().is_some_and(is_first) && bytes.all(|byte| is_first(byte) || byte.is_ascii_digit())
}

/// Labels after their brace, and what follows the other one.
fn labels(text: &str) -> Result<(Labels, &str), Why> {
    let mut labels = Labels::new();
    if let Some(rest) = text.strip_prefix('}') {
        return Ok((labels, rest));
    }
    let mut names = HashSet::new();
    let mut text = text;
    loop {
        let (name, rest) = text.split_once("=\"").ok_or("not a label and its value")?;
        if !is_name(name, false) {
            return Err("not the name of a label");
        }
        if !names.insert(name) {
            return Err("a label comes twice");
        }
        let end = end_of_value(rest).ok_or("the value of a label has no end")?;
        labels.push((name.to_owned(), unescaped(&rest[..end])?));
        let rest = &rest[end + 1..];
        if let Some(rest) = rest.strip_prefix('}') {
            return Ok((labels, rest));
        }
        text = rest.strip_prefix(',').ok_or("labels without a comma between them")?;
    }
}

/// Where the quotation mark is that ends a value.
fn end_of_value(text: &str) -> Option<usize> {
    let mut is_escaped = false;
    text.bytes().position(|byte| {
        let ends = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        ends
    })
}

fn unescaped(text: &str) -> Result<String, Why> {
    let mut all = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(char) = chars.next() {
        all.push(match char {
            '\\' => match chars.next() {
                Some('n') => '\n',
                Some(char @ ('\\' | '"')) => char,
                _ => return Err("a backslash that escapes nothing"),
            },
            char => char,
        });
    }
    Ok(all)
}

/// Also `+Inf` and `NaN`, as the format does.
fn number(text: &str) -> Result<f64, Why> {
    text.parse().map_err(|_| "not a number")
}

#[cfg(test)]
mod tests;
