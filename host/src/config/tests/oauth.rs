//! `[server.http.oauth]`.

use super::error;
use crate::config::Config;

fn oauth(lines: &str) -> String {
    format!("[server.http.oauth]\nresource = 'https://tools.example/mcp'\n{lines}\n")
}

fn issuers(entry: &str) -> String {
    oauth(&format!("issuers = [{{ issuer = 'https://login.example', {entry} }}]"))
}

fn resource(uri: &str) -> String {
    issuers("").replace("https://tools.example/mcp", uri)
}

#[test]
fn the_least_configuration_has_a_resource_and_an_issuer() {
    let config = Config::parse(&issuers("")).expect("valid");
    let oauth = config.server.http.oauth.as_ref().expect("set");
    assert!(oauth.scopes.is_empty() && !oauth.legacy_metadata);
    let issuer = &oauth.issuers[0];
    assert_eq!((issuer.subject_claim.as_str(), issuer.groups_claim.as_str()), ("sub", "groups"));
    assert_eq!(issuer.keep_keys.as_secs(), 24 * 60 * 60);
    assert!(issuer.audiences.is_empty() && issuer.introspection.is_none());
}

#[test]
fn a_resource_is_a_canonical_uri() {
    for uri in
        ["https://a.example", "https://a.example/mcp", "https://a.example:8443/x/mcp", "http://127.0.0.1:8080/mcp"]
    {
        Config::parse(&resource(uri)).unwrap_or_else(|error| panic!("{uri}: {error}"));
    }
    for (uri, canonical) in [
        ("https://a.example/", "https://a.example"),
        ("https://a.example/mcp/", "https://a.example/mcp"),
        ("HTTPS://A.example/mcp", "https://a.example/mcp"),
        ("https://a.example:443/mcp", "https://a.example/mcp"),
        ("https://a.example/x/../mcp", "https://a.example/mcp"),
        ("https://a.example/%6dcp", "https://a.example/mcp"),
    ] {
        let error = error(&resource(uri));
        assert!(error.to_string().contains("server.http.oauth.resource: not in its canonical form: "), "{error}");
        assert_eq!(error.hint, Some(format!("write resource = {canonical:?}")));
        Config::parse(&resource(canonical)).expect("the hint is valid");
    }
    for uri in [
        "",
        "a.example",
        "/mcp",
        "ftp://a.example",
        "https:///mcp",
        "https://u:p@a.example",
        "https://a.example/\"",
        "https://a.example/ä",
        "https://a.example:0",
        "https://a.example:65536",
    ] {
        let error = error(&resource(uri)).to_string();
        assert!(error.contains("server.http.oauth.resource: not an http or https URI"), "{uri}: {error}");
    }
    for uri in
        ["https://a.example/mcp?a", "https://a.example/mcp#a", "https://a.example/mcp?a#b", "https://A.example/mcp/?"]
    {
        let error = error(&resource(uri));
        assert!(error.to_string().contains("server.http.oauth.resource: has a query or a fragment"), "{uri}: {error}");
        assert_eq!(error.hint.as_deref(), Some("write resource = \"https://a.example/mcp\""));
    }
}

#[test]
fn what_is_fetched_is_fetched_over_tls() {
    let other = |uri: &str| issuers("").replace("https://login.example", uri);
    for uri in ["http://127.0.0.1:9/realms/a", "http://[::1]", "http://localhost:9", "https://a.example/tenant/v2.0/"] {
        Config::parse(&other(uri)).unwrap_or_else(|error| panic!("{uri}: {error}"));
    }
    for uri in ["http://a.example", "http://127.0.0.1.example", "https://a.example?x", "https://a.example#", "a"] {
        assert!(error(&other(uri)).to_string().contains("issuers.issuer: not an https URI"), "{uri}");
    }
    for key in ["jwks-uri = 'http://a.example/k'", "jwks-uri = 'k'"] {
        assert!(error(&issuers(key)).to_string().contains("issuers.jwks-uri: not an https URI"), "{key}");
    }
    let asking = |rest: &str| issuers(&format!("introspection = {{ client-id = 'w', client-secret = {{ {rest} }}"));
    Config::parse(&asking("env = 'A' }, endpoint = 'https://a.example/i?x'")).expect("valid");
    let wrong = error(&asking("env = 'A' }, endpoint = 'http://a.example'")).to_string();
    assert!(wrong.contains("issuers.introspection.endpoint: not an https URI"), "{wrong}");
    for wrong in ["}", "env = 'A', file = 'b' }"] {
        let wrong = error(&asking(wrong)).to_string();
        assert!(wrong.contains("introspection.client-secret: needs either env or file"), "{wrong}");
    }
    let inline = error(&asking("value = 'abcdef' }"));
    assert!(inline.hint.as_ref().is_some_and(|hint| hint.contains("never in this file")), "{inline}");
    assert!(!inline.to_string().contains("abcdef"), "{inline}");
}

#[test]
fn lists_are_bounded_and_their_entries_checked() {
    let many = |entry: &str, count: usize| vec![entry; count].join(", ");
    let listed = |count: usize| {
        let entries: Vec<_> = (0..count).map(|at| format!("{{ issuer = 'https://{at}.example' }}")).collect();
        oauth(&format!("issuers = [{}]", entries.join(", ")))
    };
    Config::parse(&listed(16)).expect("the most");
    for count in [0, 17] {
        assert!(error(&listed(count)).to_string().contains("oauth.issuers: must have 1 to 16 entries"));
    }
    let twice = oauth(&format!("issuers = [{}]", many("{ issuer = 'https://a.example' }", 2)));
    assert!(error(&twice).to_string().contains("issuers.issuer: named twice"));
    Config::parse(&issuers(&format!("audiences = [{}]", many("'a'", 16)))).expect("the most");
    for wrong in [many("'a'", 17), "''".into(), "'\\t'".replace('\'', "\""), format!("'{}'", "a".repeat(513))] {
        assert!(error(&issuers(&format!("audiences = [{wrong}]"))).to_string().contains("issuers.audiences: must be"));
    }
    let scopes = |list: &str| issuers("") + &format!("scopes = [{list}]\n");
    Config::parse(&scopes("'mcp', 'api://tools/.default', 'a:b!#[]~'")).expect("scopes");
    for wrong in ["''", "'a b'", "'a\"b'", "'a\\b'", "'ä'"] {
        assert!(error(&scopes(wrong)).to_string().contains("oauth.scopes: not a scope"), "{wrong}");
    }
    assert!(error(&scopes(&many("'a'", 17))).to_string().contains("oauth.scopes: has more than 16"));
    assert!(error(&issuers("scope-prefix = 'a b'")).to_string().contains("issuers.scope-prefix: not the beginning"));
    for wrong in ["subject-claim = ''", "groups-claim = ''", "scope-claim = ''", "keep-keys = '0s'"] {
        let key = wrong.split(' ').next().expect("a key");
        assert!(error(&issuers(wrong)).to_string().contains(&format!("issuers.{key}: must ")), "{wrong}");
    }
}

#[test]
fn only_one_issuer_can_be_told_to_old_clients() {
    let both = "[{ issuer = 'https://a.example' }, { issuer = 'https://b.example' }]";
    Config::parse(&(issuers("") + "legacy-metadata = true\n")).expect("one issuer");
    let wrong = error(&oauth(&format!("issuers = {both}\nlegacy-metadata = true")));
    assert!(wrong.to_string().contains("legacy-metadata: needs exactly one issuer"), "{wrong}");
}

/// Static tokens and users of OAuth have names of their own.
#[test]
fn a_static_token_has_no_name_of_a_url() {
    let named = |name: &str| format!("[server.http]\ntokens = [{{ name = '{name}', env = 'A' }}]\n");
    Config::parse(&named("ci:me/all")).expect("valid");
    let wrong = error(&named("https://login.example#alice"));
    assert!(wrong.to_string().contains("server.http.tokens.name: a name must not contain \"://\""), "{wrong}");
}

#[test]
fn files_of_client_secrets_are_private() {
    let text = issuers("introspection = { client-id = 'w', client-secret = { file = '/etc/wharf/secret' } }");
    let config = Config::parse(&text).expect("valid");
    let private = config.private_files();
    assert!(private.iter().any(|file| file.path.ends_with("wharf/secret")), "{}", private.len());
}

/// Of docs/identity.md.
#[test]
fn the_examples_for_authorization_servers_are_valid() {
    let page = include_str!("../../../../docs/identity.md");
    let examples: Vec<&str> = page.split("```").filter_map(|block| block.strip_prefix("toml\n")).collect();
    assert!(examples.len() > 5, "{}", examples.len());
    for example in examples {
        let config = Config::parse(example).unwrap_or_else(|error| panic!("{error}: {example}"));
        assert!(config.server.http.oauth.is_some(), "{example}");
    }
}
