//! Each tool on a folder of this machine.

use std::fs;

use wharf_plugin::*;

use super::folder::{Folder, Kind};
use super::search::{Query, Within, search};
use super::{Files, How, Read, read};

fn folder() -> (tempfile::TempDir, Folder) {
    let root = tempfile::tempdir().expect("a temporary folder");
    let folder = Folder::at(root.path());
    (root, folder)
}

fn refusal<T>(result: Result<T>) -> String {
    result.map(|_| ()).expect_err("a refusal").text()
}

#[test]
fn without_a_grant_it_says_what_to_write_where() {
    let text = refusal(testing::call(&Files, "list", json!({})));
    assert!(text.contains("[plugins.files.grants]") && text.contains("fs = [{ host = \"./data\", guest = \"/data\""));
}

#[test]
fn files_are_made_replaced_and_added_to() -> Result<()> {
    let (root, folder) = folder();
    assert_eq!(folder.write("a/b/c.txt", "one\n", How::Create)?, 4);
    assert!(refusal(folder.write("a/b/c.txt", "two", How::Create)).contains("is there already"));
    assert_eq!(folder.write("a/b/c.txt", "two\n", How::Append)?, 8);
    assert_eq!(folder.text("a/b/c.txt")?, "one\ntwo\n");
    assert_eq!(folder.write("a/b/c.txt", "x", How::Replace)?, 1);
    assert_eq!(fs::read_to_string(root.path().join("a/b/c.txt")).expect("it"), "x");
    for path in ["../out", "/etc/passwd", "a/../../out"] {
        assert!(refusal(folder.write(path, "x", How::Replace)).contains("from the granted folder"), "{path}");
    }
    assert!(refusal(folder.write("a", "x", How::Replace)).contains("is a folder"));
    assert!(refusal(folder.text("none")).contains("none is not there"));
    Ok(())
}

#[test]
fn folders_are_listed_by_name() -> Result<()> {
    let (root, folder) = folder();
    folder.write("b.txt", "four", How::Create)?;
    folder.write("a/x", "", How::Create)?;
    std::os::unix::fs::symlink("/etc", root.path().join("c")).expect("a link");
    let (entries, cut) = folder.list("")?;
    let listed: Vec<_> = entries.iter().map(|entry| (entry.name.as_str(), entry.kind, entry.size)).collect();
    let expected = [("a", Kind::Folder, None), ("b.txt", Kind::File, Some(4)), ("c", Kind::Other, None)];
    assert_eq!((listed, cut), (expected.to_vec(), false));
    assert!(refusal(folder.list("b.txt")).contains("is no folder"));
    Ok(())
}

#[test]
fn lines_are_read_as_many_as_fit() -> Result<()> {
    let (_root, folder) = folder();
    folder.write("lines", "1\n2\n3\n4\n", How::Create)?;
    let lines = |from, lines| {
        let read = read(&folder, Read { path: "lines".into(), from, lines }).expect("read");
        read.content().iter().filter_map(|content| content.as_text().map(str::to_owned)).collect::<Vec<_>>()
    };
    assert_eq!(lines(1, None), ["1\n2\n3\n4\n"]);
    assert_eq!(lines(2, Some(2)), ["2\n3\n", "lines 2 to 3 of 4"]);
    assert_eq!(lines(5, None), ["", "there are 4 lines"]);
    folder.write("long", &"0123456789\n".repeat(10_000), How::Create)?;
    let long = read(&folder, Read { path: "long".into(), from: 1, lines: None })?;
    assert!(long.content().last().and_then(Content::as_text) == Some("lines 1 to 5957 of 10000"));
    folder.write("wide", &"x".repeat(100_000), How::Create)?;
    let wide = read(&folder, Read { path: "wide".into(), from: 1, lines: None })?;
    assert!(wide.content().last().and_then(Content::as_text) == Some("line 1 has more than 65536 bytes"));
    Ok(())
}

#[test]
fn texts_and_expressions_are_found() -> Result<()> {
    let (root, folder) = folder();
    folder.write("one.md", "Alpha\nbeta\n", How::Create)?;
    folder.write("sub/two.md", "gamma\nALPHABET\n", How::Create)?;
    fs::write(root.path().join("binary"), [0xff, b'a']).expect("a file");
    let find = |query: &str, within, regex, path: &str| {
        let query = Query { query: query.into(), within, regex, path: path.into() };
        let (found, _) = search(&folder, &query).expect("searched");
        found.into_iter().map(|found| (found.path, found.line)).collect::<Vec<_>>()
    };
    let at = |path: &str, line| (path.to_owned(), line);
    assert_eq!(find("alpha", Within::Lines, false, ""), [at("one.md", Some(1)), at("sub/two.md", Some(2))]);
    assert_eq!(find("^[a-z]+$", Within::Lines, true, "sub/"), [at("sub/two.md", Some(1))]);
    assert_eq!(find(".md", Within::Names, false, ""), [at("one.md", None), at("sub/two.md", None)]);
    assert_eq!(find("^sub/", Within::Names, true, ""), [at("sub/two.md", None)]);
    for (query, regex) in [("", false), ("(", true)] {
        let query = Query { query: query.into(), within: Within::Lines, regex, path: String::new() };
        assert!(refusal(search(&folder, &query)).starts_with("/query"));
    }
    Ok(())
}
