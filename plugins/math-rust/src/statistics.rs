//! What a list of numbers looks like.

use wharf_plugin::*;

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Statistics {
    /// The numbers, at least one.
    #[schemars(length(min = 1))]
    numbers: Vec<f64>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Description {
    /// How many there are.
    count: usize,
    sum: f64,
    mean: f64,
    median: f64,
    /// The smallest.
    min: f64,
    /// The largest.
    max: f64,
    /// A quarter is below it (between neighbours, linear).
    lower_quartile: f64,
    /// A quarter is above it (between neighbours, linear).
    upper_quartile: f64,
    /// Of the numbers as the whole population.
    population_variance: f64,
    /// Of the numbers as the whole population.
    population_deviation: f64,
    /// Of the numbers as a sample (n - 1); absent for a single number.
    #[serde(skip_serializing_if = "Option::is_none")]
    sample_variance: Option<f64>,
    /// Of the numbers as a sample (n - 1); absent for a single number.
    #[serde(skip_serializing_if = "Option::is_none")]
    sample_deviation: Option<f64>,
}

pub(crate) fn statistics(_: &Call, args: Statistics) -> Result<Json<Description>> {
    let mut sorted = args.numbers;
    if sorted.is_empty() {
        return Err(Error::invalid("/numbers", "needs at least one number"));
    }
    sorted.sort_by(f64::total_cmp);
    let count = sorted.len();
    let n = count as f64;
    let sum = total(sorted.iter().copied());
    let mean = sum / n;
    let squares = total(sorted.iter().map(|number| (number - mean) * (number - mean)));
    if !squares.is_finite() {
        return Err(Error::invalid("/numbers", "are too large to be squared"));
    }
    let sample_variance = (count > 1).then(|| squares / (n - 1.0));
    Ok(Json(Description {
        count,
        sum,
        mean,
        median: quantile(&sorted, 0.5),
        min: sorted[0],
        max: sorted[count - 1],
        lower_quartile: quantile(&sorted, 0.25),
        upper_quartile: quantile(&sorted, 0.75),
        population_variance: squares / n,
        population_deviation: (squares / n).sqrt(),
        sample_variance,
        sample_deviation: sample_variance.map(f64::sqrt),
    }))
}

/// A sum that keeps what plain addition would round away (Neumaier).
fn total(numbers: impl Iterator<Item = f64>) -> f64 {
    let (mut sum, mut lost) = (0.0_f64, 0.0);
    for number in numbers {
        let next = sum + number;
        lost += if sum.abs() >= number.abs() { (sum - next) + number } else { (number - next) + sum };
        sum = next;
    }
    sum + lost
}

/// The value that so much of the list is below, linear between neighbours.
fn quantile(sorted: &[f64], part: f64) -> f64 {
    let place = part * (sorted.len() - 1) as f64;
    let below = place.floor() as usize;
    let above = (below + 1).min(sorted.len() - 1);
    sorted[below] + (sorted[above] - sorted[below]) * place.fract()
}
