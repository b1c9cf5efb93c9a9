//! Each tool on inputs whose results are known from elsewhere.

use wharf_plugin::*;

use super::Text;

fn structured(tool: &str, arguments: Value) -> Result<Value> {
    Ok(testing::call(&Text, tool, arguments)?.as_json().unwrap_or_default())
}

fn refusal(tool: &str, arguments: Value) -> String {
    testing::call(&Text, tool, arguments).map(|_| ()).expect_err("a refusal").text()
}

#[test]
fn digests_are_those_of_the_standards() -> Result<()> {
    let sha = structured("hash", json!({ "text": "abc" }))?;
    assert_eq!(sha["hex"], "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    let blake = structured("hash", json!({ "text": "", "algorithm": "blake3" }))?;
    assert_eq!(blake["hex"], "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262");
    Ok(())
}

#[test]
fn base64_goes_both_ways() -> Result<()> {
    let encoded = testing::call(&Text, "base64", json!({ "text": "où?>", "direction": "encode", "url_safe": true }))?;
    assert_eq!(encoded.as_text(), "b8O5Pz4=");
    for text in ["b8O5Pz4=", "b8O5Pz4", "b8O5\nPz4="] {
        let decoded = testing::call(&Text, "base64", json!({ "text": text, "direction": "decode" }))?;
        assert_eq!(decoded.as_text(), "où?>");
    }
    assert!(refusal("base64", json!({ "text": "/w==", "direction": "decode" })).contains("1 bytes"));
    assert!(refusal("base64", json!({ "text": "§", "direction": "decode" })).starts_with("/text: is not base64"));
    Ok(())
}

#[test]
fn replacing_knows_groups_case_and_limits() -> Result<()> {
    let swapped = structured("replace", json!({ "text": "a=1 b=2", "pattern": r"(\w)=(\d)", "replacement": "$2=$1" }))?;
    assert_eq!(swapped, json!({ "text": "1=a 2=b", "count": 2 }));
    let first =
        json!({ "text": "ÉLAN éLAN élan", "pattern": "élan", "replacement": "x", "ignore_case": true, "limit": 1 });
    assert_eq!(structured("replace", first)?, json!({ "text": "ÉLAN x élan", "count": 1 }));
    let literal = json!({ "text": "1.5 125", "pattern": "1.5", "replacement": "$1", "literal": true });
    assert_eq!(structured("replace", literal)?, json!({ "text": "$1 125", "count": 1 }));
    let none = json!({ "text": "abc", "pattern": "b", "replacement": "x", "limit": 0 });
    assert_eq!(structured("replace", none)?, json!({ "text": "abc", "count": 0 }));
    assert!(refusal("replace", json!({ "text": "", "pattern": "(", "replacement": "" })).starts_with("/pattern: "));
    Ok(())
}

#[test]
fn a_diff_is_unified() -> Result<()> {
    let change = structured("diff", json!({ "old": "a\nb\nc\n", "new": "a\nx\nc\n" }))?;
    assert_eq!(change["diff"], "--- old\n+++ new\n@@ -1,3 +1,3 @@\n a\n-b\n+x\n c\n");
    assert_eq!((&change["added"], &change["removed"]), (&json!(1), &json!(1)));
    assert_eq!(structured("diff", json!({ "old": "a", "new": "a" }))?["diff"], "");
    Ok(())
}

#[test]
fn a_pointer_cuts_out_what_was_written() -> Result<()> {
    let document = json!({ "a/b": [10, { "~": null }] });
    assert_eq!(structured("pointer", json!({ "document": document, "pointer": "/a~1b/1/~0" }))?["value"], Value::Null);
    let below = refusal("pointer", json!({ "document": { "a": [1] }, "pointer": "/a/1" }));
    assert_eq!(below, "/pointer: leads nowhere after `/a`: no element 1; there are 1");
    for pointer in ["/a/01", "/a/-", "/a/+0", "/b", "/a/0/x", "a"] {
        refusal("pointer", json!({ "document": { "a": [1] }, "pointer": pointer }));
    }
    Ok(())
}
