//! The files of the page: all that plugins say is text, and nothing comes from elsewhere.

use std::collections::BTreeSet;

use regex::Regex;

use crate::support::home::{names_in, repository};

/// What would make elements or scripts of a text.
const MARKUP: [&str; 12] = [
    "innerHTML",
    "outerHTML",
    "insertAdjacentHTML",
    "document.write",
    "DOMParser",
    "createContextualFragment",
    "setHTML",
    "srcdoc",
    "eval(",
    "new Function",
    "javascript:",
    "import(",
];

fn read(name: &str) -> String {
    std::fs::read_to_string(repository().join("host/page").join(name)).expect("a file of the page")
}

#[test]
fn no_text_becomes_an_element() {
    for name in names_in(&repository().join("host/page")) {
        let text = read(&name);
        for word in MARKUP {
            assert!(!text.contains(word), "{name} has {word}");
        }
        assert!(text.lines().count() <= 300, "{name} is too long");
    }
}

#[test]
fn nothing_is_loaded_from_elsewhere_or_written_into_the_page_itself() {
    let page = read("index.html");
    let attribute = Regex::new(r##"(?:src|href)="([^"#]*)""##).expect("a pattern");
    for found in attribute.captures_iter(&page) {
        assert!(!found[1].contains(':') && !found[1].starts_with("//"), "{}", &found[0]);
    }
    assert!(!Regex::new(r"\son\w+=|\sstyle=|<style|<script>").expect("a pattern").is_match(&page));
    let import = Regex::new(r#"from "([^"]+)""#).expect("a pattern");
    for name in names_in(&repository().join("host/page")).iter().filter(|name| name.ends_with(".js")) {
        for found in import.captures_iter(&read(name)) {
            assert!(repository().join("host/page").join(&found[1]).is_file(), "{name}: {}", &found[1]);
        }
    }
}

#[test]
fn each_file_is_in_the_program() {
    let files = std::fs::read_to_string(repository().join("host/src/transport/page/files.rs")).expect("a file");
    let named = Regex::new(r#"file!\("([^"]+)""#).expect("a pattern");
    let served: BTreeSet<String> = named.captures_iter(&files).map(|found| found[1].to_owned()).collect();
    let there: BTreeSet<String> = names_in(&repository().join("host/page")).into_iter().collect();
    assert_eq!(served, there);
}
