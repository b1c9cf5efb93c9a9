use super::changes;

fn text(old: Option<&str>, new: &str) -> String {
    changes(old, new).iter().map(super::Change::to_text).collect()
}

const OLD: &str = r#"{"completions":false,"prompts":[],"templates":[{"name":"t","uriTemplate":"a://{b}"}],"tools":[
    {"name":"add","description":"Adds.","inputSchema":{"type":"object","properties":{"a":{"type":"string"}}}},
    {"name":"gone","title":"Goes"}]}"#;

#[test]
fn equal_surfaces_have_no_changes() {
    assert_eq!(text(Some(OLD), OLD), "");
}

#[test]
fn each_change_has_its_place_and_both_sides() {
    let new = r#"{"completions":true,"prompts":[{"name":"p","description":"Greets."}],
        "templates":[{"name":"u","uriTemplate":"a://{b}"}],"tools":[
        {"name":"add","description":"Adds.\n+ Lies.","inputSchema":{"type":"object","properties":{"a":{"type":"number"}}}}]}"#;
    let wanted = "    completions\n      + true\n
    prompt p: description\n      + Greets.\n
    template a://{b}: name\n      - t\n      + u\n
    tool add: description\n      - Adds.\n      + Adds.\n      + + Lies.\n
    tool add: inputSchema.properties.a.type\n      - string\n      + number\n
    tool gone: title\n      - Goes\n";
    assert_eq!(text(Some(OLD), new), wanted.replace("\n\n", "\n"));
}

#[test]
fn of_what_was_not_there_all_is_said() {
    let text = text(None, OLD);
    assert!(text.contains("tool add: description\n      + Adds.\n") && !text.contains("      - "), "{text}");
}

#[test]
fn what_cannot_be_seen_is_spelt_out() {
    let new = "{\"tools\":[{\"name\":\"a\",\"description\":\"\\u001b[2J\\u202ex\"}]}";
    assert_eq!(text(None, new), "    tool a: description\n      + \\u{1b}[2J\\u{202e}x\n");
}
