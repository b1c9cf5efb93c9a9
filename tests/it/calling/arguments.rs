//! Arguments on the command line, and what is said of wrong ones.

use super::wharf;
use crate::support::home::{Home, component};

const ADD: &str = "usage: echo_add(a: integer, b: integer)\n";

#[test]
fn arguments_are_pairs_or_json() {
    let home = Home::with(&["echo"]);
    let folder = home.plugins();
    for (tool, arguments, answer) in [
        ("echo", &["message=5"][..], "5\n"),
        ("echo", &["message={\"a\":1}"], "{\"a\":1}\n"),
        ("echo", &["message=a=b c"], "a=b c\n"),
        ("echo", &["message:=\"text\""], "text\n"),
        ("echo", &["{\"message\":\"hello\"}"], "hello\n"),
        ("echo_add", &["a=2", "b=-3"], "{\"sum\":-1}\n"),
        ("echo_add", &["a:=2", "b=3"], "{\"sum\":5}\n"),
        // Clients whose numbers are all doubles send integers like this.
        ("echo_add", &["{\"a\":2.0,\"b\":3e0}"], "{\"sum\":5}\n"),
    ] {
        let ran = wharf(&home, "call", &folder, &[&[tool], arguments].concat());
        assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (0, answer, ""), "{tool} {arguments:?}");
    }
}

#[test]
fn wrong_arguments_are_explained_with_the_signature() {
    let home = Home::with(&["echo"]);
    let folder = home.plugins();
    for (arguments, code, expected) in [
        (&["hello"][..], 2, "the argument hello: it has no name\nhint: write KEY=VALUE for each argument"),
        (&["{a:1}"], 2, "the arguments as JSON: "),
        (&["a:=x"], 2, "the argument a as JSON: "),
        (&["a=1", "a=2"], 2, "the argument a: it is given twice"),
        (&["a=1", "b=2", "c=3"], 2, "the argument c: there is no parameter of that name"),
        (&["a=one", "b=2"], 1, "/a: "),
        (&["a=1"], 1, "b"),
        (&[], 1, "a"),
    ] {
        let ran = wharf(&home, "call", &folder, &[&["echo_add"], arguments].concat());
        assert_eq!(ran.code, code, "{arguments:?}: {}{}", ran.out, ran.err);
        assert!(ran.err.contains(expected) || ran.out.contains(expected), "{arguments:?}: {}{}", ran.out, ran.err);
        assert_eq!(ran.err.matches(ADD).count(), 1, "{arguments:?}: {}", ran.err);
    }
}

#[test]
fn only_near_names_are_suggested() {
    let home = Home::with(&["echo", "text"]);
    let folder = home.plugins();
    for (name, near) in
        [("hash", Some("text_hash")), ("add", Some("echo_add")), ("texthash", Some("text_hash")), ("weather", None)]
    {
        let ran = wharf(&home, "call", &folder, &[name]);
        assert!(ran.code == 2 && ran.out.is_empty(), "{}", ran.err);
        match near {
            Some(near) => {
                assert!(ran.err.contains(&format!("did you mean {near}? wharf list ")), "{name}: {}", ran.err)
            }
            None => assert!(!ran.err.contains("did you mean") && ran.err.contains("wharf list "), "{}", ran.err),
        }
    }
    let file = component("echo");
    assert_eq!(wharf(&home, "call", &file, &["add", "a=1", "b=1"]).code, 0);
}
