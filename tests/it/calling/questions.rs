//! Answers to a plugin's questions without a terminal.

use super::wharf;
use crate::support::guest::Guest;
use crate::support::guest::asking::{ROOTS, form};
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
        // The form has no field that is yes or no.
        ("test_input_required_result_elicitation", &["--answer", "no"], "Hello, stranger!\n"),
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
    assert!(none.contains("on a terminal, or answer with --answer yes or --answer NAME=VALUE"), "{none}");
    let other = call(&["test_streaming_elicitation", "--answer", "name=x"]);
    assert!(other.contains("the plugin's question: Go on?\nhint: add --answer yes"), "{other}");
    let field = call(&["test_input_required_result_elicitation", "--answer", "yes"]);
    assert!(field.contains("hint: add --answer name=…"), "{field}");
    let field = call(&["test_input_required_result_elicitation", "--answer", "nme=x"]);
    assert!(field.contains("hint: its form has no field nme: add --answer name=…"), "{field}");
    assert!(none.contains("call the tool: it asks a question, and nobody can answer\n"), "{none}");
    let field = call(&["test_elicitation_fields", "--answer", "age=200"]);
    let expected =
        "question: Who are you?: age=200: value is greater than the maximum of 150\nhint: give another value: ";
    assert!(field.contains(expected), "{field}");
    let wrong = call(&["test_streaming_elicitation", "--answer", "perhaps"]);
    assert!(wrong.contains("write --answer yes, --answer no, or --answer NAME=VALUE"), "{wrong}");
}

#[test]
fn an_answer_that_nothing_asked_for_is_reported() {
    let home = Home::new();
    let words = ["test_streaming_elicitation", "--answer", "yes", "--answer", "nme=x"];
    let ran = wharf(&home, "call", &component("everything"), &words);
    assert!(ran.code == 0 && ran.err.contains("warning: --answer nme: nothing asked for it"), "{}", ran.err);
}

/// A plugin that is told that nobody can answer returns an error of its own.
#[test]
fn a_tool_that_fails_because_nobody_could_answer_is_explained() {
    let home = Home::new();
    let schema = r#"{"type":"object","properties":{}}"#;
    let guest = Guest::returning("given up").asks_once("form", &[("k", form(schema))]);
    let guest = guest.asks_once("roots", &[("k", ROOTS)]).fails("fail", "");
    home.put_bytes(&guest.build(), "asker");
    let call = |words: &[&str]| {
        let ran = wharf(&home, "call", &home.plugins(), words);
        assert_eq!((ran.code, ran.out.as_str()), (1, "asker | given up\n"), "{words:?}: {}", ran.err);
        ran.err
    };
    let unanswered = call(&["asker_form"]);
    assert!(unanswered.contains("nobody could answer: run this on a terminal, or add --answer yes"), "{unanswered}");
    let roots = call(&["asker_roots"]);
    assert!(roots.contains("call it from an MCP client") && !roots.contains("--answer"), "{roots}");
    // What was answered, or not asked, is not the reason.
    assert_eq!((call(&["asker_form", "--answer", "yes"]), call(&["asker_fail"])), (String::new(), String::new()));
}

/// A grant is of no use to this command for what it cannot answer.
#[test]
fn a_grant_for_what_only_clients_answer_is_said_to_need_one() {
    let home = Home::with(&["everything"]);
    home.put("everything", "stranger");
    for (words, grant) in [(&["stranger_test_sampling", "prompt=x"][..], "sample"), (&["stranger_test_roots"], "roots")]
    {
        let ran = wharf(&home, "call", &home.plugins(), words);
        let command =
            format!("run: wharf grant stranger {} {grant}; then call it from an MCP client", home.plugins().display());
        assert!(ran.code == 1 && ran.err.contains(&command), "{}{}", ran.out, ran.err);
    }
}

#[test]
fn a_question_without_a_grant_names_the_grant_and_the_command() {
    let home = Home::with(&["notes"]);
    home.put("everything", "stranger");
    home.configure("[plugins.notes.grants]\nkeyvalue = true\n");
    let folder = home.plugins();
    let call = |arguments: &[&str]| wharf(&home, "call", &folder, arguments);
    assert_eq!(call(&["notes_add", "text=milk"]).code, 0);
    let tools = [("stranger", "stranger_test_elicitation", "message=Who?"), ("notes", "notes_delete", "id=1")];
    for (plugin, tool, argument) in tools {
        for answer in [&[][..], &["--answer", "yes"]] {
            let refused = call(&[&[tool, argument], answer].concat());
            assert_eq!(refused.code, 1, "{tool}: {}", refused.err);
            assert!(refused.out.contains("missing grant `elicit`"), "{tool}: {}", refused.out);
            assert!(
                refused.err.contains(&format!("run: wharf grant {plugin} {} elicit", folder.display())),
                "{tool}: {}",
                refused.err
            );
        }
    }
    // With the grant, what is missing is an answer.
    home.configure("[plugins.notes.grants]\nkeyvalue = true\nelicit = true\n");
    let unanswered = call(&["notes_delete", "id=1"]);
    assert!(unanswered.code == 2 && unanswered.err.contains("with --answer"), "{}", unanswered.err);
    assert_eq!(call(&["notes_delete", "id=1", "--answer", "yes"]).code, 0);
}
