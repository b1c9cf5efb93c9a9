use super::{changes, summary};

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
fn each_change_has_its_path_and_both_sides() {
    let new = r#"{"completions":true,"prompts":[{"name":"p","description":"Greets."}],
        "templates":[{"name":"u","uriTemplate":"a://{b}"}],"tools":[
        {"name":"add","description":"Adds.\n+ Lies.","inputSchema":{"type":"object","properties":{"a":{"type":"number"}}}}]}"#;
    let wanted = "    completions\n      + true\n
    prompt p()\n      + Greets.\n
    template a://{b}: name\n      - t\n      + u\n
    tool add: description\n      - Adds.\n      + Adds.\n      + + Lies.\n
    tool add: inputSchema.properties.a.type\n      - string\n      + number\n
    tool gone: removed\n";
    assert_eq!(text(Some(OLD), new), wanted.replace("\n\n", "\n"));
}

#[test]
fn what_is_removed_is_one_line_after_what_is_new() {
    let new = r#"{"tools":[{"name":"new","description":"Does."}]}"#;
    let expected = "    tool new()\n      + Does.\n    tool add: removed\n    tool gone: removed\n";
    let text = text(Some(OLD), new);
    assert!(text.ends_with(expected) && text.contains("    template a://{b}: removed\n"), "{text}");
    let found = changes(Some(OLD), new);
    let json = found.last().expect("a change").to_json();
    assert_eq!((&json["what"], &json["old"]["title"], &json["new"]), (&"tool gone".into(), &"Goes".into(), &().into()));
}

#[test]
fn everything_is_shown_if_there_is_no_old_surface() {
    let text = text(None, OLD);
    assert!(text.contains("    tool add(a?: string)\n      + Adds.\n") && !text.contains("      - "), "{text}");
    let added = changes(None, OLD);
    let json = added.iter().map(super::Change::to_json).find(|json| json["what"] == "tool add").expect("a tool");
    assert_eq!((&json["old"], &json["new"]["description"]), (&().into(), &"Adds.".into()));
}

#[test]
fn invisible_characters_are_escaped() {
    let new = "{\"tools\":[{\"name\":\"a\",\"description\":\"\\u001b[2J\\u202ex\"}]}";
    assert_eq!(text(None, new), "    tool a()\n      + \\u{1b}[2J\\u{202e}x\n");
}

/// Every difference in a byte is visible.
#[test]
fn sides_that_look_alike_are_escaped() {
    let surface = |description: &str| format!(r#"{{"tools":[{{"name":"a","description":{description}}}]}}"#);
    for (old, new, wanted) in [
        (r#""Adds.""#, r#""Adds. ""#, [r#"- "Adds.""#, r#"+ "Adds. ""#]),
        (r#""a b""#, r#""a\u00a0b""#, [r#"- "a b""#, r#"+ "a\u00a0b""#]),
        (r#""pаy""#, r#""pаy😀""#, [r#"- "p\u0430y""#, r#"+ "p\u0430y\ud83d\ude00""#]),
        (r#""é""#, r#""e\u0301""#, [r#"- "\u00e9""#, r#"+ "e\u0301""#]),
        ("3", r#""3""#, ["- 3", r#"+ "3""#]),
        ("null", r#""null""#, ["- null", r#"+ "null""#]),
        ("[1]", r#""[\n  1\n]""#, ["- [1]", r#"+ "[\n  1\n]""#]),
        (r#""a\nb""#, r#""a\\nb""#, ["- a\n      - b", r#"+ "a\\nb""#]),
        (r#""x""#, r#""\\u{1b}""#, ["- x", r#"+ "\\u{1b}""#]),
        ("1.0", "1", ["- 1.0", "+ 1"]),
    ] {
        let shown = text(Some(&surface(old)), &surface(new));
        assert!(wanted.iter().all(|line| shown.contains(line)), "{shown} for {wanted:?}");
    }
}

/// What counts as changed is shown.
#[test]
fn another_order_of_members_is_a_change() {
    let surface =
        |members: &str| format!(r#"{{"tools":[{{"name":"a","inputSchema":{{"properties":{{{members}}}}}}}]}}"#);
    let (old, new) = (surface(r#""x":1,"y":2"#), surface(r#""y":2,"x":1"#));
    let shown = text(Some(&old), &new);
    assert!(shown.contains(r#"- {"properties":{"x":1,"y":2}}"#), "{shown}");
    assert!(shown.contains(r#"+ {"properties":{"y":2,"x":1}}"#), "{shown}");
    assert_eq!(summary(Some(&old), &new), "1 tool changed");
}

#[test]
fn unparsable_surfaces_are_shown_whole() {
    assert!(text(None, "no JSON").contains("+ no JSON"));
    assert!(text(Some(OLD), r#"{"tools":[],"tools":[]}"#).contains(r#"+ {"tools":[],"tools":[]}"#));
}

#[test]
fn the_deepest_surface_is_shown_on_a_small_stack() {
    let nested = |levels: usize| format!("{}1{}", "{\"b\":".repeat(levels), "}".repeat(levels));
    let surface = move |levels| format!(r#"{{"tools":[{{"name":"a","meta":{}}}]}}"#, nested(levels));
    let work = move || {
        assert!(text(None, &surface(124)).contains("      meta: {\"b\":{\"b\":"));
        assert!(text(Some(&surface(124)), &surface(123)).contains("tool a: meta.b.b"));
    };
    std::thread::Builder::new().stack_size(1 << 20).spawn(work).expect("a thread").join().expect("no panic");
}
