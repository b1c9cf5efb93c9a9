use super::{Report, Spread, Unit, rounded};

#[test]
fn the_median_of_an_even_count_is_the_mean_of_the_middle_two() {
    let spread = Spread::of(&[4.0, 1.0, 3.0, 2.0]);
    assert_eq!((spread.median, spread.min, spread.max), (2.5, 1.0, 4.0));
    assert_eq!(Spread::of(&[3.0, 1.0, 2.0]).median, 2.0);
}

#[test]
fn figures_have_three_significant_digits() {
    assert_eq!(["1.23", "12.3", "123", "12346"].map(str::to_owned), [1.234, 12.34, 123.4, 12345.6].map(rounded));
}

#[test]
fn rows_of_one_server_have_their_own_table() {
    let mut report = Report::new(vec!["Wharf", "native"]);
    for (wharf, native) in [(10.0, 5.0), (30.0, 10.0), (20.0, 20.0)] {
        report.add("call", Unit::Micros, "Wharf", wharf);
        report.add("call", Unit::Micros, "native", native);
    }
    report.add("reload", Unit::Millis, "Wharf", 1.0);
    let expected = "\
| | unit | Wharf | native | Wharf ÷ native |
|---|---|---:|---:|---:|
| call | µs | 20.0 (10.0 – 30.0) | 10.0 (5.00 – 20.0) | 2.00 (1.00 – 3.00) |

| Wharf only | unit | median (min – max) |
|---|---|---:|
| reload | ms | 1.00 (1.00 – 1.00) |
";
    assert_eq!(report.markdown(), expected);
    let json = report.json();
    assert_eq!(json[0]["ratio"]["rounds"], serde_json::json!([2.0, 3.0, 1.0]));
    assert_eq!(json[1].get("ratio"), None);
}
