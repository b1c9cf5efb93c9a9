//! Pages from a server in the test.

use wharf_plugin::http::{Request, Response};
use wharf_plugin::*;

use super::{Fetch, PAGE};

fn fetched(server: impl Fn(&Request) -> Response + 'static, arguments: Value) -> Result<String> {
    testing::serve(server);
    Ok(testing::call(&Fetch, "fetch", arguments)?.as_text())
}

fn page(kind: &str, body: impl Into<Vec<u8>>) -> Response {
    Response::new(200, body).with_header("Content-Type", kind)
}

fn refusal(server: impl Fn(&Request) -> Response + 'static) -> String {
    fetched(server, json!({ "url": "https://a.example/" })).expect_err("a refusal").text()
}

#[test]
fn a_page_is_markdown() -> Result<()> {
    let html = "<html><head><title>T</title><style>p{}</style></head><body><nav>menu</nav>\
                <h1>Rain</h1><p>It <b>rains</b> in <a href=\"/bern\">Bern</a>.</p>\
                <ul><li>one<li>two</ul><script>alert(1)</script></body></html>";
    let text = fetched(move |_| page("text/html; charset=utf-8", html), json!({ "url": "https://a.example/" }))?;
    assert_eq!(text, "# Rain\n\nIt **rains** in [Bern](/bern).\n\n*   one\n*   two");
    Ok(())
}

#[test]
fn text_and_json_are_given_as_they_are() -> Result<()> {
    for (kind, body) in [("text/plain", "a < b"), ("application/json", "{\"a\": 1}"), ("application/ld+json", "[]")] {
        assert_eq!(fetched(move |_| page(kind, body), json!({ "url": "https://a.example/" }))?, body);
    }
    let latin =
        fetched(|_| page("text/plain; charset=ISO-8859-1", b"caf\xe9"), json!({ "url": "https://a.example/" }))?;
    assert_eq!(latin, "café");
    Ok(())
}

#[test]
fn a_long_page_is_cut() -> Result<()> {
    let wanted = json!({ "url": "https://a.example/", "max_characters": 3 });
    assert_eq!(fetched(|_| page("text/plain", "äöüß"), wanted.clone())?, "äöü\n\n[cut: 3 of 4 characters]");
    assert_eq!(fetched(|_| page("text/plain", "äöü"), wanted)?, "äöü");
    Ok(())
}

#[test]
fn redirects_are_followed_and_counted() -> Result<()> {
    let moved = |to: &str| Response::new(302, "").with_header("location", to);
    let server = move |request: &Request| match request.url() {
        "https://a.example/x/old" => moved("../new?a=b"),
        "https://a.example/new?a=b" => moved("https://b.example/"),
        "https://b.example/" => page("text/plain", "here"),
        _ => moved("/again"),
    };
    assert_eq!(fetched(server, json!({ "url": "https://a.example/x/old#top" }))?, "here");
    assert_eq!(refusal(server), "the page redirects more than 5 times");
    Ok(())
}

#[test]
fn what_cannot_be_read_is_said() {
    assert_eq!(refusal(|_| page("image/png", [0x89])), "the page is no text but image/png");
    assert_eq!(refusal(|_| Response::new(404, "")), "the server answered with status 404");
    assert!(refusal(|_| page("text/plain", vec![b'x'; PAGE + 1])).starts_with("the page has 4194305 bytes"));
    let wrong = fetched(|_| page("text/plain", ""), json!({ "url": "/relative" })).expect_err("a refusal").text();
    assert_eq!(wrong, "/url: is not an absolute URL");
}
