use super::*;

const ALL: usize = usize::MAX;

#[test]
fn usual_patterns_are_tables() {
    for pattern in [
        r"^[a-z]+$",
        r"^[^@\s]+@[^@\s]+\.[a-z]{2,}$",
        r"^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$",
        r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$",
        r"[\s\S]+",
        "needle",
        r"\.(?:png|jpe?g|gif)$",
        "^#[0-9A-Fa-f]{6}$",
    ] {
        let gauge = Gauge::of_schema(pattern, ALL).expect(pattern);
        assert!(gauge.is_table, "{pattern}: {gauge:?}");
        assert!(gauge.steps(1 << 20) < 1 << 20, "{pattern}");
    }
}

#[test]
fn states_that_multiply_are_no_table() {
    for (pattern, states) in [("[ab]*a[ab]{900}[^ab]", 900), ("(?:[ab]?){900}[^ab]", 1800), ("[ab]*a[ab]{12}$", 12)] {
        let gauge = Gauge::of_schema(pattern, ALL).expect(pattern);
        assert!(!gauge.is_table, "{pattern}: {gauge:?}");
        assert!(gauge.steps(100_000) >= 100_000 * states, "{pattern}: {gauge:?}");
    }
}

#[test]
fn a_pattern_that_is_bound_to_the_beginning_reads_no_further_than_it_can_match() {
    let bound = Gauge::of_schema(r"^\p{L}{1,20}$", ALL).expect("a pattern");
    assert!(!bound.is_table);
    assert_eq!(bound.steps(1 << 10), bound.steps(1 << 20));
    let free = Gauge::of_schema(r"\p{L}{1,20}$", ALL).expect("a pattern");
    assert!(free.steps(1 << 10) < free.steps(1 << 20));
}

#[test]
fn what_is_too_large_is_refused_before_it_is_made() {
    assert!(Gauge::of_schema("((a{1000}){1000}){10}", ALL).is_err());
    let one = Gauge::of_schema(r"\p{L}{10}", ALL).expect("a pattern");
    assert!(one.bytes > 100 << 10, "{one:?}");
    assert!(Gauge::of_schema(r"\p{L}{10}", one.bytes / 2).is_err());
    assert!(Gauge::of_schema(&"a".repeat(9000), ALL).is_err());
    assert!(Gauge::of_schema(r"(?=a)b", ALL).is_err());
}
