//! Each tool around changes to daylight saving time, and on what it must refuse.

use wharf_plugin::*;

use super::Time;

fn structured(tool: &str, arguments: Value) -> Result<Value> {
    Ok(testing::call(&Time, tool, arguments)?.as_json().unwrap_or_default())
}

fn refusal(tool: &str, arguments: Value) -> String {
    testing::call(&Time, tool, arguments).map(|_| ()).expect_err("a refusal").text()
}

#[test]
fn now_is_now() -> Result<()> {
    let before = jiff::Timestamp::now().as_second();
    let now = structured("now", json!({ "zone": "Asia/Tokyo" }))?;
    let unix = now["unix"].as_i64().unwrap_or_default();
    assert!((before..=before + 60).contains(&unix));
    assert!(now["time"].as_str().unwrap_or_default().ends_with("+09:00"), "{now}");
    assert!(refusal("now", json!({ "zone": "Mars/Base" })).starts_with("/zone: no such time zone"));
    Ok(())
}

#[test]
fn conversion_knows_daylight_saving() -> Result<()> {
    let convert =
        |time: &str| structured("convert", json!({ "time": time, "from": "Europe/Paris", "to": "America/New_York" }));
    // Between the American and the European change of clocks they are five hours apart.
    assert_eq!(convert("2026-03-07T18:00")?["to"]["time"], "2026-03-07T12:00:00-05:00");
    assert_eq!(convert("2026-03-20T18:00")?["to"]["time"], "2026-03-20T13:00:00-04:00");
    assert_eq!(convert("2026-07-01T00:00:00Z")?["from"]["time"], "2026-07-01T02:00:00+02:00");
    assert_eq!(convert("2026-07-01T00:00")?["to"]["weekday"], "Tuesday");
    assert!(refusal("convert", json!({ "time": "tomorrow", "to": "UTC" })).starts_with("/time: "));
    Ok(())
}

#[test]
fn difference_counts_in_the_calendar_of_the_zone() -> Result<()> {
    let day = structured(
        "difference",
        json!({ "start": "2026-03-28T12:00", "end": "2026-03-29T12:00", "zone": "Europe/Paris" }),
    )?;
    assert_eq!((&day["duration"], &day["seconds"]), (&json!("P1D"), &json!(82800.0)));
    let long = structured("difference", json!({ "start": "2024-02-29", "end": "2026-05-01T06:30" }))?;
    assert_eq!(long["duration"], "P2Y2M2DT6H30M");
    let back = structured("difference", json!({ "start": "2026-01-02", "end": "2026-01-01" }))?;
    assert_eq!(back["days"], -1.0);
    Ok(())
}

#[test]
fn schedules_follow_the_clocks_of_their_zone() -> Result<()> {
    let daily = json!({ "cron": "30 8 * * MON-FRI", "zone": "Europe/Paris", "after": "2026-03-27T09:00", "count": 2 });
    let daily = structured("next", daily)?;
    assert_eq!(daily["times"], json!(["2026-03-30T08:30:00+02:00", "2026-03-31T08:30:00+02:00"]));
    let seconds = structured("next", json!({ "cron": "*/20 * * * * *", "after": "2026-01-01", "count": 2 }))?;
    assert_eq!(seconds["times"], json!(["2026-01-01T00:00:20+00:00", "2026-01-01T00:00:40+00:00"]));
    for cron in ["", "61 * * * *", "* * *", "0 0 30 2 *"] {
        assert!(refusal("next", json!({ "cron": cron })).starts_with("/cron: "), "{cron}");
    }
    assert!(refusal("next", json!({ "cron": "@daily", "count": 0 })).starts_with("/count: "));
    Ok(())
}
