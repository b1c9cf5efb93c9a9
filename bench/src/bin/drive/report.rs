//! Collects the figures and renders them as tables or JSON.

use std::fmt::Write as _;

use serde_json::{Value, json};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    Micros,
    Millis,
    PerSecond,
    KiB,
    MiB,
    Times,
}

impl Unit {
    fn name(self) -> &'static str {
        match self {
            Self::Micros => "µs",
            Self::Millis => "ms",
            Self::PerSecond => "calls/s",
            Self::KiB => "KiB",
            Self::MiB => "MiB",
            Self::Times => "×",
        }
    }
}

/// One row: the figures of each column, in the order of the rounds.
struct Measure {
    what: String,
    unit: Unit,
    figures: Vec<Vec<f64>>,
}

pub struct Report {
    columns: Vec<&'static str>,
    measures: Vec<Measure>,
}

impl Report {
    pub fn new(columns: Vec<&'static str>) -> Self {
        Self { columns, measures: Vec::new() }
    }

    /// Adds a round's figure to the row named `what`; rows are in the order of their first figure.
    pub fn add(&mut self, what: &str, unit: Unit, column: &str, figure: f64) {
        let Some(column) = self.columns.iter().position(|name| *name == column) else {
            return;
        };
        let row = self.measures.iter().position(|measure| measure.what == what).unwrap_or_else(|| {
            let figures = vec![Vec::new(); self.columns.len()];
            self.measures.push(Measure { what: what.to_owned(), unit, figures });
            self.measures.len() - 1
        });
        self.measures[row].figures[column].push(figure);
    }

    /// The median of each column of the row named `what`, if it exists.
    pub fn medians(&self, what: &str) -> Option<Vec<f64>> {
        let measure = self.measures.iter().find(|measure| measure.what == what)?;
        Some(measure.figures.iter().map(|figures| median(figures)).collect())
    }

    pub fn columns(&self) -> &[&'static str] {
        &self.columns
    }

    /// Markdown: a table of the rows that all servers have, and one per server for its other rows.
    pub fn markdown(&self) -> String {
        let (shared, single): (Vec<_>, Vec<_>) =
            self.measures.iter().partition(|measure| measure.figures.iter().all(|figures| !figures.is_empty()));
        let mut text = String::new();
        if !shared.is_empty() {
            let mut header = format!("| | unit | {} |", self.columns.join(" | "));
            if let [first, second] = self.columns[..] {
                let _ = write!(header, " {first} ÷ {second} |");
            }
            let _ = writeln!(text, "{header}\n{}", rule(&header));
            for measure in shared {
                let _ = writeln!(text, "{}", measure.row(0..self.columns.len()));
            }
        }
        for (column, name) in self.columns.iter().enumerate() {
            let rows: Vec<_> = single.iter().filter(|measure| !measure.figures[column].is_empty()).collect();
            if rows.is_empty() {
                continue;
            }
            let header = format!("| {name} only | unit | median (min – max) |");
            let _ = writeln!(text, "\n{header}\n{}", rule(&header));
            for measure in rows {
                let _ = writeln!(text, "{}", measure.row(column..column + 1));
            }
        }
        text
    }

    /// All figures.
    pub fn json(&self) -> Value {
        self.measures.iter().map(|measure| measure.json(&self.columns)).collect()
    }
}

impl Measure {
    fn row(&self, columns: std::ops::Range<usize>) -> String {
        let mut row = format!("| {} | {} |", self.what, self.unit.name());
        for figures in &self.figures[columns.clone()] {
            let spread = Spread::of(figures);
            let (median, min, max) = (rounded(spread.median), rounded(spread.min), rounded(spread.max));
            let _ = write!(row, " {median} ({min} – {max}) |");
        }
        if let (2, [first, second]) = (columns.len(), &self.figures[..]) {
            let ratio = Spread::of(&ratios(first, second));
            let _ = write!(row, " {:.2} ({:.2} – {:.2}) |", ratio.median, ratio.min, ratio.max);
        }
        row
    }

    fn json(&self, columns: &[&str]) -> Value {
        let mut value = json!({ "what": self.what, "unit": self.unit.name() });
        for (name, figures) in columns.iter().zip(&self.figures).filter(|(_, figures)| !figures.is_empty()) {
            value[*name] = Spread::of(figures).json(figures);
        }
        if let [first, second] = &self.figures[..] {
            let ratios = ratios(first, second);
            if !ratios.is_empty() {
                value["ratio"] = Spread::of(&ratios).json(&ratios);
            }
        }
        value
    }
}

/// Per round, so that both figures were measured within the same minutes.
fn ratios(first: &[f64], second: &[f64]) -> Vec<f64> {
    first.iter().zip(second).map(|(first, second)| first / second).collect()
}

pub fn median(figures: &[f64]) -> f64 {
    Spread::of(figures).median
}

struct Spread {
    median: f64,
    min: f64,
    max: f64,
}

impl Spread {
    fn of(figures: &[f64]) -> Self {
        let mut sorted = figures.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        let at = |index: usize| sorted.get(index).copied().unwrap_or(f64::NAN);
        let last = sorted.len().saturating_sub(1);
        Self { median: (at(last / 2) + at(last.div_ceil(2))) / 2.0, min: at(0), max: at(last) }
    }

    fn json(&self, figures: &[f64]) -> Value {
        json!({ "median": self.median, "min": self.min, "max": self.max, "rounds": figures })
    }
}

/// Three significant digits, or all digits before the point.
fn rounded(figure: f64) -> String {
    match figure {
        f if f.abs() >= 100.0 => format!("{f:.0}"),
        f if f.abs() >= 10.0 => format!("{f:.1}"),
        f => format!("{f:.2}"),
    }
}

/// The line below a header: text to the left, figures to the right.
fn rule(header: &str) -> String {
    let columns = header.matches('|').count() - 1;
    format!("|---|---|{}", "---:|".repeat(columns.saturating_sub(2)))
}

#[cfg(test)]
mod tests;
