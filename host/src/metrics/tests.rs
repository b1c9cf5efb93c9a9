use std::time::Duration;

use super::tools::{MAX_NAME, MAX_PLUGINS, MAX_TOOLS, MAX_TOOLS_OF_PLUGIN};
use super::{Called, Cost, Metrics, Sample, Spent};

fn call(metrics: &Metrics, plugin: &str, tool: &str) {
    let called = Called {
        result: "ok",
        is_fault: false,
        took: Duration::from_millis(3),
        received: 5,
        sent: 7,
        spent: Spent::default(),
    };
    metrics.called(&metrics.target(plugin, tool), &called);
}

fn lines<'a>(text: &'a str, start: &str) -> Vec<&'a str> {
    text.lines().filter(|line| line.starts_with(start)).collect()
}

#[test]
fn so_many_plugins_have_labels_of_their_own_and_the_others_are_counted_together() {
    let metrics = Metrics::on("1");
    for number in 0..MAX_PLUGINS + 10 {
        call(&metrics, &format!("p{number}"), "t");
    }
    let text = metrics.text(&Sample::default());
    assert_eq!(lines(&text, "wharf_calls_total{").len(), MAX_PLUGINS + 1);
    assert_eq!(
        lines(&text, "wharf_calls_total{plugin=\"other\""),
        ["wharf_calls_total{plugin=\"other\",tool=\"other\",result=\"ok\"} 10"]
    );
}

#[test]
fn so_many_tools_have_labels_of_their_own() {
    let metrics = Metrics::on("1");
    for number in 0..MAX_TOOLS_OF_PLUGIN + 3 {
        call(&metrics, "p", &format!("t{number}"));
    }
    call(&metrics, "p", &"x".repeat(MAX_NAME + 1));
    let text = metrics.text(&Sample::default());
    assert_eq!(
        lines(&text, "wharf_calls_total{plugin=\"p\",tool=\"other\""),
        ["wharf_calls_total{plugin=\"p\",tool=\"other\",result=\"ok\"} 4"]
    );
    for number in 0..MAX_TOOLS {
        call(&metrics, &format!("p{}", number % 20), &format!("t{number}"));
    }
    let text = metrics.text(&Sample::default());
    // One `other` of each plugin at most, beside those.
    assert!(lines(&text, "wharf_calls_total{").len() <= MAX_TOOLS + MAX_PLUGINS, "{text}");
}

#[test]
fn a_cost_adds_up_and_memory_is_the_most() {
    let cost = Cost::default();
    cost.add_cpu(Duration::from_millis(2));
    cost.add_cpu(Duration::from_millis(3));
    cost.add_queued(Duration::from_millis(1));
    cost.used_memory(10);
    cost.used_memory(4);
    cost.add_upstream(Duration::from_millis(7));
    let spent = Spent {
        cpu: Duration::from_millis(5),
        queued: Duration::from_millis(1),
        memory: 10,
        upstream_requests: 1,
        upstream: Duration::from_millis(7),
    };
    assert_eq!(cost.spent(), spent);
}

#[test]
fn a_handle_that_is_off_has_no_text() {
    let metrics = Metrics::default();
    call(&metrics, "p", "t");
    assert_eq!(metrics.text(&Sample::default()), "");
}
