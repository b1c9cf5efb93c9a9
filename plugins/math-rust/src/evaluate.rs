//! Expressions and units, by the calculator of fend.

use std::time::{Duration, Instant};

use wharf_plugin::*;

#[derive(Clone, Copy, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Form {
    /// Decimal, to so many digits as are useful.
    #[default]
    Auto,
    /// A fraction.
    Fraction,
    /// An integer and a fraction.
    Mixed,
    /// Decimal, all digits; a repeating part is in brackets.
    Exact,
    /// Powers of ten.
    Scientific,
    /// Base 16.
    Hex,
    /// Base 2.
    Binary,
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Evaluate {
    /// The expression, such as `2^200`, `1/3 + 1/7`, `sqrt(2)`, `15% of 80`, `5 km / (20 minutes) to km/h`.
    expression: String,
    /// How to write the result.
    #[serde(default)]
    form: Form,
    /// Digits after the decimal point, in place of `form`; at most 1000.
    #[schemars(range(max = 1000))]
    digits: Option<u32>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Evaluated {
    /// The result, with its unit if it has one.
    result: String,
    /// Whether that is the exact value; false if it is rounded.
    exact: bool,
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Convert {
    /// How much.
    value: f64,
    /// Its unit, by name or symbol: `mile`, `kg`, `km/h`, `°F`, `GiB`.
    from: String,
    /// The unit that is wanted.
    to: String,
}

pub(crate) fn evaluate(_: &Call, args: Evaluate) -> Result<Json<Evaluated>> {
    if args.expression.trim().is_empty() {
        return Err(Error::invalid("/expression", "is empty"));
    }
    let form = match (args.digits, args.form) {
        (Some(digits), _) if digits > 1000 => {
            return Err(Error::invalid("/digits", "must be at most 1000"));
        }
        (Some(digits), _) => format!(" to {digits} dp"),
        (None, Form::Auto) => String::new(),
        (None, Form::Fraction) => " to fraction".into(),
        (None, Form::Mixed) => " to mixed_frac".into(),
        (None, Form::Exact) => " to exact".into(),
        (None, Form::Scientific) => " to sci".into(),
        (None, Form::Hex) => " to hex".into(),
        (None, Form::Binary) => " to binary".into(),
    };
    let expression = format!("({}){form}", args.expression);
    // An expression that converts already is no operand; it must stand alone.
    let written = if form.is_empty() { &args.expression } else { &expression };
    let evaluated = calculate(written).map_err(|reason| Error::invalid("/expression", reason))?;
    if !evaluated.exact && args.digits.is_some_and(|digits| digits > FLOAT_DIGITS) && !rational(&args.expression) {
        let reason = format!("roots, logarithms and trigonometry have at most {FLOAT_DIGITS} digits");
        return Err(Error::invalid("/digits", reason));
    }
    Ok(Json(evaluated))
}

/// What a double holds; digits beyond that would be made up.
const FLOAT_DIGITS: u32 = 14;

/// Whether every digit of the value can be had: it is a fraction and no float.
fn rational(expression: &str) -> bool {
    calculate(&format!("({expression}) to fraction")).is_ok_and(|evaluated| evaluated.exact)
}

pub(crate) fn convert(_: &Call, args: Convert) -> Result<Json<Evaluated>> {
    for (path, unit) in [("/from", &args.from), ("/to", &args.to)] {
        calculate(&format!("1 ({unit})")).map_err(|reason| Error::invalid(path, reason))?;
    }
    let expression = format!("({} {}) to ({})", args.value, args.from, args.to);
    calculate(&expression).map(Json).map_err(|reason| Error::invalid("/to", reason))
}

fn calculate(expression: &str) -> Result<Evaluated, String> {
    let mut context = fend_core::Context::new();
    context.disable_rng();
    let patience = Patience(Instant::now());
    let result = fend_core::evaluate_with_interrupt(expression, &mut context, &patience).map_err(|reason| {
        if patience.0.elapsed() > PATIENCE { "takes too long to calculate".into() } else { reason }
    })?;
    let result = result.get_main_result().trim();
    if result.is_empty() {
        return Err("has no result".into());
    }
    Ok(match result.strip_prefix("approx. ") {
        Some(rounded) => Evaluated { result: rounded.into(), exact: false },
        None => Evaluated { result: result.into(), exact: true },
    })
}

/// Gives up by itself, with a word of why, long before the host would.
struct Patience(Instant);

const PATIENCE: Duration = Duration::from_secs(2);

impl fend_core::Interrupt for Patience {
    fn should_interrupt(&self) -> bool {
        self.0.elapsed() > PATIENCE
    }
}
