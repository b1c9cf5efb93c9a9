use serde::Deserialize;

use super::{InvalidToml, bounded, from_toml, toml_place};

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
#[expect(dead_code, reason = "only errors are looked at")]
struct File {
    name: String,
    count: Option<u8>,
    ratio: Option<f64>,
    on: Option<bool>,
    kind: Option<Kind>,
    list: Option<Vec<Part>>,
}

#[derive(Deserialize, Debug)]
#[serde(rename_all = "kebab-case")]
enum Kind {
    Plain,
}

#[derive(Deserialize, Debug)]
#[expect(dead_code, reason = "only errors are looked at")]
struct Part {
    inner: u8,
}

/// Of a file that has no table of its keys.
#[test]
fn errors_are_in_the_words_of_toml() {
    for (text, expected) in [
        ("name = 5", "line 1, column 8: name: expected a string, found 5"),
        ("name = ''\ncount = 'a'", "line 2, column 9: count: expected a whole number, found 'a'"),
        ("name = ''\ncount = 256", "line 2, column 9: count: expected a whole number, found 256"),
        ("name = ''\nratio = 'a'", "line 2, column 9: ratio: expected a number, found 'a'"),
        ("name = ''\non = 1", "line 2, column 6: on: expected true or false, found 1"),
        ("name = ''\nkind = 1", "line 2, column 8: kind: expected a string, found 1"),
        ("name = ''\nkind = 'plan'", "line 2, column 8: kind: expected \"plain\", found 'plan'"),
        ("name = ''\nlist = 1", "line 2, column 8: list: expected an array, found 1"),
        ("name = ''\nlist = [1]", "line 2, column 9: list: expected a table, found 1"),
        ("name = ''\nlist = [{}]", "line 2, column 9: list: the key `inner` is missing"),
        (
            "name = ''\n[[list]]\ninner = 2020-01-01",
            "line 3, column 9: list.inner: expected a whole number, found 2020-01-01",
        ),
        ("nam = ''", "line 1, column 1: unknown key `nam`"),
        ("name = ", "line 1, column 8: name: "),
        ("count = 1", "line 1, column 1: the key `name` is missing"),
    ] {
        let InvalidToml { place, reason, .. } = from_toml::<File>(text).expect_err(text);
        let reason = format!("{place}{reason}");
        assert!(reason.starts_with(expected), "{text}: {reason}");
    }
    let hint = from_toml::<File>("nam = ''").expect_err("a misspelt key").hint;
    assert_eq!(hint.map(|hint| hint.text).as_deref(), Some("did you mean `name`?"));
}

#[test]
fn values_are_found_by_their_keys() {
    let text = "a = [1, { b = 2 }]\n[c.d]\ne = '\u{fc}'\nf = 4\n";
    for (keys, place) in [
        (&["a", "1", "b"][..], "line 1, column 15: "),
        (&["a", "0"], "line 1, column 6: "),
        (&["c", "d", "f"], "line 4, column 5: "),
        (&["c", "d", "none"], "line 2, column 1: "),
        (&["none"], ""),
    ] {
        assert_eq!(toml_place(text, keys), place, "{keys:?}");
    }
}

#[test]
fn a_long_message_keeps_its_beginning_and_its_end() {
    let long = format!("start {} end", "\u{fc}".repeat(5000));
    let shown = bounded(&long);
    assert!(shown.starts_with("start ") && shown.contains('…') && shown.ends_with(" end"), "{shown}");
    assert!(shown.len() < 700);
    assert_eq!(bounded("short"), "short");
}
