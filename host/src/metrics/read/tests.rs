use proptest::prelude::*;

use super::{ReadError, ReadFamily, ReadKind, Suffix, read};

/// The first line that is refused, and why.
fn refused(text: &str) -> (usize, &'static str) {
    let ReadError { line, why } = read(text).expect_err(text);
    (line, why)
}

fn family<'a>(all: &'a [ReadFamily], name: &str) -> &'a ReadFamily {
    all.iter().find(|family| family.name == name).expect(name)
}

#[cfg(feature = "metrics")]
mod own {
    use std::time::Duration;

    use super::super::super::{BudgetLeft, Called, Metrics, Operation, Sample, Spent};
    use super::*;

    const HOSTILE: &str = "a \"b\" \\ c\nd, {e=\"f\"} \u{1b}[31m é";

    #[test]
    fn what_the_host_writes_is_read_as_it_was_counted() {
        let metrics = Metrics::on("1.2.3");
        let spent = Spent {
            cpu: Duration::from_nanos(100),
            queued: Duration::from_millis(2),
            memory: 1 << 16,
            upstream_requests: 1,
            upstream: Duration::from_millis(7),
        };
        for (result, is_fault) in [("ok", false), ("ok", false), ("trap", true)] {
            let took = Duration::from_millis(3);
            let called = Called { result, is_fault, took, received: 5, sent: 7, spent };
            metrics.called(&metrics.target("p", HOSTILE), &called);
        }
        metrics
            .operation(Operation { method: "tools/call", revision: "2025-11-25", error: "" }, Duration::from_millis(1));
        let budgets = vec![BudgetLeft { budget: HOSTILE.to_owned(), resource: "calls", ratio: 0.25 }];
        let text = metrics.text(&Sample { plugins: 2, budgets, ..Sample::default() });
        let all = read(&text).expect("its own");

        let calls = family(&all, "wharf_calls");
        assert_eq!((calls.kind, &*calls.help), (ReadKind::Counter, "Calls of plugins, by how they ended."));
        let ok = calls.points.iter().find(|point| point.label("result") == "ok").expect("ok");
        assert_eq!((ok.suffix, ok.label("plugin"), ok.label("tool"), ok.value), (Suffix::Total, "p", HOSTILE, 2.0));
        let durations = family(&all, "wharf_call_duration_seconds");
        assert_eq!((durations.kind, &*durations.unit), (ReadKind::Histogram, "seconds"));
        let below = |bound: &str| {
            let is = |point: &&super::super::ReadPoint| point.suffix == Suffix::Bucket && point.label("le") == bound;
            durations.points.iter().find(is).map(|point| point.value)
        };
        assert_eq!((below("0.002"), below("0.005"), below("+Inf")), (Some(0.0), Some(2.0), Some(2.0)));
        let cpu = family(&all, "wharf_call_cpu_seconds");
        assert!((cpu.points[0].value - 3e-7).abs() < 1e-12, "{cpu:?}");
        let left = family(&all, "wharf_budget_left_ratio");
        assert_eq!((left.points[0].label("budget"), left.points[0].value), (HOSTILE, 0.25));
        let build = family(&all, "wharf_build");
        assert_eq!((build.kind, build.points[0].label("version")), (ReadKind::Info, "1.2.3"));
        assert_eq!(family(&all, "wharf_plugins").points[0].value, 2.0);
        // Each line of the text is one of them.
        let written = text.lines().filter(|line| !line.starts_with('#')).count();
        assert_eq!(all.iter().map(|family| family.points.len()).sum::<usize>(), written);
    }

    proptest! {
        #[test]
        fn any_name_is_read_as_it_was(name in "\\PC{0,40}|[\\\\\"\n{},= a]{0,20}") {
            let metrics = Metrics::on("1");
            let called = Called {
                result: "ok",
                is_fault: false,
                took: Duration::ZERO,
                received: 0,
                sent: 0,
                spent: Spent::default(),
            };
            metrics.called(&metrics.target("p", &name), &called);
            let all = read(&metrics.text(&Sample::default())).expect("its own");
            prop_assert_eq!(family(&all, "wharf_calls").points[0].label("tool"), &name);
        }
    }
}

#[test]
fn values_without_a_description_are_of_unknown_type() {
    let all = read("a 1\na{} 2\nb{x=\"\"} +Inf\n# EOF").expect("a text");
    assert_eq!(all.len(), 2);
    assert_eq!((all[0].kind, all[0].points.len()), (ReadKind::Unknown, 2));
    assert_eq!((all[1].points[0].value, all[1].points[0].label("x")), (f64::INFINITY, ""));
    assert_eq!(read("# EOF\n"), Ok(Vec::new()));
}

#[test]
fn a_text_that_is_cut_anywhere_is_none() {
    let text = "# TYPE a counter\na_total{x=\"1\"} 12\n# EOF";
    for end in 0..text.len() {
        assert!(read(&text[..end]).is_err(), "{end}");
    }
    assert_eq!(refused("a 1\n"), (2, "the end, # EOF, is missing"));
    assert_eq!(refused(""), (1, "the end, # EOF, is missing"));
    assert_eq!(refused("# EOF\na 1\n"), (2, "text follows the end, # EOF"));
}

#[test]
fn each_line_that_is_not_of_the_format_is_named() {
    for (line, why) in [
        ("", "neither a value nor a description"),
        ("a", "neither a value nor a description"),
        ("#EOF", "neither a value nor a description"),
        ("# COMMENT a", "neither HELP, TYPE, UNIT nor EOF"),
        ("# HELP", "not the name of a metric"),
        ("# HELP 1a b", "not the name of a metric"),
        ("# HELP a \\x", "a backslash that escapes nothing"),
        ("# TYPE a summary", "not a type that is known here"),
        ("# UNIT a seconds", "a unit that the metric's name does not end with"),
        ("# UNIT aseconds seconds", "a unit that the metric's name does not end with"),
        ("# HELP first x", "a description follows a value of its metric"),
        ("1a 1", "not the name of a metric"),
        (" 1", "not the name of a metric"),
        ("é 1", "not the name of a metric"),
        ("a{x=\"1\"}1", "no value"),
        ("a ", "not a number"),
        ("a 1 ", "not a number"),
        ("a 1\r", "not a number"),
        ("a 0x1", "not a number"),
        ("a 1 1700000000", "not a number"),
        ("a 1 # {x=\"1\"} 1", "not a number"),
        ("a{", "not a label and its value"),
        ("a{x}", "not a label and its value"),
        ("a{x=\"1\",}", "not a label and its value"),
        ("a{=\"1\"} 1", "not the name of a label"),
        ("a{x:y=\"1\"} 1", "not the name of a label"),
        ("a{x=\"1} 1", "the value of a label has no end"),
        ("a{x=\"1\\\"} 1", "the value of a label has no end"),
        ("a{x=\"\\t\"} 1", "a backslash that escapes nothing"),
        ("a{x=\"1\"y=\"2\"} 1", "labels without a comma between them"),
        ("a{x=\"1\",x=\"2\"} 1", "a label comes twice"),
        ("first 2", "a value comes twice"),
    ] {
        assert_eq!(refused(&format!("first 1\n{line}\n# EOF\n")), (2, why), "{line:?}");
    }
}

#[test]
fn values_fit_their_types() {
    for (kind, line, why) in [
        ("counter", "a_total -1", "a count that is none"),
        ("counter", "a_total NaN", "a count that is none"),
        ("histogram", "a_count -1", "a count that is none"),
        ("histogram", "a_bucket{le=\"1\"} NaN", "a count that is none"),
        ("histogram", "a_bucket 1", "a bucket without a bound, le"),
        ("histogram", "a_bucket{le=\"x\"} 1", "a bucket without a bound, le"),
        ("histogram", "a_bucket{le=\"NaN\"} 1", "a bucket without a bound, le"),
    ] {
        assert_eq!(refused(&format!("# TYPE a {kind}\n{line}\n# EOF")), (2, why), "{line}");
    }
    // A name with another suffix is another metric.
    let all = read("# TYPE a counter\na_total 1\na_sum 2\n# EOF").expect("a text");
    assert_eq!((&*all[1].name, all[1].kind, all[1].points[0].suffix), ("a_sum", ReadKind::Unknown, Suffix::None));
    assert!(read("# TYPE a gauge\na -1\n# TYPE b gauge\nb NaN\n# EOF").is_ok());
}

#[test]
fn metrics_come_once() {
    let why = "a metric comes again after another one";
    assert_eq!(refused("a 1\nb 1\na{x=\"1\"} 1\n# EOF"), (3, why));
    assert_eq!(refused("# TYPE a gauge\na 1\n# TYPE b gauge\n# HELP a x\n# EOF"), (4, why));
    assert_eq!(refused("# TYPE a gauge\n# TYPE a gauge\n# EOF"), (2, "a metric is described twice"));
}

proptest! {
    #[test]
    fn no_text_makes_it_panic_or_make_more_than_was_written(text in "([#a_{}=\",\\\\ 1eHELPTYUNI\n]|# EOF|a 1\n){0,60}") {
        if let Ok(all) = read(&text) {
            let points: usize = all.iter().map(|family| family.points.len()).sum();
            prop_assert!(all.len() + points <= 2 * text.lines().count());
        }
    }
}
