//! `[[plugins.NAME.extra]]`: what is accepted, and what each caller gets of it.

use super::*;
use crate::identity::{AccessGrant, Identity};
use crate::plugin::{Access, FolderMode, Grants, SecretTemplate};

fn with_scopes(scopes: &[&str]) -> Identity {
    let scopes = scopes.iter().map(|scope| (*scope).into()).collect();
    Identity::subject(AccessGrant { scopes, ..AccessGrant::of("https://login.example", "ada") })
}

fn grants(text: &str) -> Grants {
    Config::parse(text).expect("valid").grants(&PluginId::parse("notes").expect("a name"))
}

fn of(grants: &Grants, who: &Identity) -> Grants {
    grants.with_extras(grants.extras.holding(Some(who)))
}

fn refused(entry: &str) -> String {
    let error = Config::parse(&format!("[[plugins.notes.extra]]\n{entry}\n")).expect_err(entry);
    format!("{error}; {}", error.hint.clone().unwrap_or_default())
}

#[test]
fn a_later_entry_applies_where_two_say_something_of_the_same() {
    let all = grants(
        "[plugins.notes.grants]\nenv = { A = 'all', B = 'all' }\nconfig = { c = 'all' }\nkeyvalue = true\n\
         http = ['https://a.example']\nfs = [{ host = '/x', guest = '/x' }, { host = '/y', guest = '/y' }]\n\
         [[plugins.notes.extra]]\nwhen = { scope = 'one' }\n\
         grants = { env = { A = 'one', C = 'one' }, keyvalue = { quota = '2 MiB' }, elicit = true, \
         fs = [{ host = '/x', guest = '/x', mode = 'write' }] }\n\
         [[plugins.notes.extra]]\nwhen = { scope = 'two' }\n\
         grants = { env = { A = 'two' }, config = { c = 'two' }, roots = true, \
         http = [{ url = 'https://a.example', methods = ['POST'] }] }\n",
    );
    let env = |scopes: &[&str]| of(&all, &with_scopes(scopes)).env;
    let pairs = |pairs: &[(&str, &str)]| -> Vec<(String, SecretTemplate)> {
        let parsed = |text: &str| SecretTemplate::parse(text).expect("a text");
        pairs.iter().map(|(name, value)| ((*name).to_owned(), parsed(value))).collect()
    };
    assert_eq!(env(&[]), pairs(&[("A", "all"), ("B", "all")]));
    assert_eq!(env(&["one"]), pairs(&[("B", "all"), ("A", "one"), ("C", "one")]));
    assert_eq!(env(&["one", "two"]), pairs(&[("B", "all"), ("C", "one"), ("A", "two")]));
    let both = of(&all, &with_scopes(&["two", "one"]));
    assert_eq!(both.keyvalue.map(|grant| grant.quota), Some(2 << 20));
    assert!(both.elicit && both.roots && !both.sample);
    assert_eq!(both.config, [("c".to_owned(), "two".to_owned())]);
    let folders: Vec<(&str, bool)> =
        both.folders.iter().map(|folder| (folder.guest.as_str(), folder.mode == FolderMode::Read)).collect();
    assert_eq!(folders, [("/y", true), ("/x", false)]);
    // The first entry that covers a request decides on it.
    assert!(both.http[0].to_string().contains("POST"), "{:?}", both.http);
    assert_eq!(both.http.len(), 2);
    // Nobody has all of them.
    assert!(!all.allow(Access::Elicit) && all.kinds().contains(&Access::Elicit));
    assert!(all.texts().contains("roots") && both.extras.all().is_empty());
    assert_eq!(all.none().texts().len(), 0);
}

#[test]
fn an_entry_is_for_nobody_else() {
    let all = grants(
        "[server.http]\ntokens = [{ name = 'ci', env = 'CI' }]\n\
         [[plugins.notes.extra]]\nwhen = { scope = 'one two' }\ngrants = { elicit = true }\n\
         [[plugins.notes.extra]]\nwhen = { token = 'ci' }\ngrants = { sample = true }\n\
         [rights]\ndefault = 'everything'\nscopes = { all = ['one', 'two'] }\n",
    );
    let has = |who: &Identity| {
        let own = of(&all, who);
        (own.elicit, own.sample)
    };
    assert_eq!(has(&with_scopes(&["one", "two"])), (true, false));
    assert_eq!(has(&with_scopes(&["all"])), (true, false));
    for scopes in [&[][..], &["one"], &["two"], &["ci"], &["one two"]] {
        assert_eq!(has(&with_scopes(scopes)), (false, false), "{scopes:?}");
    }
    assert_eq!(has(&Identity::token("ci")), (false, true));
    assert_eq!(has(&Identity::local()), (false, false));
    let host = all.with_extras(all.extras.holding(None));
    assert!(!host.elicit && !host.sample);
}

#[test]
fn what_is_no_entry_is_an_error() {
    for (entry, why) in [
        ("grants = { elicit = true }", "plugins.notes.extra.when: needs a condition"),
        ("when = {}\ngrants = { elicit = true }", "plugins.notes.extra.when: needs a condition"),
        ("when = { scope = 'a' }", "plugins.notes.extra: gives nothing; write grants or limits"),
        ("when = { scope = 'a' }\ngrants = { change-lists = true }", "it has the same lists for all callers"),
        (
            "when = { scope = 'a' }\nlimits = { concurrency = 2 }",
            "extra.limits.concurrency: is of all calls of the plugin",
        ),
        ("when = { scope = 'a' }\nlimits = { queue = 2 }", "extra.limits.queue: is of all calls of the plugin"),
        ("when = { scope = 'a' }\nlimits = { memory = '1 GiB' }", "is over the maximum of 256.0 MiB"),
        (
            "when = { issuer = 'https://a.example' }\ngrants = { elicit = true }",
            "extra.when.issuer: there is no such issuer",
        ),
        ("when = { scope = 'a' }\ngrants = { keyvalue = false }", "extra.grants.keyvalue: must not be false"),
        ("when = { scope = 'a' }\nname = 'a, b'\ngrants = { elicit = true }", "extra.name: must have no comma"),
        (
            "when = { scope = 'a' }\nlimits = { elicit = true }",
            "it is a grant: write it in grants = { … } of the entry",
        ),
        (
            "when = { scope = 'a' }\ngrants = { timeout = '1s' }",
            "it is a limit: write it in limits = { … } of the entry",
        ),
        ("when = { scope = 'a' }\nlimits = { mem = '1 MiB' }", "did you mean `memory`?"),
        ("grants = { when = { scope = 'a' } }", "it belongs beside grants: when = "),
        ("when = { scope = 'a' }\nplugins = ['notes']", "an entry is for the plugin in its header"),
        ("when = { scope = '' }\ngrants = { elicit = true }", "extra.when.scope: must not be empty"),
        (
            "when = { scope = 'a' }\ngrants = { secrets = ['x'] }",
            "extra.grants.secrets: there is no such secret: \"x\"",
        ),
        (
            "when = { scope = 'a' }\ngrants = { fs = [{ host = 'a', guest = 'a' }] }",
            "extra.grants.fs.guest: must be an absolute",
        ),
        ("when = { scope = 'a' }\nname = ''\ngrants = { elicit = true }", "extra.name: must be 1 to 100 bytes"),
        ("when = { scope = 'a' }\nkeyvalue = true", "it is a grant: write it in grants = { … }"),
        ("when = { scope = 'a' }\ntimeout = '2m'", "it is a limit: write it in limits = { … }"),
        ("scope = 'a'\ngrants = { elicit = true }", "it is a condition: when = "),
        ("when = { scopes = 'a' }\ngrants = { elicit = true }", "did you mean `scope`?"),
        ("when = { scope = 'a' }\ngrants = { kv = true }", "did you mean `keyvalue`?"),
    ] {
        let found = refused(entry);
        assert!(found.contains(why), "{entry}: {found}");
    }
    let entry = "[[plugins.notes.extra]]\nwhen = { scope = 'a' }\ngrants = { elicit = true }\n";
    Config::parse(&entry.repeat(8)).expect("valid");
    let many = Config::parse(&entry.repeat(9)).expect_err("too many").to_string();
    assert!(many.contains("plugins.notes.extra: must have at most 8 entries"), "{many}");
    let named = entry.replace("when", "name = 'x'\nwhen").repeat(2);
    assert!(Config::parse(&named).expect_err("twice").to_string().contains("two entries have the name \"x\""));
    // A value may be a secret.
    let shown = refused("when = { scope = 'a' }\ngrants = { env = { A = ['S3CRET'] } }");
    assert!(!shown.contains("S3CRET"), "{shown}");
    let folder = |name: &str| format!("{{ host = '/h', guest = '/{name}', mode = 'write', per = 'subject' }}");
    let own = format!("[plugins.notes.grants]\nfs = [{}, {}]\n", folder("a"), folder("b"));
    let extra = |names: &[&str]| {
        let folders: Vec<String> = names.iter().map(|name| folder(name)).collect();
        format!("[[plugins.notes.extra]]\nwhen = {{ scope = 'a' }}\ngrants = {{ fs = [{}] }}\n", folders.join(", "))
    };
    Config::parse(&format!("{own}{}", extra(&["a", "c", "d"]))).expect("four in all");
    let many = Config::parse(&format!("{own}{}{}", extra(&["c"]), extra(&["d", "e"]))).expect_err("five").to_string();
    assert!(many.contains("extra.grants.fs.per: a plugin may have at most 4 folders of each user"), "{many}");
}
