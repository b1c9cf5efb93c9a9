//! The text of charts, and what binds the tools to the page.

use wharf_plugin::*;

use super::Chart;

#[test]
fn values_are_drawn_as_text_and_handed_to_the_page() -> Result<()> {
    let bars = json!({ "title": "Cups", "bars": [{ "label": "tea", "value": 2 }, { "label": "coffee", "value": 4 }] });
    let result = testing::call(&Chart, "chart", bars)?;
    let [two, four] = ["█".repeat(15), "█".repeat(30)];
    assert_eq!(result.as_text(), format!("Cups\ntea    {two} 2\ncoffee {four} 4"));
    assert_eq!(result.as_json().unwrap_or_default()["bars"][1]["value"], 4.0);
    let nothing = testing::call(&Chart, "chart", json!({ "title": "No", "bars": [{ "label": "a", "value": 0 }] }))?;
    assert_eq!(nothing.as_text(), "No\na  0");
    Ok(())
}

#[test]
fn all_dice_are_counted() -> Result<()> {
    for tool in ["dice", "throw"] {
        let thrown = testing::call(&Chart, tool, json!({ "count": 7 }))?.as_json().unwrap_or_default();
        let faces = thrown["bars"].as_array().into_iter().flatten();
        assert_eq!(faces.filter_map(|face| face["value"].as_f64()).sum::<f64>(), 7.0);
        assert_eq!(thrown["dice"], 7);
    }
    Ok(())
}

#[test]
fn one_page_serves_two_tools_and_calls_the_third() -> Result<()> {
    let ui: Vec<Value> = testing::tools(&Chart)?.into_iter().map(|tool| tool["_meta"]["ui"].clone()).collect();
    let bound = json!({ "resourceUri": "ui://chart/bars.html" });
    assert_eq!(ui, [bound.clone(), bound, json!({ "visibility": ["app"] })]);
    testing::read(&Chart, "ui://chart/bars.html")?;
    assert!(testing::read(&Chart, "ui://chart/other.html").is_err());
    Ok(())
}
