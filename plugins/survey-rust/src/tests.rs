//! Each tool with a script of answers.

use wharf_plugin::testing::Script;
use wharf_plugin::*;

use super::Survey;

fn text(script: Script, tool: &str, arguments: Value) -> Result<String> {
    Ok(script.call(&Survey, tool, arguments)?.as_text())
}

#[test]
fn a_name_is_asked_for_and_confirmed() -> Result<()> {
    let name = || Script::new().accept(json!({ "name": "Ada" }));
    assert_eq!(text(name().accept(json!({})), "ask", json!({}))?, "hello Ada");
    assert_eq!(text(name().decline(), "ask", json!({}))?, "The user would not have Ada greeted.");
    assert_eq!(text(Script::new().decline(), "ask", json!({}))?, "The user would not give a name.");
    Ok(())
}

#[test]
fn it_insists_on_what_it_cannot_do_without() {
    for (tool, arguments) in [("ask", json!({})), ("summarise", json!({ "text": "rain" })), ("roots", json!({}))] {
        let refusal = text(Script::new().unavailable("nobody is there"), tool, arguments);
        assert!(refusal.is_err_and(|error| error.is_unavailable()), "{tool}");
    }
}

#[test]
fn the_model_is_given_the_text() -> Result<()> {
    let summary = text(Script::new().model("It rains."), "summarise", json!({ "text": "Rain, and more rain." }))?;
    assert_eq!(summary, "It rains.");
    Ok(())
}

#[test]
fn folders_are_listed() -> Result<()> {
    let folders = Script::new().roots(&["file:///home/ada", "file:///srv"]);
    assert_eq!(text(folders, "roots", json!({}))?, "file:///home/ada\nfile:///srv");
    assert_eq!(text(Script::new().roots(&[]), "roots", json!({}))?, "The client works in no folder.");
    Ok(())
}

#[test]
fn a_link_is_visited_or_passed_on() -> Result<()> {
    let link = |script| text(script, "link", json!({ "url": "https://example.org/7" }));
    assert_eq!(link(Script::new().accept(json!({})))?, "The user is on the way to https://example.org/7.");
    assert_eq!(link(Script::new().decline())?, "The user would not go there.");
    assert_eq!(link(Script::new().unavailable("no"))?, "Please tell the user to open https://example.org/7.");
    let refused = text(Script::new(), "link", json!({ "url": "http://example.org/" }));
    assert!(refused.is_err_and(|error| error.text() == "/url: must begin with https://"));
    Ok(())
}
