//! Answers to a plugin's questions without a terminal.

use super::wharf;
use crate::support::home::{Home, component};

#[test]
fn scripts_answer_with_options() {
    let home = Home::new();
    let everything = component("everything");
    for (tool, answers, answer) in [
        ("test_streaming_elicitation", &["--answer", "yes"][..], "User response: true\n"),
        ("test_streaming_elicitation", &["--answer=no"], "User response: false\n"),
        ("test_input_required_result_elicitation", &["--answer", "name=Ada"], "Hello, Ada!\n"),
        ("test_input_required_result_multi_round", &["--answer", "name=Ada", "--answer", "yes"], "Ada: true\n"),
        (
            "test_elicitation_sep1034_defaults",
            &["--answer", "age=31", "--answer", "verified=false"],
            "User response: {\"age\":31,\"name\":\"John Doe\",\"score\":95.5,\"status\":\"active\",\"verified\":false}\n",
        ),
        ("test_url_visit", &["--answer", "no"], "stayed\n"),
    ] {
        let ran = wharf(&home, "call", &everything, &[&[tool], answers].concat());
        assert_eq!((ran.code, ran.out.as_str()), (0, answer), "{tool} {answers:?}: {}", ran.err);
    }
}

#[test]
fn a_question_without_an_answer_says_which_is_missing() {
    let home = Home::new();
    let everything = component("everything");
    let call = |arguments: &[&str]| {
        let ran = wharf(&home, "call", &everything, arguments);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{}", ran.err);
        ran.err
    };
    let none = call(&["test_streaming_elicitation"]);
    assert!(none.contains("on a terminal, or with --answer"), "{none}");
    let other = call(&["test_streaming_elicitation", "--answer", "name=x"]);
    assert!(other.contains("the plugin's question: Go on?\nhint: add --answer yes"), "{other}");
    let field = call(&["test_input_required_result_elicitation", "--answer", "yes"]);
    assert!(field.contains("hint: add --answer name=…"), "{field}");
    assert!(none.contains("elicitation.form, to ask the user with a form"), "{none}");
    let wrong = call(&["test_streaming_elicitation", "--answer", "perhaps"]);
    assert!(wrong.contains("write --answer yes, --answer no, or --answer NAME=VALUE"), "{wrong}");
}

/// A plugin that finds out itself that nobody can answer returns an error of its own.
#[test]
fn a_tool_that_fails_because_nobody_can_answer_is_explained() {
    let home = Home::with(&["notes"]);
    home.configure("[plugins.notes.grants]\nkeyvalue = true\nelicit = true\n");
    let folder = home.plugins();
    let hint = "if it has to ask you: run this on a terminal, or add --answer yes";
    let added = wharf(&home, "call", &folder, &["notes_add", "text=milk"]);
    assert!(added.code == 0 && !added.err.contains(hint), "{}", added.err);
    let id =
        added.out.split(|c: char| !c.is_ascii_digit()).find(|digits| !digits.is_empty()).expect("an id").to_owned();
    let id = format!("id={id}");
    let refused = wharf(&home, "call", &folder, &["notes_delete", &id]);
    assert!(refused.code == 1 && refused.err.contains(hint), "{}{}", refused.out, refused.err);
    let deleted = wharf(&home, "call", &folder, &["notes_delete", &id, "--answer", "yes"]);
    assert!(deleted.code == 0 && !deleted.err.contains(hint), "{}{}", deleted.out, deleted.err);
}
