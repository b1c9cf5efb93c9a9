//! A URI template compiles or is refused, matches only URIs, and matches itself if it has no
//! variables.

use wharf::plugin::UriTemplate;

use super::{Target, bytes};

pub(super) fn target() -> Target {
    let seeds = bytes(&[
        "notes:{id}\nnotes:1",
        "file:///{+path}\nfile:///a/b",
        "x:{/list*}{?q,page:3}{&more}\nx:/a/b?q=1&page=123&more",
        "x:{#f}{.a,b}{;c*}\nx:#f.a.b;c=1",
        "notes:all\nnotes:all",
        "a:%41{x:9999}\na:%41",
    ]);
    let words = vec![
        "{", "}", "*", ":", "?", "&", "/", ";", "#", "+", ".", ",", "%41", "%", "{a}", "{?a,b*}", "\u{e9}", "\n", "|",
        "=",
    ];
    Target { name: "template", seeds, words, run }
}

/// The first line is the template, the rest a URI.
fn run(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let (template, uri) = text.split_once('\n').unwrap_or((&text, ""));
    let Ok(compiled) = UriTemplate::compile(template) else { return };
    assert!(compiled.literals() <= template.len());
    for variable in compiled.variables() {
        assert!(template.contains(variable.as_str()), "{variable:?} of {template:?}");
    }
    if compiled.matches(uri) {
        assert!(uri.is_ascii() && uri.contains(':'), "{uri:?} is no URI");
        let prefix = template.split('{').next().unwrap_or_default();
        assert!(uri.starts_with(prefix), "{template:?} does not match {uri:?}");
    }
    if !template.contains('{') {
        assert_eq!(compiled.matches(uri), uri == template && compiled.matches(template));
    }
}
