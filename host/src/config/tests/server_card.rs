//! `[server.http] server-card`.

use super::error;
use crate::config::Config;

const URL: &str = "https://tools.example/mcp";

fn card(name: &str, lines: &str, card: &str) -> String {
    format!("[server]\nname = '{name}'\n{lines}\n[server.http]\nserver-card = {card}\n")
}

fn of_url(url: &str) -> String {
    card("example.tools/a", "description = 'b'", &format!("{{ url = '{url}' }}"))
}

#[test]
fn its_address_is_its_own_or_that_of_oauth() {
    let url = |text: &str| Config::parse(text).expect("valid").server.http.server_card_url().map(str::to_owned);
    assert_eq!(url(&of_url(URL)).as_deref(), Some(URL));
    let oauth = "oauth = { resource = 'https://a.example', issuers = [{ issuer = 'https://b.example' }] }\n";
    let of_oauth = card("example.tools/a", "description = 'b'", "{}") + oauth;
    assert_eq!(url(&of_oauth).as_deref(), Some("https://a.example"));
    assert_eq!(url(&(of_url(URL) + oauth)).as_deref(), Some(URL));
    assert_eq!(url(&format!("[server.http]\n{oauth}")), None);
    let missing = error(&card("example.tools/a", "description = 'b'", "{}"));
    assert!(missing.to_string().ends_with("server.http.server-card: needs the address that clients are given"));
    assert_eq!(missing.hint.as_deref(), Some("write server-card = { url = \"https://tools.example/mcp\" }"));
}

#[test]
fn an_address_is_canonical_and_for_everyone() {
    for valid in ["https://a.example", "https://a.example:8443/x/mcp", "http://127.0.0.1:8080/mcp"] {
        Config::parse(&of_url(valid)).unwrap_or_else(|error| panic!("{valid}: {error}"));
    }
    for (wrong, why) in [
        ("https://a.example/mcp/", "server.http.server-card.url: not in its canonical form"),
        ("https://a.example/mcp?a=b", "server.http.server-card.url: has a query or a fragment"),
        ("https://u:p@a.example/mcp", "server.http.server-card.url: not an http or https URI"),
        ("https://{tenant}.example/mcp", "server.http.server-card.url: not an http or https URI"),
        ("a.example", "server.http.server-card.url: not an http or https URI"),
        ("http://a.example/mcp", "server.http.server-card: not an https URI"),
    ] {
        let error = error(&of_url(wrong)).to_string();
        assert!(error.contains(why), "{wrong}: {error}");
    }
}

#[test]
fn a_name_begins_with_a_domain_in_reverse() {
    let of_name = |name: &str| card(name, "description = 'b'", &format!("{{ url = '{URL}' }}"));
    let long = |more: usize| format!("a/{}", "b".repeat(198 + more));
    for valid in ["example.tools/a", "a/b", "io.github.some-one/My_Tools.2", &long(0)] {
        Config::parse(&of_name(valid)).unwrap_or_else(|error| panic!("{valid}: {error}"));
    }
    for wrong in ["wharf", "", "/", "a/", "/a", "a/b/c", "a_b/c", "a..b/c", ".a/b", "a./b", "a/b c", "ä/b", &long(1)] {
        let error = error(&of_name(wrong));
        assert!(error.to_string().contains("server.name: a server card needs a domain"), "{wrong}: {error}");
        let hint = error.hint.expect("what to write");
        let name = hint.strip_prefix("write name = \"").and_then(|hint| hint.strip_suffix('"')).expect("a name");
        Config::parse(&of_name(name)).unwrap_or_else(|error| panic!("the hint for {wrong}: {error}"));
    }
    assert_eq!(error(&of_name("my tools")).hint.as_deref(), Some("write name = \"example.tools/my-tools\""));
    // Without a card any name will do.
    Config::parse("[server]\nname = 'my tools'").expect("valid");
}

#[test]
fn texts_for_people_are_short() {
    let url = format!("{{ url = '{URL}' }}");
    let missing = error(&card("example.tools/a", "", &url));
    assert!(missing.to_string().ends_with("server.http.server-card: needs a description of the server"), "{missing}");
    for key in ["title", "description"] {
        let of = |text: &str| format!("[server]\n{key} = \"{text}\"\n");
        for valid in ["a", &"ä".repeat(100)] {
            Config::parse(&of(valid)).unwrap_or_else(|error| panic!("{valid}: {error}"));
        }
        for wrong in ["", &"a".repeat(101), "a\\nb"] {
            let error = error(&of(wrong)).to_string();
            assert!(error.contains(&format!("server.{key}: must have 1 to 100 characters")), "{error}");
        }
    }
}
