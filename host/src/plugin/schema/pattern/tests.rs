use super::*;

const ALL: usize = usize::MAX;

#[test]
fn usual_patterns_have_small_dfas() {
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
        let cost = PatternCost::of_schema(pattern, ALL).expect(pattern);
        assert!(cost.is_table, "{pattern}: {cost:?}");
        assert!(cost.steps(1 << 20) < 1 << 20, "{pattern}");
    }
}

#[test]
fn exponential_dfas_are_not_small() {
    for (pattern, states) in [("[ab]*a[ab]{900}[^ab]", 900), ("(?:[ab]?){900}[^ab]", 1800), ("[ab]*a[ab]{12}$", 12)] {
        let cost = PatternCost::of_schema(pattern, ALL).expect(pattern);
        assert!(!cost.is_table, "{pattern}: {cost:?}");
        assert!(cost.steps(100_000) >= 100_000 * states, "{pattern}: {cost:?}");
    }
}

#[test]
fn an_anchored_pattern_reads_no_further_than_its_longest_match() {
    let bound = PatternCost::of_schema(r"^\p{L}{1,20}$", ALL).expect("a pattern");
    assert!(!bound.is_table);
    assert_eq!(bound.steps(1 << 10), bound.steps(1 << 20));
    let free = PatternCost::of_schema(r"\p{L}{1,20}$", ALL).expect("a pattern");
    assert!(free.steps(1 << 10) < free.steps(1 << 20));
}

#[test]
fn large_patterns_are_refused_before_compilation() {
    assert!(PatternCost::of_schema("((a{1000}){1000}){10}", ALL).is_err());
    let one = PatternCost::of_schema(r"\p{L}{10}", ALL).expect("a pattern");
    assert!(one.bytes > 100 << 10, "{one:?}");
    assert!(PatternCost::of_schema(r"\p{L}{10}", one.bytes / 2).is_err());
    assert!(PatternCost::of_schema(&"a".repeat(9000), ALL).is_err());
    assert!(PatternCost::of_schema(r"(?=a)b", ALL).is_err());
}
