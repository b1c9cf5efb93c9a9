//! Each tool, resource and prompt on a store in memory; every test has its own.

use wharf_plugin::*;

use super::{Notes, moment};

fn add(title: Option<&str>, text: &str) -> Result<Value> {
    let added = testing::call(&Notes, "add", json!({ "title": title, "text": text }))?;
    Ok(added.as_json().unwrap_or_default())
}

fn titles(tool: &str, arguments: Value) -> Result<Vec<String>> {
    let listed = testing::call(&Notes, tool, arguments)?.as_json().unwrap_or_default();
    let notes = listed["notes"].as_array().cloned().unwrap_or_default();
    Ok(notes.iter().map(|note| note["title"].as_str().unwrap_or_default().to_owned()).collect())
}

fn refusal<T>(result: Result<T>) -> String {
    result.map(|_| ()).expect_err("a refusal").text()
}

fn suggested(argument: &str, value: &str) -> Result<Vec<String>> {
    let subject = Subject::ResourceTemplate("notes://{id}".into());
    let typed = Typed { subject, argument: argument.into(), value: value.into(), given: vec![] };
    Ok(Notes.complete(&typed)?.values().to_vec())
}

#[test]
fn notes_are_kept_listed_and_read() -> Result<()> {
    assert_eq!(add(Some("Shopping"), "milk, *bread*")?, json!({ "id": 1, "uri": "notes://1" }));
    assert_eq!(testing::messages(), ["list changed: Listing::Resources", "resource updated: notes://1"]);
    add(None, "\n# Trip\n\nBy train")?;
    add(Some(" \n "), "x")?;
    assert_eq!(titles("list", json!({}))?, ["x", "Trip", "Shopping"]);
    assert_eq!(Notes.resources()?.len(), 3);
    assert!(testing::read(&Notes, "notes://1").is_ok());
    for uri in ["notes://4", "notes://", "notes://x", "notes://-1"] {
        assert_eq!(refusal(testing::read(&Notes, uri)), "not found", "{uri}");
    }
    assert_eq!(refusal(add(None, " \n")), "/text: must not be empty");
    Ok(())
}

#[test]
fn searching_knows_no_case() -> Result<()> {
    add(Some("Größen"), "one\nélan two")?;
    add(Some("Other"), "three")?;
    assert_eq!(titles("search", json!({ "query": "ÉLAN" }))?, ["Größen"]);
    assert_eq!(titles("search", json!({ "query": "GRÖSSEN" }))?, Vec::<String>::new());
    assert_eq!(titles("search", json!({ "query": "größ" }))?, ["Größen"]);
    let hit = testing::call(&Notes, "search", json!({ "query": "élan" }))?.as_json().unwrap_or_default();
    assert_eq!(hit["notes"][0]["line"], "élan two");
    Ok(())
}

#[test]
fn deleting_asks_first() -> Result<()> {
    add(Some("Kept"), "x")?;
    let delete = json!({ "id": 1 });
    let agree = || testing::Script::new().accept(json!({}));
    assert_eq!(refusal(agree().call(&Notes, "delete", json!({ "id": 2 }))), "/id: there is no note 2");
    let declined = testing::Script::new().decline().call(&Notes, "delete", delete.clone())?;
    assert_eq!(declined.as_text(), "Note 1 is kept: the user did not confirm.");
    let refused = testing::Script::new().unavailable("no grant").call(&Notes, "delete", delete.clone());
    assert_eq!(refusal(refused), "no grant");
    assert_eq!(titles("list", json!({}))?, ["Kept"]);
    testing::messages();
    assert_eq!(agree().call(&Notes, "delete", delete.clone())?.as_text(), "Note 1 is deleted.");
    assert_eq!(testing::messages(), ["list changed: Listing::Resources", "resource updated: notes://1"]);
    assert!(agree().call(&Notes, "delete", delete).is_err());
    // An id is never given twice.
    assert_eq!(add(None, "new")?["id"], 2);
    Ok(())
}

#[test]
fn the_prompt_has_the_notes_and_completes_their_ids() -> Result<()> {
    assert_eq!(refusal(testing::prompt(&Notes, "summarise", &[])), "there are no notes yet");
    for n in 1..=12 {
        add(None, &format!("note {n}"))?;
    }
    assert_eq!(testing::prompt(&Notes, "summarise", &[("id", "3")])?.len(), 1);
    assert_eq!(refusal(testing::prompt(&Notes, "summarise", &[("id", "13")])), "/id: there is no note 13");
    assert_eq!(refusal(testing::prompt(&Notes, "summarise", &[("id", "x")])), "/id: is a whole number");
    assert_eq!(suggested("id", "1")?, ["12", "11", "10", "1"]);
    assert_eq!(suggested("other", "1")?, Vec::<String>::new());
    Ok(())
}

#[test]
fn without_the_grant_there_is_nothing_and_the_tools_say_why() -> Result<()> {
    testing::deny_store();
    assert!(Notes.resources()?.is_empty());
    assert!(refusal(add(None, "x")).contains("grant it `keyvalue`"));
    assert!(refusal(testing::prompt(&Notes, "summarise", &[])).contains("keyvalue"));
    Ok(())
}

#[test]
fn moments_are_those_of_the_calendar() {
    assert_eq!(moment::iso(0), "1970-01-01T00:00:00Z");
    assert_eq!(moment::iso(951_782_399), "2000-02-28T23:59:59Z");
    assert_eq!(moment::iso(951_782_400), "2000-02-29T00:00:00Z");
    assert_eq!(moment::iso(4_107_542_400), "2100-03-01T00:00:00Z");
    assert_eq!(moment::iso(1_735_689_599), "2024-12-31T23:59:59Z");
}
