//! Secrets of which each user has their own.

use std::fs;
use std::path::Path;

use super::error;
use crate::config::Config;
use crate::identity::{AccessGrant, Identity};

fn person(issuer: &str, subject: &str) -> Identity {
    Identity::subject(AccessGrant::of(issuer, subject))
}

fn issuers(count: usize) -> String {
    let issuers: Vec<String> = (0..count).map(|at| format!("{{ issuer = 'https://{at}.example' }}")).collect();
    format!("[server.http.oauth]\nresource = 'https://tools.example/mcp'\nissuers = [{}]\n", issuers.join(", "))
}

#[test]
fn places_are_of_one_user_each() {
    let config = "[secrets]\nf = { file = '/s/{issuer}/{subject}.key', per = 'subject' }\n\
        e = { env = 'KEY_{issuer}_{subject}', per = 'subject' }\n";
    let config = Config::parse(&format!("{}{config}", issuers(2))).expect("valid");
    let place = |name: &str, who: &Identity| config.secrets[name].place_of(&config, who).expect("one").to_string();
    let bob = person("https://0.example", "bob");
    assert_eq!(place("f", &bob), "/s/https%3A%2F%2F0.example/bob.key");
    assert_eq!(place("e", &bob), "variable KEY__68747470733A2F2F302E6578616D706C65_BOB");
    let ci = Identity::token("ci");
    assert_eq!((place("f", &ci), place("e", &ci)), ("/s/@/@ci.key".into(), "variable KEY_NONE_TOKEN_CI".into()));
    // What looks like the other placeholder is text of a subject.
    assert_eq!(place("f", &person("https://0.example", "{issuer}")), "/s/https%3A%2F%2F0.example/%7Bissuer%7D.key");
    let long = config.secrets["f"].place_of(&config, &person("https://0.example", &"A".repeat(67)));
    assert_eq!(long, Err("has no file for this user, whose name is too long for it".into()));
}

#[test]
fn a_pattern_that_two_could_share_is_an_error() {
    let refused = |count: usize, secrets: &str| error(&format!("{}[secrets]\n{secrets}\n", issuers(count))).to_string();
    for (secret, why) in [
        ("a = { file = 's/{subject}' }", "each user has their own"),
        ("a = { file = 's/x', per = 'subject' }", "must have {subject} once"),
        ("a = { file = 's/{subject}/{subject}', per = 'subject' }", "must have {subject} once"),
        ("a = { file = 's/{sub}/{subject}', per = 'subject' }", "no other braces"),
        ("a = { file = '{subject}', per = 'subject' }", "must be in a folder"),
        ("a = { file = 's/{issuer}-{subject}', per = 'subject' }", "a folder of its own"),
        ("a = { file = 's/{subject}', per = 'subject' }\nb = { file = 's/b' }", "the secret 'b' is in the same folder"),
        (
            "a = { file = 's/{subject}', per = 'subject' }\nb = { file = 's/{subject}.b', per = 'subject' }",
            "has the same folder",
        ),
        ("a = { env = '{subject}', per = 'subject' }", "must be capitals"),
        ("a = { env = 'KEY{subject}', per = 'subject' }", "must be capitals"),
        ("a = { env = 'key_{subject}', per = 'subject' }", "must be capitals"),
        ("a = { env = 'A_{issuer}{subject}', per = 'subject' }", "must be capitals"),
        ("a = { env = 'KEY_{subject}', per = 'subject' }\nb = { env = 'KEY_B' }", "could be the variable KEY_B"),
        (
            "a = { env = 'KEY_{subject}', per = 'subject' }\nb = { env = 'KEY_TOKEN_{subject}', per = 'subject' }",
            "and one could be the other",
        ),
    ] {
        let shown = refused(1, secret);
        assert!(shown.contains(why), "{secret}: {shown}");
    }
    for secret in ["a = { file = 's/{subject}', per = 'subject' }", "a = { env = 'KEY_{subject}', per = 'subject' }"] {
        assert!(Config::parse(&format!("{}[secrets]\n{secret}\n", issuers(1))).is_ok(), "{secret}");
        assert!(refused(2, secret).contains("two of 2 issuers may have users of the same name"), "{secret}");
    }
    // Only `[secrets]` are of users.
    let key = error("[server]\nstate-key = { file = 's/{subject}', per = 'subject' }\n").to_string();
    assert!(key.contains("unknown key `per`"), "{key}");
}

#[test]
fn each_user_gets_their_own_value_and_nobody_anothers() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |below: &str| folder.path().join(below);
    fs::create_dir(at("own")).expect("a folder");
    fs::write(at("bob"), "above").expect("a file");
    for (name, value) in [("bob", "of-bob"), ("%42OB", "of-BOB"), ("@ci", "of-ci"), ("@local", "of-local")] {
        fs::write(at("own").join(name), value).expect("a file");
    }
    let text = "[secrets]\nkey = { file = 'own/{subject}', per = 'subject' }\n[plugins.a.grants]\nsecrets = ['key']\n";
    let config = Config::with_text(&at("wharf.toml"), text.into()).expect("valid");
    let value = |who: &Identity| config.secret_of("key", who).map_err(|missing| missing.why);
    let of = |subject: &str| value(&person("https://0.example", subject));
    assert_eq!(of("bob").as_deref(), Ok("of-bob"));
    assert_eq!(value(&Identity::token("ci")).as_deref(), Ok("of-ci"));
    assert_eq!(value(&Identity::local()).as_deref(), Ok("of-local"));
    // By the rule its name would be `%42%4F%42`.
    for stranger in
        ["../bob", "bob/", "./bob", "BOB", "@ci", "ci", "local", "..", "b\u{43e}b", "bob\0", "%62ob", &"b".repeat(255)]
    {
        let why = of(stranger).expect_err(stranger);
        let (outline, place) = why.split_once(": ").unwrap_or((&why, ""));
        assert!(!outline.contains("own"), "callers are told no path: {why}");
        assert!(place.contains(&*at("own").to_string_lossy()) || outline.contains("too long"), "{why}");
    }
    // A folder that is granted must not have them, nor be one of them.
    let private = config.private_files();
    let own: Vec<_> = private.iter().filter(|file| file.is_folder).map(|file| file.path.as_path()).collect();
    assert_eq!(own, [Path::new(&at("own"))]);
    assert!(config.unreadable_secrets().is_empty());
}

#[test]
fn exchanges_are_of_one_issuer_and_never_readable() {
    let exchange = |more: &str| {
        format!("[secrets]\nup = {{ exchange = {{ client-id = 'wharf', client-secret = {{ env = 'S' }}{more} }} }}\n")
    };
    let refused = |text: String| error(&text).to_string();
    assert!(refused(exchange("")).contains("users have no tokens without server.http.oauth"));
    assert!(refused(issuers(2) + &exchange("")).contains("must say which of several issuers"));
    for (more, why) in [
        (", issuer = 'https://9.example'", "there is no such issuer"),
        (", endpoint = 'http://0.example/token'", "not an https URI"),
        (", audience = ''", "must have 1 to 512 bytes"),
        (", scope = 'a  b'", "not scopes"),
    ] {
        assert!(refused(issuers(1) + &exchange(more)).contains(why), "{more}");
    }
    let both = exchange("").replace("} } }", "} }, env = 'X' }");
    assert!(refused(issuers(1) + &both).contains("has no other source"), "{both}");
    for grants in ["secrets = ['up']", "env = { UP = '${up}' }"] {
        let why = refused(format!("{}{}[plugins.a.grants]\n{grants}\n", issuers(1), exchange("")));
        assert!(why.contains("\"up\" is a token of the user, which no plugin gets"), "{why}");
    }
    let http =
        "[plugins.a.grants]\nhttp = [{ url = 'https://a.example', headers = { Authorization = 'Bearer ${up}' } }]\n";
    let config = Config::parse(&format!("{}{}{http}", issuers(1), exchange(""))).expect("valid");
    assert!(config.has_exchanges() && config.unreadable_secrets().is_empty());
    assert_eq!(config.exchange("up").expect("one").issuer(&config), "https://0.example");
    let two = Config::parse(&(issuers(2) + &exchange(", issuer = 'https://1.example'"))).expect("valid");
    assert_eq!(two.exchange("up").expect("one").issuer(&two), "https://1.example");
}
