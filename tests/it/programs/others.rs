//! Programs from crates.io, which know nothing of their host.

use serde_json::json;

use crate::support::client::{Client, first_text};
use crate::support::home::Home;

#[test]
fn json_is_formatted_by_jsonxf() {
    let home = Home::with(&["jsonxf"]);
    home.configure("[plugins.jsonxf.command]\njson = true\n");
    let mut client = Client::start_modern(&home);
    let result = client.call("jsonxf_run", json!({ "args": ["-m"], "stdin": "{ \"a\": [ 1, 2 ] }" }));
    assert_eq!(result["structuredContent"], json!({ "a": [1, 2] }), "{result}");
    let wrong = client.call("jsonxf_run", json!({ "args": ["--no-such-option"] }));
    assert_eq!(wrong["isError"], true);
    assert!(first_text(&wrong).contains("no-such-option"), "{wrong}");
}

#[test]
fn markdown_is_rendered_by_pulldown_cmark() {
    let home = Home::with(&["pulldown-cmark"]);
    let mut client = Client::start_modern(&home);
    let render = |arguments: &[&str]| json!({ "args": arguments, "stdin": "# Title\n\n~~old~~ *new*\n" });
    assert_eq!(client.text("pulldown-cmark_run", render(&[])), "<h1>Title</h1>\n<p>~~old~~ <em>new</em></p>\n");
    assert_eq!(
        client.text("pulldown-cmark_run", render(&["--enable-strikethrough"])),
        "<h1>Title</h1>\n<p><del>old</del> <em>new</em></p>\n"
    );
    let help = client.call("pulldown-cmark_run", json!({ "args": ["--help"] }));
    assert!(first_text(&help).contains("Usage"), "{help}");
}
