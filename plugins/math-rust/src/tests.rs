//! Each tool on inputs whose results are known from elsewhere.

use wharf_plugin::*;

use super::Math;

fn structured(tool: &str, arguments: Value) -> Result<Value> {
    Ok(testing::call(&Math, tool, arguments)?.as_json().unwrap_or_default())
}

fn refusal(tool: &str, arguments: Value) -> String {
    testing::call(&Math, tool, arguments).map(|_| ()).expect_err("a refusal").text()
}

#[test]
fn arithmetic_is_exact() -> Result<()> {
    let cases = [
        (json!({ "expression": "2^100" }), "1267650600228229401496703205376", true),
        (json!({ "expression": "0.1 + 0.2" }), "0.3", true),
        (json!({ "expression": "1/3 + 1/7", "form": "fraction" }), "10/21", true),
        (json!({ "expression": "sqrt(2)", "digits": 10 }), "1.4142135624", false),
        (json!({ "expression": "1/3", "digits": 30 }), "0.333333333333333333333333333333", false),
        (json!({ "expression": "255", "form": "hex" }), "ff", true),
        (json!({ "expression": "5 km / (20 minutes) to km/h" }), "15 km / h", true),
    ];
    for (arguments, result, exact) in cases {
        let evaluated = structured("evaluate", arguments.clone())?;
        assert_eq!(evaluated, json!({ "result": result, "exact": exact }), "{arguments}");
    }
    Ok(())
}

#[test]
fn what_cannot_be_calculated_is_said() {
    for expression in ["", "1/0", "2 +", "nonsense", "9^9^9^9", "100000!"] {
        assert!(refusal("evaluate", json!({ "expression": expression })).starts_with("/expression: "), "{expression}");
    }
    // A double knows no more than this of the root of 2.
    assert!(refusal("evaluate", json!({ "expression": "sqrt(2)", "digits": 30 })).starts_with("/digits: roots"));
    assert!(refusal("evaluate", json!({ "expression": "1", "digits": 1001 })).starts_with("/digits: "));
}

#[test]
fn units_convert() -> Result<()> {
    let cases = [
        (json!({ "value": 26.2, "from": "miles", "to": "km" }), "42.1648128 km"),
        (json!({ "value": 98.6, "from": "°F", "to": "°C" }), "37 °C"),
        (json!({ "value": -40, "from": "celsius", "to": "fahrenheit" }), "-40 fahrenheit"),
        (json!({ "value": 1, "from": "GiB", "to": "MB" }), "1073.741824 MB"),
    ];
    for (arguments, result) in cases {
        assert_eq!(structured("convert", arguments.clone())?["result"], result, "{arguments}");
    }
    assert!(refusal("convert", json!({ "value": 1, "from": "smoots and", "to": "km" })).starts_with("/from: "));
    assert!(refusal("convert", json!({ "value": 1, "from": "kg", "to": "km" })).starts_with("/to: "));
    Ok(())
}

#[test]
fn statistics_are_those_of_the_textbook() -> Result<()> {
    let eight = structured("statistics", json!({ "numbers": [2, 4, 4, 4, 5, 5, 7, 9] }))?;
    assert_eq!(eight["mean"], 5.0);
    assert_eq!(eight["median"], 4.5);
    assert_eq!(eight["population_deviation"], 2.0);
    assert_eq!(structured("statistics", json!({ "numbers": [1e16, 1, -1e16] }))?["sum"], 1.0);
    assert_eq!(structured("statistics", json!({ "numbers": [3] }))?.get("sample_variance"), None);
    assert!(refusal("statistics", json!({ "numbers": [] })).starts_with("/numbers: "));
    assert!(refusal("statistics", json!({ "numbers": [1e300, -1e300] })).starts_with("/numbers: "));
    Ok(())
}
