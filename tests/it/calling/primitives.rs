//! Resources and prompts on the command line.

use serde_json::{Value, json};

use super::wharf;
use crate::support::home::{Home, component};

const FILE: &str = "everything";

#[test]
fn a_resource_is_read_by_its_uri() {
    let home = Home::with(&[FILE]);
    for path in [home.plugins(), component(FILE)] {
        let ran = wharf(&home, "read", &path, &["test://static-text"]);
        assert_eq!(
            (ran.code, ran.out.as_str(), ran.err.as_str()),
            (0, "This is the content of the static text resource.\n", "")
        );
        let ran = wharf(&home, "read", &path, &["test://template/7/data"]);
        assert!(ran.code == 0 && ran.out.contains("\"id\":\"7\""), "{}{}", ran.out, ran.err);
    }
    let ran = wharf(&home, "read", &home.plugins(), &["test://static-binary"]);
    assert_eq!(ran.out, "[test://static-binary]\n", "{}", ran.err);
    let ran = wharf(&home, "read", &home.plugins(), &["test://static-text", "--json"]);
    let read: Value = serde_json::from_str(&ran.out).expect("JSON");
    assert_eq!(read["contents"][0]["uri"], "test://static-text");
}

#[test]
fn an_unknown_uri_is_answered_with_a_near_one() {
    let home = Home::with(&[FILE]);
    let ran = wharf(&home, "read", &home.plugins(), &["test://static-txt"]);
    assert!(ran.code == 2 && ran.out.is_empty(), "{}", ran.err);
    assert!(
        ran.err.contains("find the resource test://static-txt\nhint: did you mean test://static-text"),
        "{}",
        ran.err
    );
    let ran = wharf(&home, "read", &home.plugins(), &["other://x"]);
    assert!(!ran.err.contains("did you mean") && ran.err.contains("hint: wharf list "), "{}", ran.err);
    let ran = wharf(&home, "read", &home.plugins(), &["test://template/broken/data"]);
    let why = "read the resource: Plugin 'everything' failed: the data is broken";
    assert!(ran.code == 1 && ran.err.contains(why), "{}{}", ran.out, ran.err);
}

#[test]
fn a_prompt_takes_arguments() {
    let home = Home::with(&[FILE]);
    let prompt = |path: &_, arguments: &[&str]| wharf(&home, "prompt", path, arguments);
    let ran = prompt(&home.plugins(), &["everything_test_prompt_with_arguments", "arg1=5", "arg2=a=b"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "user: Prompt with arguments: arg1='5', arg2='a=b'\n"), "{}", ran.err);
    let ran = prompt(&component(FILE), &["test_prompt_with_optional"]);
    assert_eq!(ran.out, "user: Greet nobody\n\nassistant: Hello!\n", "{}", ran.err);
    let ran = prompt(&component(FILE), &["test_prompt_with_arguments", "arg1=5"]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.starts_with("usage: everything_test_prompt_with_arguments(arg1, arg2)\n"), "{}", ran.err);
    assert!(ran.err.contains("get the prompt: ") && ran.err.contains("arg2"), "{}", ran.err);
    let ran = prompt(&component(FILE), &["test_simple_promt"]);
    assert!(ran.err.contains("did you mean everything_test_simple_prompt"), "{}", ran.err);
}

#[test]
fn list_has_sections_and_details() {
    let home = Home::with(&[FILE]);
    let text = wharf(&home, "list", &home.plugins(), &[]).out;
    assert!(text.starts_with("everything blake3:"), "{text}");
    for line in [
        "\n  Resources\n    test://static-text",
        "\n  Resource templates\n    test://template/{id}/data",
        "\n  Prompts\n    everything_test_simple_prompt",
    ] {
        assert!(text.contains(line), "no {line:?} in {text}");
    }
    let json = wharf(&home, "list", &home.plugins(), &["--json"]).out;
    let listed: Value = serde_json::from_str(&json).expect("JSON");
    for (member, key, first) in [
        ("resources", "uri", "test://static-text"),
        ("resourceTemplates", "uriTemplate", "test://template/{id}/data"),
        ("prompts", "name", "everything_test_simple_prompt"),
    ] {
        assert_eq!(listed[member][0][key], first, "{member}");
    }
    assert!(listed["tools"].as_array().is_some_and(|tools| !tools.is_empty()), "{listed}");
    let prompt = wharf(&home, "list", &home.plugins(), &["everything_test_prompt_with_optional"]).out;
    assert_eq!(
        prompt,
        "everything_test_prompt_with_optional(name?)\n  A prompt with an argument that may be left out.\n\n  name?\n      Whom to greet.\n"
    );
    let template = wharf(&home, "list", &home.plugins(), &["test://template/{id}/data"]).out;
    assert!(template.starts_with("test://template/{id}/data\n  By number\n"), "{template}");
}

#[test]
fn check_shows_resources_and_prompts_and_takes_folders() {
    let home = Home::with(&[FILE, "echo"]);
    let folder = home.plugins();
    let text = wharf(&home, "check", &folder, &[]);
    assert_eq!(text.code, 0, "{}", text.err);
    for line in [
        "everything.wasm: would load\n",
        "echo.wasm: would load\n",
        "  resource test://static-text  ",
        "  template test://template/{id}/data  ",
        "  prompt   test_simple_prompt  A prompt without arguments.\n",
    ] {
        assert!(text.out.contains(line), "no {line:?} in {}", text.out);
    }
    let json = wharf(&home, "check", &folder, &["--json"]).out;
    let found: Vec<Value> = json.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(found.len(), 2, "{json}");
    assert_eq!(found[0]["prompts"], json!([]));
    assert_eq!(found[1]["prompts"][0]["name"], "test_simple_prompt");
    assert_eq!(found[1]["resources"][0]["uri"], "test://static-text");
    assert_eq!(found[1]["resourceTemplates"][0]["uriTemplate"], "test://template/{id}/data");
    home.put_bytes(b"no plugin", "broken");
    assert_eq!(wharf(&home, "check", &folder, &[]).code, 1);
    let empty = home.path("home");
    let none = wharf(&home, "check", &empty, &[]);
    assert!(none.code == 2 && none.err.contains("it has no .wasm files"), "{}", none.err);
}
