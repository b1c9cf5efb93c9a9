use std::sync::Arc;

use serde_json::{Value, json};

use super::{Accepted, Condition, Implications, Item, Named, Pattern, Permissions, Rights, Rule, Verdict};
use crate::identity::{AccessGrant, Claims, Identity};

fn pattern(text: &str) -> Pattern {
    Pattern::new(text).expect("a pattern")
}

fn pairs(texts: &[&str]) -> Vec<(Pattern, Pattern)> {
    let pair = |text: &&str| text.split_once('/').map(|(plugin, name)| (pattern(plugin), pattern(name)));
    texts.iter().map(pair).collect::<Option<_>>().expect("PLUGIN/NAME")
}

fn person(scopes: &[&str], groups: &[&str], claims: Value) -> Identity {
    let Value::Object(claims) = claims else { panic!("claims are an object") };
    let boxed = |texts: &[&str]| texts.iter().map(|text| (*text).into()).collect();
    let (scopes, groups) = (boxed(scopes), boxed(groups));
    let nobody = AccessGrant::of("https://id.example", "ada");
    Identity::subject(AccessGrant {
        client: Some("cli".into()),
        scopes,
        groups,
        claims: Claims::new(&claims),
        ..nobody
    })
}

fn scope(scopes: &[&str]) -> Condition {
    let split = |text: &&str| text.split(' ').map(Into::into).collect();
    Condition { scopes: scopes.iter().map(split).collect(), ..Condition::default() }
}

fn rule(name: &str, when: Condition, what: Named) -> Rule {
    Rule { name: name.into(), when, denies: false, ask: None, what }
}

fn tools(texts: &[&str]) -> Named {
    Named { tools: pairs(texts), ..Named::default() }
}

fn rights(rules: Vec<Rule>) -> Arc<Rights> {
    Arc::new(Rights { otherwise: false, rules, ..Rights::default() })
}

fn lists(permissions: &Permissions, plugin: &str, item: Item<'_>) -> bool {
    permissions.shows(&permissions.verdict(plugin, item))
}

#[test]
fn without_rules_everything_is_allowed() {
    let permissions = Arc::new(Rights::default()).of(&Identity::local());
    assert!(
        permissions.is_open()
            && permissions.allows("notes", Item::Tool("add"))
            && lists(&permissions, "notes", Item::Rest)
    );
    let nothing = rights(Vec::new()).of(&Identity::local());
    assert!(!nothing.is_open() && !nothing.allows("notes", Item::Tool("add")) && !nothing.allows("notes", Item::Rest));
}

#[test]
fn patterns_match_whole_names() {
    for (text, matching, other) in [
        ("add", vec!["add"], vec!["", "adds", "Add", "xadd"]),
        ("*", vec!["", "anything"], vec![]),
        ("get_*", vec!["get_", "get_all"], vec!["get", "forget_all"]),
        ("*_all", vec!["get_all"], vec!["get_all_of"]),
        ("a*b*c", vec!["abc", "axxbxxc", "abbcc"], vec!["ac", "acb", "ab"]),
        ("ab*ba", vec!["abba", "abxba"], vec!["aba"]),
    ] {
        matching.iter().for_each(|name| assert!(pattern(text).matches(name), "{text} {name}"));
        other.iter().for_each(|name| assert!(!pattern(text).matches(name), "{text} {name}"));
    }
    assert!(
        Pattern::new("").is_err() && Pattern::new(&"a".repeat(1025)).is_err() && Pattern::new("*********").is_err()
    );
    assert!(Pattern::new(&"a".repeat(1024)).is_ok() && Pattern::new("********").is_ok());
}

#[test]
fn the_time_of_a_match_is_linear() {
    let (text, hostile) = (pattern("*a*a*a*a*a*a*a*b"), "a".repeat(1 << 20));
    let start = std::time::Instant::now();
    assert!(!text.matches(&hostile));
    assert!(start.elapsed().as_secs() < 1, "{:?}", start.elapsed());
}

#[test]
fn a_rule_that_denies_overrides_those_that_allow() {
    let deny = Rule { denies: true, ..rule("no deletion", Condition::default(), tools(&["notes/delete*"])) };
    let all = Named { plugins: vec![pattern("notes")], ..Named::default() };
    let permissions = rights(vec![deny, rule("notes", Condition::default(), all)]).of(&Identity::token("ci"));
    assert_eq!(permissions.verdict("notes", Item::Tool("add")), Verdict::Allowed(Some("notes")));
    let denied = Verdict::Denied { rule: Some("no deletion"), scopes: &[] };
    assert_eq!(permissions.verdict("notes", Item::Tool("delete_all")), denied);
    assert!(permissions.allows("notes", Item::Rest) && !permissions.allows("other", Item::Tool("add")));
}

#[test]
fn no_scope_is_named_that_would_be_denied_again() {
    let deny = Rule { denies: true, ..rule("not these", scope(&["write"]), tools(&["notes/delete"])) };
    let all = Named { plugins: vec![pattern("notes")], ..Named::default() };
    let access = rights(vec![rule("writers", scope(&["write"]), all), deny]).of(&person(&[], &[], json!({})));
    assert_eq!(access.verdict("notes", Item::Tool("delete")), Verdict::Denied { rule: None, scopes: &[] });
    let add = Verdict::Denied { rule: None, scopes: &["write".into()] };
    assert_eq!(access.verdict("notes", Item::Tool("add")), add);
}

#[test]
fn an_exception_is_for_its_own_rule() {
    let all = Named { plugins: vec![pattern("notes")], except: pairs(&["notes/delete*"]), ..Named::default() };
    let staff = rule("staff", Condition::default(), all);
    let access = rights(vec![staff, rule("deleters", scope(&["delete"]), tools(&["notes/delete"]))]);
    let (ada, bob) = (person(&[], &[], json!({})), person(&["delete"], &[], json!({})));
    assert!(access.of(&ada).allows("notes", Item::Tool("add")) && access.of(&ada).allows("notes", Item::Rest));
    let denied = Verdict::Denied { rule: None, scopes: &["delete".into()] };
    assert_eq!(access.of(&ada).verdict("notes", Item::Tool("delete")), denied);
    assert!(!access.of(&bob).allows("notes", Item::Tool("delete_all")));
    assert!(access.of(&bob).allows("notes", Item::Tool("delete")));
}

#[test]
fn each_part_of_a_condition_must_hold() {
    let claims = json!({ "org": { "id": "acme" }, "https://acme.example/plan": "pro", "level": 3, "email": "ada@acme.example", "roles": ["x", "y"] });
    let ada = person(&["notes:read"], &["staff", "editors"], claims);
    let path = |text: &str| -> Box<str> { text.into() };
    let text = |path_of: &str, value: &str| (path(path_of), vec![Accepted::Text(pattern(value))]);
    let number = |value: u32| vec![(path("level"), vec![Accepted::Scalar(json!(value))])];
    let claims = |claims: Vec<_>| Condition { claims, ..Condition::default() };
    let holds = [
        Condition { groups: vec![pattern("admins"), pattern("edit*")], ..Condition::default() },
        Condition {
            subjects: vec![pattern("ada")],
            issuers: vec![pattern("https://id.example")],
            ..Condition::default()
        },
        Condition { names: vec![pattern("https://id.example#ada")], ..Condition::default() },
        Condition { clients: vec![pattern("cli")], ..scope(&["notes:read"]) },
        scope(&["notes:write", "notes:read"]),
        claims(vec![
            text("org.id", "acme"),
            text("https://acme.example/plan", "pro"),
            text("email", "*@acme.example"),
            text("roles", "y"),
        ]),
        claims(number(3)),
    ];
    let fails = [
        Condition { groups: vec![pattern("admins")], ..Condition::default() },
        Condition {
            subjects: vec![pattern("ada")],
            issuers: vec![pattern("https://id.example/")],
            ..Condition::default()
        },
        Condition { names: vec![pattern("ada")], ..Condition::default() },
        Condition { subjects: vec![pattern("https://id.example#ada")], ..Condition::default() },
        Condition { clients: vec![pattern("web")], ..scope(&["notes:read"]) },
        Condition { tokens: vec![pattern("*")], ..Condition::default() },
        scope(&["notes:read notes:write"]),
        claims(vec![text("org.id", "acme"), text("org.id.x", "*")]),
        claims(vec![text("org", "*")]),
        claims(vec![text("absent", "*")]),
        claims(number(4)),
    ];
    for (conditions, expected) in [(Vec::from(holds), true), (Vec::from(fails), false)] {
        for condition in conditions {
            let shown = format!("{condition:?}");
            let permissions = rights(vec![rule("it", condition, tools(&["notes/*"]))]).of(&ada);
            assert_eq!(permissions.allows("notes", Item::Tool("add")), expected, "{shown}");
        }
    }
}

#[test]
fn tokens_have_names_and_no_scopes() {
    let named = Condition { tokens: vec![pattern("ci")], ..Condition::default() };
    let rights = rights(vec![
        rule("ci", named, tools(&["text/*"])),
        rule("readers", scope(&["notes:read"]), tools(&["notes/*"])),
    ]);
    let ci = rights.of(&Identity::token("ci"));
    assert!(
        ci.allows("text", Item::Tool("diff")) && !rights.of(&Identity::token("dev")).allows("text", Item::Tool("diff"))
    );
    assert_eq!(ci.verdict("notes", Item::Tool("add")), Verdict::Denied { rule: None, scopes: &[] });
}

#[test]
fn the_fewest_scopes_that_help_are_named() {
    let other = Condition { groups: vec![pattern("admins")], ..scope(&["admin"]) };
    let mut all = Rights {
        otherwise: false,
        rules: vec![
            rule("admins", other, tools(&["notes/*"])),
            rule("both", scope(&["notes:read notes:write"]), tools(&["notes/*"])),
            rule("add", scope(&["notes:add"]), tools(&["notes/add"])),
        ],
        ..Rights::default()
    };
    let ada = person(&["notes:read"], &[], json!({}));
    let permissions = Arc::new(Rights { shows_more: true, ..all }).of(&ada);
    let Verdict::Denied { rule: None, scopes } = permissions.verdict("notes", Item::Tool("add")) else {
        panic!("allowed")
    };
    assert_eq!(scopes, ["notes:add".into()]);
    let Verdict::Denied { rule: None, scopes } = permissions.verdict("notes", Item::Tool("get")) else {
        panic!("allowed")
    };
    // Also the one that it has: a challenge names all that the operation needs.
    assert_eq!(scopes, ["notes:read".into(), "notes:write".into()]);
    assert!(lists(&permissions, "notes", Item::Tool("get")) && !lists(&permissions, "text", Item::Tool("diff")));
    all = Rights { otherwise: false, rules: Vec::new(), ..Rights::default() };
    assert!(!lists(&Arc::new(all).of(&ada), "notes", Item::Tool("get")));
}

#[test]
fn scopes_may_include_others_also_in_a_circle() {
    let implied = [("admin", vec!["write"]), ("write", vec!["read", "admin"])];
    let implied =
        implied.into_iter().map(|(scope, others)| (scope.into(), others.into_iter().map(Into::into).collect()));
    let rights = Arc::new(Rights {
        otherwise: false,
        implied: Implications(implied.collect()),
        rules: vec![rule("readers", scope(&["read"]), tools(&["notes/*"]))],
        ..Rights::default()
    });
    assert!(rights.of(&person(&["admin"], &[], json!({}))).allows("notes", Item::Tool("get")));
    assert!(!rights.of(&person(&["other"], &[], json!({}))).allows("notes", Item::Tool("get")));
}

/// A plugin may take other spellings for the same URI, so a rule must not be evaded by one.
#[test]
fn a_uri_is_allowed_in_all_its_forms_and_denied_in_each() {
    let resources = |text: &str| Named { resources: vec![pattern(text)], ..Named::default() };
    let public =
        rights(vec![rule("public", Condition::default(), resources("notes:///public/*"))]).of(&Identity::local());
    assert!(public.allows("notes", Item::Resource("notes:///public/a%20b")));
    let deny = Rule { denies: true, ..rule("secret", Condition::default(), resources("notes:///secret/*")) };
    let all = Arc::new(Rights { rules: vec![deny], ..Rights::default() }).of(&Identity::local());
    assert!(all.allows("notes", Item::Resource("notes:///public/a")));
    for path in [
        "public/../secret/a",
        "public/%2e%2e/secret/a",
        "public/..%2fsecret/a",
        "public/%2E%2E%5csecret/a",
        "public/x/../../%73ecret/a",
    ] {
        let uri = format!("notes:///{path}");
        assert!(!public.allows("notes", Item::Resource(&uri)), "{uri}");
        assert!(!all.allows("notes", Item::Resource(&uri)), "{uri}");
    }
    for evasion in ["notes:///%73ecret/a", "NOTES:///secret/a", "notes:///./secret/a", "notes:///secret/a b", ""] {
        assert!(!all.allows("notes", Item::Resource(evasion)), "{evasion}");
    }
    assert!(!public.allows("notes", Item::Resource("notes:///public/a b")));
    assert!(public.allows("notes", Item::Template("notes:///public/{id}")));
    assert!(!public.allows("notes", Item::Template("notes:///{id}")));
}
