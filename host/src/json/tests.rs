//! Valid and invalid JSON, and parsing one level.

use serde_json::Value;

use super::{
    DEPTH_CAP, Foreign, Kind, MAX_DEPTH, MAX_EXPONENT, MAX_NUMBER, MembersError, NESTING, NUMBER, REPEATED, RESERVED,
    Seen, canonical, check, entries, items, members, quote, single_line, string, tree,
};

const GOOD: &[&str] = &[
    "null",
    " true ",
    "false",
    "0",
    "-0",
    "10",
    "-1.5e+10",
    "1E400",
    "0.0",
    "\"\"",
    "{}",
    "[]",
    "[1,[2,{\"a\":[]}],3]",
    "{\"a\":{\"b\":{}},\"c\":[]}",
    "\t\r\n[ 1 , 2 ]\n",
    r#""\"\\\/\b\f\n\r\t\u00e9""#,
    r#""\ud83d\ude00""#,
    "\"\u{7f}\u{2028}é😀\"",
    r#"{"":{"":""}}"#,
    "[[],{},[]]",
];

const BAD: &[&str] = &[
    "",
    " ",
    "nul",
    "nulll",
    "True",
    "01",
    "-",
    "+1",
    "1.",
    ".5",
    "1e",
    "1e+",
    "0x1",
    "--1",
    "NaN",
    "Infinity",
    "\"",
    "\"a",
    "\"\\",
    "\"\\x\"",
    "\"\\u12\"",
    "\"\\u12g4\"",
    "\"\n\"",
    "\"\t\"",
    "\"\0\"",
    "'a'",
    "[",
    "]",
    "[1",
    "[1,",
    "[1,]",
    "[,1]",
    "[1 2]",
    "[1}",
    "{",
    "}",
    "{]",
    "{\"a\"",
    "{\"a\":",
    "{\"a\":1",
    "{\"a\":1,",
    "{\"a\":1,}",
    "{a:1}",
    "{1:1}",
    "{\"a\" 1}",
    "{\"a\":1]",
    "{\"a\":1 \"b\":2}",
    "1 2",
    "{}{}",
    "[] x",
    "\u{feff}1",
    "1\0",
    "// a\n1",
    "/* */1",
    "\u{a0}1",
    "{\"a\":}",
    "[1}]",
];

#[test]
fn the_check_agrees_with_the_grammar() {
    for text in GOOD {
        assert!(check(text, 8).is_ok(), "{text}");
        assert!(serde_json::from_str::<Value>(text).is_ok(), "{text}");
    }
    for text in BAD {
        assert!(check(text, 8).is_err(), "{text:?}");
        assert!(serde_json::from_str::<Value>(text).is_err(), "{text:?}");
    }
}

/// For every text one edit away from a good one, the check and a full parser agree.
#[test]
fn the_check_agrees_with_a_parser_on_mutations() {
    let alphabet = b"{}[]\",:\\ud8019.-+eE ntf\n\0/a";
    let (mut tried, mut valid) = (0, 0);
    for text in GOOD.iter().filter(|text| text.is_ascii()) {
        for at in 0..text.len() {
            for byte in alphabet {
                for insert in [true, false] {
                    let mut bytes = text.as_bytes().to_vec();
                    if insert {
                        bytes.insert(at, *byte)
                    } else {
                        bytes[at] = *byte
                    }
                    let mutated = String::from_utf8(bytes).unwrap();
                    let parsed = serde_json::from_str::<Value>(&mutated).is_ok();
                    match check(&mutated, 100) {
                        Err(error) if error.is_ambiguous() => assert!(parsed, "{mutated:?}"),
                        checked => assert_eq!(checked.is_ok(), parsed, "{mutated:?}"),
                    }
                    tried += 1;
                    valid += usize::from(parsed);
                }
            }
        }
    }
    assert!(tried > 5_000 && valid > 500, "{tried} {valid}");
}

#[test]
fn an_unpaired_surrogate_is_refused() {
    for text in [
        r#""\ud800""#,
        r#""\udfff""#,
        r#""\ud800\ud800""#,
        r#""\ude00\ud83d""#,
        r#""\ud83dx""#,
        r#""\ud83d\n""#,
        r#"{"\ud800":1}"#,
        r#"[["\uDBFF"]]"#,
    ] {
        assert!(check(text, 8).unwrap_err().reason.contains("surrogate"), "{text}");
    }
}

#[test]
fn depth_is_counted_without_recursion() {
    for (open, close) in [("[", "]"), ("{\"a\":", "}"), ("[{\"[\":", "}]")] {
        let levels = open.matches(['[', '{']).count() - usize::from(open.contains("\"[\""));
        let nested = |times: usize| format!("{}1{}", open.repeat(times), close.repeat(times));
        let times = 12 / levels;
        assert_eq!(check(&nested(times), 12).map(|seen| seen.depth), Ok(12));
        assert_eq!(check(&nested(times), 11).unwrap_err().reason, NESTING);
        assert_eq!(check(&nested(1_000_000), usize::MAX).unwrap_err().reason, NESTING);
        assert!(check(&nested(DEPTH_CAP / levels), usize::MAX).is_ok());
    }
    assert_eq!(check("1", 0), Ok(Seen { depth: 0, values: 1, members: 0 }));
    assert_eq!(check("[]", 0).unwrap_err().offset, 0);
    assert_eq!(check("[[],[],[]]", 2), Ok(Seen { depth: 2, values: 4, members: 0 }));
}

#[test]
fn an_error_has_its_offset() {
    let error = check("[1, tru]", 8).unwrap_err();
    assert_eq!(error.to_string(), "expected a value at byte 4");
}

#[test]
fn a_single_line_keeps_its_strings() {
    assert!(matches!(single_line("[1, 2]"), std::borrow::Cow::Borrowed("[1, 2]")));
    assert_eq!(single_line("{\r\n\t\"a \\\" b\\\\\" : [ 1 ,\n\" \" ]\n}"), r#"{"a \" b\\":[1," "]}"#);
    assert!(!single_line("\"a\nb\" \n").contains('\n'));
}

#[test]
fn strings_are_written_as_a_parser_reads_them() {
    let all: String = (0..=0x2100).filter_map(char::from_u32).collect();
    for text in ["", "plain", "\"\\/", "é😀\u{2028}", &all] {
        let quoted = quote(text);
        assert!(check(&quoted, 0).is_ok());
        assert_eq!(serde_json::from_str::<String>(&quoted).unwrap(), *text);
    }
}

#[test]
fn members_are_raw_text() {
    let text = r#"{ "b" : [1, 2] , "\u0061":null,"c":123456789012345678901234567890,"z":1,"z":2}"#;
    let [a, b, c, d] = members(text, ["a", "b", "c", "d"]).unwrap();
    assert_eq!(a.map(|raw| raw.get()), Some("null"));
    assert_eq!(b.map(|raw| raw.get()), Some("[1, 2]"));
    assert_eq!(c.map(|raw| raw.get()), Some("123456789012345678901234567890"));
    assert!(d.is_none());
    assert_eq!(members(text, ["z"]).unwrap_err(), MembersError::Repeated("z".to_owned()));
    assert_eq!(members("[1]", ["z"]).unwrap_err(), MembersError::NotAnObject);
    assert!(matches!(members("{\"z\":", ["z"]), Err(MembersError::Syntax(_))));
    assert!(matches!(members("{} {}", ["z"]), Err(MembersError::Syntax(_))));
}

/// serde_json uses these names internally; a client may send them too.
#[test]
fn internal_names_of_serde_json_are_ordinary_members() {
    for name in ["$serde_json::private::Number", "$serde_json::private::RawValue"] {
        let text = format!(r#"{{"{name}":"x","a":{{"{name}":"1"}}}}"#);
        let [a] = members(&text, ["a"]).unwrap();
        assert_eq!(a.unwrap().get(), format!(r#"{{"{name}":"1"}}"#));
        assert_eq!(entries(&text).unwrap()[0].0, name);
    }
}

#[test]
fn reserved_names_are_refused_however_they_are_escaped() {
    for name in [
        "$serde_json::private::Number",
        "$serde_json::private::RawValue",
        "$serde_json::private::Later",
        r"\u0024serde_json::private::RawValue",
        r"$serde\u005Fjson\u003a:private::\u004eumber",
        r"\u0024\u0073\u0065\u0072\u0064\u0065\u005f\u006a\u0073\u006f\u006e\u003a\u003a",
    ] {
        for text in [
            format!(r#"{{"{name}":"7"}}"#),
            format!(r#"{{"a":1,"{name}":"7"}}"#),
            format!(r#"[0,{{"a":[{{"b":{{"{name}":{{}}}}}}]}}]"#),
            format!(r#"{{"a":{{}},"b":{{ "{name}" : "{{\"c\":1}}" }},"c":1}}"#),
        ] {
            assert_eq!(check(&text, 8).map_err(|error| error.reason), Err(RESERVED), "{text}");
            assert!(tree(&text, 8).is_err(), "{text}");
        }
        // As a value, or as a part of a name, it is allowed.
        let text = format!(r#"{{"a":"{name}","x{name}":["{name}"]}}"#);
        assert_eq!(check(&text, 8).map(|seen| seen.members), Ok(2), "{text}");
    }
}

/// An object with the members `m0`, `m1` and so on, and the given ones.
fn object(count: usize, more: &[&str]) -> String {
    let mut members: Vec<String> = (0..count).map(|n| format!(r#""m{n}":{n}"#)).collect();
    members.extend(more.iter().map(|name| format!(r#""{name}":{{"m0":0}}"#)));
    format!("{{{}}}", members.join(","))
}

#[test]
fn a_repeated_name_is_refused() {
    for count in [0, 1, 14, 15, 16, 17, 100] {
        for twice in
            [["a", "a"], ["a", r"\u0061"], [r"\u0061", r"\u0061"], [r"\n", r"\u000A"], ["", ""], ["é", r"\u00e9"]]
        {
            let text = object(count, &twice);
            assert_eq!(check(&text, 8).map_err(|error| error.reason), Err(REPEATED), "{text}");
            let inside = format!(r#"{{"a":[{{"b":{text}}}]}}"#);
            assert_eq!(check(&inside, 8).map_err(|error| error.reason), Err(REPEATED), "{inside}");
        }
        for once in [["a", "b"], ["a", "A"], ["a", "a "], ["e\u{301}", "é"], [r"\\u0061", "a"], ["a", "aa"]] {
            let text = object(count, &once);
            let members = count + 4;
            let values = members + 1;
            assert_eq!(check(&text, 8), Ok(Seen { depth: 2, values, members }), "{text}");
        }
    }
    // Each object has its own names, also after nested ones have ended.
    let text = r#"{"a":{"a":{"a":1},"b":1},"b":[{"a":1},{"a":2}],"c":{"a":1,"b":2}}"#;
    assert_eq!(check(text, 8).map(|seen| seen.members), Ok(10));
    assert_eq!(check(&text.replace("\"c\"", "\"a\""), 8).map_err(|error| error.reason), Err(REPEATED));
}

/// Half a million members, names that differ only at their ends, names that are all escapes.
#[test]
fn many_members_do_not_take_quadratic_time() {
    let start = std::time::Instant::now();
    let most = object(500_000, &[]);
    assert_eq!(check(&most, 8).map(|seen| seen.members), Ok(500_000));
    assert_eq!(check(&object(500_000, &["m7"]), 8).map_err(|error| error.reason), Err(REPEATED));
    let long = "x".repeat(4000);
    let members: Vec<String> = (0..1000).map(|n| format!(r#""{long}{n:04}":0"#)).collect();
    assert!(check(&format!("{{{}}}", members.join(",")), 8).is_ok());
    let escaped: Vec<String> =
        (0..100_000u32).map(|n| format!(r#""\u{:04x}\u{:04x}":0"#, n % 1000 + 0x100, n / 1000 + 0x100)).collect();
    assert!(check(&format!("{{{}}}", escaped.join(",")), 8).is_ok());
    let objects = format!("[{}0]", r#"{"a":{"a":0}},"#.repeat(200_000));
    assert_eq!(check(&objects, 8).map(|seen| seen.members), Ok(400_000));
    assert!(start.elapsed() < std::time::Duration::from_secs(60), "{:?}", start.elapsed());
}

#[test]
fn numbers_are_limited_in_length_and_exponent() {
    let digits = |count: usize| "7".repeat(count);
    let good = [
        digits(MAX_NUMBER),
        digits(MAX_NUMBER - 4) + "e+77",
        digits(MAX_NUMBER - 4) + "E77",
        format!("-0.{}", "0".repeat(MAX_NUMBER - 3)),
        format!("1e{MAX_EXPONENT}"),
        format!("1E-{MAX_EXPONENT}"),
        "1e+00000999".into(),
        "0e99999999999999999999".into(),
        "-0.00E-1234567".into(),
    ];
    for text in good {
        assert!(check(&text, 0).is_ok(), "{text}");
        // The canonical text can be read again.
        let canonical = canonical(&tree(&text, 0).expect(&text));
        assert!(check(&canonical, 0).is_ok(), "{canonical}");
    }
    let long = digits(MAX_NUMBER - 3) + "e77";
    for text in
        [digits(MAX_NUMBER + 1), long, format!("1e{}", MAX_EXPONENT + 1), "0.1e-1000".into(), "1e9999999999".into()]
    {
        assert_eq!(check(&text, 0).map_err(|error| error.reason), Err(NUMBER), "{text}");
        assert_eq!(check(&format!(r#"{{"a":[{text}]}}"#), 8).map_err(|error| error.reason), Err(NUMBER), "{text}");
    }
}

/// A policy in YAML is untrusted, too.
#[test]
fn other_formats_have_the_same_rules() {
    let read = |text: &str| serde_saphyr::from_str::<Foreign>(text).map(|Foreign(value)| value.to_string());
    let yaml = "a:\n  - 1\n  - -2\n  - 1.5\n  - yes it is\n  - true\n  - null\nb: {}\n";
    assert_eq!(read(yaml).unwrap(), r#"{"a":[1,-2,1.5,"yes it is",true,null],"b":{}}"#);
    for (bad, reason) in [
        (r#""$serde_json::private::RawValue": "{}""#, RESERVED),
        (r#"a: [{"\x24serde_json::private::Number": "7"}]"#, RESERVED),
        (&format!("{}1{}", "[".repeat(65), "]".repeat(65)), "Depth"),
    ] {
        let error = read(bad).unwrap_err().to_string();
        assert!(error.contains(reason), "{error} for {bad}");
    }
    assert!(read("a: 1\nb: 2\na: 3\n").is_err());
}

#[test]
fn a_canonical_text_is_its_own_canonical_form() {
    for (text, once) in [
        (
            r#" { "b" : [ 1.0 , -0 ] , "a" : { "d" : 1E2, "c" : "\u0061\/" } } "#,
            r#"{"b":[1.0,-0],"a":{"d":1e+2,"c":"a/"}}"#,
        ),
        ("123456789012345678901234567890", "123456789012345678901234567890"),
        (r#""\ud83d\ude00\u000a\u2028""#, "\"😀\\n\u{2028}\""),
    ] {
        let made = canonical(&tree(text, 8).unwrap());
        assert_eq!(made, once);
        assert_eq!(canonical(&tree(&made, 8).unwrap()), once);
    }
}

/// The deepest accepted tree fits the threads: tokio's have a stack of 2 MiB, and a debug build uses at
/// most half of it here.
#[test]
fn the_deepest_tree_fits_a_small_stack() {
    let deepest = |open: &str, close: &str| format!("{}1{}", open.repeat(MAX_DEPTH), close.repeat(MAX_DEPTH));
    let work = move || {
        for text in [deepest("[", "]"), deepest("{\"b\":", "}"), deepest("{\"z\":0,\"b\":", "}")] {
            let value = tree(&text, usize::MAX).unwrap();
            assert_eq!(value, value.clone());
            assert!(serde_json::to_string_pretty(&value).unwrap().len() > text.len());
            assert!(!format!("{value:?}").is_empty());
            assert_eq!(canonical(&value).len(), text.len());
            assert!(tree(&format!("[{text}]"), usize::MAX).is_err());
        }
    };
    std::thread::Builder::new().stack_size(1 << 20).spawn(work).unwrap().join().unwrap();
}

#[test]
fn items_stop_at_their_limit() {
    let read = items(" [1, \"a\", {}] ", 2).unwrap();
    assert_eq!((read.first.len(), read.count, Kind::of(read.first[1])), (2, 3, Kind::String));
    assert_eq!(string(read.first[1]).as_deref(), Some("a"));
    assert!(items("{}", 2).is_none());
}
