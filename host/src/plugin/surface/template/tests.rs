use std::time::{Duration, Instant};

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::Config;

use super::UriTemplate;
use expand::{Value, expand};

mod expand;

fn compiled(template: &str) -> UriTemplate {
    UriTemplate::compile(template).unwrap_or_else(|why| panic!("{template}: {why}"))
}

#[test]
fn templates_of_every_level_are_accepted_and_others_refused() {
    for good in ["note://{id}", "file:///{+path}", "x:{?a,b*}", "x:{#a}{.b}{/c*}{;d}{&e}", "x:{v:9999}", "x:", "x:%41"]
    {
        compiled(good);
    }
    for bad in [
        "",
        "a{",
        "x:a{",
        "x:a}",
        "x:{}",
        "x:{a{b}}",
        "x:a b",
        "x:a\u{202e}",
        "x:é",
        "x:%a",
        "x:%aé",
        "x:{a:}",
        "x:{a:0}",
        "x:{a:012}",
        "x:{a:10000}",
        "x:{a*:3}",
        "x:{=a}",
        "x:{|a}",
        "x:{a,}",
        "x:{a b}",
        "x:<a>",
        "{+any}",
        "/a/{b}",
        "1x:{a}",
        "{s}:a",
    ] {
        assert!(UriTemplate::compile(bad).is_err(), "{bad}");
    }
    assert!(UriTemplate::compile(&format!("x:{{{}}}", "a".repeat(3000))).is_err());
}

#[test]
fn variables_and_literals_are_counted() {
    let template = compiled("x://a/{b}{?c,d*,e:3}");
    assert_eq!(template.variables(), ["b", "c", "d", "e"]);
    assert_eq!(template.literals(), "x://a/".len());
}

#[test]
fn only_expansions_match() {
    for (template, good, bad) in [
        ("test://{id}/data", "test://7/data", "test://7/other"),
        ("test://{id}/data", "test://%37/data", "test://7/8/data"),
        ("test://{id}/data", "test:///data", "test://%3/data"),
        ("test://{+path}/end", "test://a/b/end", "test://a/b/ends"),
        ("x:{a:3}", "x:abc", "x:abcd"),
        ("x:{a:3}", "x:%E2%82%ACbc", "x:%E2%82%ACbcd"),
        ("x:a{?q}", "x:a?q=1", "x:a?r=1"),
        ("x:a{?q,r}", "x:a?r=1&q=2", "x:a?q=1r=2"),
        ("x:a{?q}{&r}", "x:a?q=1&r=2", "x:a?q=1?r=2"),
        ("x:a{/p*}", "x:a/b/c", "x:ab"),
        ("x:a{.e}", "x:a.b", "x:a/b"),
        ("x:a{;m}", "x:a;m", "x:am"),
        ("x:a{#f}", "x:a#b", "x:a#b#c"),
        ("x:a.b", "x:a.b", "x:acb"),
    ] {
        assert!(compiled(template).matches(good), "{template} {good}");
        assert!(!compiled(template).matches(bad), "{template} {bad}");
    }
}

/// Strings that are not URIs match no template.
#[test]
fn only_uris_match() {
    let any = compiled("x:{+any}");
    assert!(any.matches("x:a"));
    for bad in ["", "x", "x:a b", "x:é", "x:[", "x:a\n", "\nx:a", "x:%zz", "x:a#b#c"] {
        assert!(!any.matches(bad), "{bad}");
    }
}

fn name() -> impl Strategy<Value = String> {
    "[a-f]{1,2}"
}

/// Expressions of every operator, modifiers included.
fn template() -> impl Strategy<Value = String> {
    let variable = (
        name(),
        prop_oneof![
            Just(String::new()),
            Just("*".to_owned()),
            prop_oneof![1..9_u32, 33..300_u32].prop_map(|n| format!(":{n}"))
        ],
    );
    let variables = vec(variable.prop_map(|(name, modifier)| name + &modifier), 1..4).prop_map(|list| list.join(","));
    let expression = ("[+#./;?&]?", variables).prop_map(|(operator, list)| format!("{{{operator}{list}}}"));
    let literal = "[a-z/.~%+-]{0,4}".prop_map(|text| text.replace('%', "%2f"));
    vec((literal, expression), 0..4).prop_map(|parts| {
        parts.into_iter().fold("x:".to_owned(), |all, (literal, expression)| all + &literal + &expression)
    })
}

fn value() -> impl Strategy<Value = Value> {
    let text = || "[ -~é€😀]{0,6}";
    prop_oneof![
        text().prop_map(Value::Text),
        vec(text(), 0..3).prop_map(Value::List),
        vec((text(), text()), 0..3).prop_map(Value::Object),
    ]
}

proptest! {
    #![proptest_config(Config { failure_persistence: None, ..Config::default() })]

    #[test]
    fn every_expansion_matches(template in template(), values in vec((name(), value()), 0..8)) {
        let uri = expand(&template, &values);
        // It may not be one, for example with a `#` in the middle.
        prop_assume!(fluent_uri::Uri::parse(uri.as_str()).is_ok());
        prop_assert!(compiled(&template).matches(&uri), "{} matches {}", template, uri);
    }

    #[test]
    fn values_of_a_simple_template_are_captured(a in "[ -~é€😀]{1,9}", b in "[ -~é€😀]{1,9}") {
        let values = [("a".to_owned(), Value::Text(a.clone())), ("b".to_owned(), Value::Text(b.clone()))];
        for template in ["x://{a}/of/{b}", "x:{a,b}", "x:{/a,b}", "x:y{?a,b}", "x:y{;a,b}", "x:{a}{&b}"] {
            let uri = expand(template, &values);
            let found = compiled(template).pattern.captures(&uri).expect("a match");
            let found: Vec<String> = found.iter().skip(1).flatten().map(|value| percent_decoded(value.as_str())).collect();
            prop_assert_eq!(&found, &[a.clone(), b.clone()], "{} {}", template, uri);
        }
    }

    #[test]
    fn nothing_panics(template in "\\PC{0,40}|[ab{}:*,+#./;?&%0-9|=é]{0,30}", uri in "\\PC{0,40}|[ -~]{0,40}") {
        for template in [template.clone(), format!("x:{{{template}}}"), format!("x:{template}")] {
            if let Ok(template) = UriTemplate::compile(&template) {
                template.matches(&uri);
            }
        }
    }
}

fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        match after.split_at_checked(2).filter(|_| *first == b'%') {
            Some((hex, after)) => {
                let hex = std::str::from_utf8(hex).expect("two digits");
                bytes.push(u8::from_str_radix(hex, 16).expect("a byte"));
                rest = after;
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8(bytes).expect("text")
}

/// The most expensive templates within the limits: each is refused, or matched in linear time.
#[test]
fn the_largest_templates_match_in_linear_time() {
    let many = |part: &str| format!("x:{}", part.repeat(2000 / part.len()));
    let list = format!("x:{{?{}}}", vec!["a"; 900].join(","));
    let places = format!("x:{{+{}}}", vec!["a"; 900].join(","));
    let start = Instant::now();
    for template in [many("{a*}"), many("{+a}"), many("{?a*}"), many("{a:255}"), many("{/a*,b}"), list, places] {
        if let Ok(template) = UriTemplate::compile(&template) {
            template.matches(&format!("x:{}!", "a,".repeat(30_000)));
            template.matches(&format!("x:{}", "?a=1&".repeat(12_000)));
        }
    }
    assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
}
