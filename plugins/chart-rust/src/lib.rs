//! Bar charts: drawn in a page by clients that show pages, as text by the others.

use std::fmt::Write as _;
use std::hash::{BuildHasher as _, RandomState};

#[cfg(test)]
mod tests;

use wharf_plugin::*;

struct Chart;

impl Plugin for Chart {
    fn tools(&self, tools: &mut Tools) {
        let page = || Page::new("ui://chart/bars.html", include_str!("page.html")).title("Bar chart");
        tools
            .add("chart", "Draws a bar chart of values with labels.", chart)
            .title("Bar chart")
            .read_only()
            .page(page());
        tools
            .add("dice", "Throws dice, and draws how often each face came.", dice)
            .title("Throw dice")
            .read_only()
            .idempotent(false)
            .page(page());
        // What the page's button calls. The model has `dice`.
        tools.add("throw", "Throws dice again.", dice).title("Throw again").read_only().idempotent(false).app_only();
    }
}

export!(Chart: tools, resources);

/// What a chart is made of.
#[derive(Deserialize, Serialize, JsonSchema)]
struct Bars {
    /// What the chart shows.
    #[schemars(length(max = 200))]
    title: String,
    #[schemars(length(min = 1, max = 100))]
    bars: Vec<Bar>,
    /// The number of dice, if it shows dice.
    #[serde(skip_deserializing, skip_serializing_if = "Option::is_none")]
    dice: Option<u32>,
}

#[derive(Deserialize, Serialize, JsonSchema)]
struct Bar {
    #[schemars(length(max = 100))]
    label: String,
    #[schemars(range(min = 0))]
    value: f64,
}

#[derive(Deserialize, JsonSchema)]
struct Dice {
    /// How many are thrown.
    #[serde(default = "sixty")]
    #[schemars(range(min = 1, max = 10_000))]
    count: u32,
}

fn sixty() -> u32 {
    60
}

fn chart(_: &Call, bars: Bars) -> Result<(Json<Bars>, String)> {
    let text = text(&bars);
    Ok((Json(bars), text))
}

fn dice(_: &Call, Dice { count }: Dice) -> Result<(Json<Bars>, String)> {
    // The host's random numbers, as the standard library gets them for its maps.
    let random = RandomState::new();
    let mut faces = [0_u32; 6];
    for number in 0..count {
        faces[(random.hash_one(number) % 6) as usize] += 1;
    }
    let bars = faces.iter().zip(1..).map(|(value, face)| Bar { label: face.to_string(), value: (*value).into() });
    let bars = Bars { title: format!("Faces of {count} dice"), bars: bars.collect(), dice: Some(count) };
    let text = text(&bars);
    Ok((Json(bars), text))
}

/// The chart for the model, and for clients that show no page.
fn text(Bars { title, bars, .. }: &Bars) -> String {
    const WIDTH: f64 = 30.0;
    let most = bars.iter().fold(0.0, |most: f64, bar| most.max(bar.value));
    let broadest = bars.iter().map(|bar| bar.label.chars().count()).max().unwrap_or_default();
    let mut text = title.clone();
    for Bar { label, value } in bars {
        let length = if most > 0.0 { (value / most * WIDTH).round() as usize } else { 0 };
        let bar = "█".repeat(length);
        // Writing to a string cannot fail.
        let _ = write!(text, "\n{label:broadest$} {bar} {value}");
    }
    text
}
