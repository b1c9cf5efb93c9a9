//! What `wharf list` shows.

use serde_json::Value;

use super::wharf;
use crate::support::home::{Home, component};

#[test]
fn one_tool_is_shown_with_its_signature_parameters_and_result() {
    let home = Home::with(&["echo"]);
    let shown = "echo_add(a: integer, b: integer)
  Adds two integers.

  a: integer
      The first number.

  b: integer
      The second number.

Gives

  sum: integer
      Both numbers together.

Hints: read-only, idempotent
";
    let ran = wharf(&home, "list", &home.plugins(), &["echo_add"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, shown), "{}", ran.err);
    assert_eq!(wharf(&home, "list", &component("echo"), &["add"]).out, shown);
    let json = wharf(&home, "list", &home.plugins(), &["echo_add", "--json"]);
    let tool: Value = serde_json::from_str(&json.out).expect("JSON");
    assert_eq!(tool["name"], "echo_add");
    let unknown = wharf(&home, "list", &home.plugins(), &["echo_ad"]);
    assert!(unknown.code == 2 && unknown.err.contains("did you mean echo_add"), "{}", unknown.err);
}

#[test]
fn json_is_indented_and_without_colours_in_a_pipe() {
    let home = Home::with(&["echo"]);
    for ran in [
        wharf(&home, "list", &home.plugins(), &["--json"]),
        wharf(&home, "call", &home.plugins(), &["echo_add", "a=1", "b=2", "--json"]),
    ] {
        serde_json::from_str::<Value>(&ran.out).expect("JSON");
        assert!(ran.out.starts_with("{\n  \"") && !ran.out.contains('\u{1b}'), "{}", ran.out);
    }
}
