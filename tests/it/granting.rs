//! `wharf grant` and `wharf ungrant`: the configuration is edited with its comments, and hints name the command.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Output;

use serde_json::{Value, json};

use crate::support::client::Client;
use crate::support::guest::Guest;
use crate::support::home::Home;
use crate::support::process::{run, run_hint};
use crate::terminal::at_terminal;

fn file(home: &Home) -> PathBuf {
    home.path("config/wharf/wharf.toml")
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).expect("the configuration")
}

fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn call(home: &Home, words: &[&str]) -> Output {
    let folder = home.plugins();
    let add = ["call".as_ref(), folder.as_os_str(), "notes_add".as_ref(), r#"{"text":"milk"}"#.as_ref()];
    run(home, words.iter().map(AsRef::as_ref).chain(add))
}

#[test]
fn the_command_in_the_hint_of_a_denial_grants_it_in_a_new_file() {
    let home = Home::with(&["notes"]);
    fs::remove_dir_all(home.path("config/wharf")).expect("the configuration's folder");
    let denied = err(&call(&home, &[]));
    let command = format!("or run: wharf grant notes {} keyvalue", home.plugins().display());
    assert!(denied.contains(&command), "{denied}");
    let granted = run_hint(&home, &denied, "or run:");
    assert!(granted.status.success(), "{}", err(&granted));
    assert!(err(&granted).contains("  + keyvalue = true"), "{}", err(&granted));
    assert_eq!(read(&file(&home)), "[plugins.notes.grants]\nkeyvalue = true\n");
    let mode = |path: &Path| fs::metadata(path).expect("it is there").permissions().mode() & 0o777;
    assert_eq!((mode(&file(&home)), mode(&home.path("config/wharf"))), (0o600, 0o700));
    assert!(call(&home, &[]).status.success());

    // Under another configuration the hint names that one.
    let other = home.path("config/other.toml");
    fs::write(&other, "# mine\n").expect("a file");
    fs::set_permissions(&other, fs::Permissions::from_mode(0o640)).expect("its mode");
    let words = ["--config", other.to_str().expect("UTF-8")];
    let granted = run_hint(&home, &err(&call(&home, &words)), "or run:");
    assert!(granted.status.success(), "{}", err(&granted));
    assert_eq!((read(&other).contains("keyvalue = true"), mode(&other)), (true, 0o640));
    assert!(call(&home, &words).status.success());
}

#[test]
fn a_request_s_hint_grants_its_url() {
    let home = Home::with(&["online"]);
    let folder = home.plugins();
    let fetch = r#"{"url":"http://127.0.0.1:9/x"}"#;
    let words = ["call".as_ref(), folder.as_os_str(), "online_fetch".as_ref(), fetch.as_ref()];
    let denied = err(&run(&home, words));
    let entry = r#"http={ url = "http://127.0.0.1:9", private = true }"#;
    let command = format!("or run: wharf grant online {} '{entry}'", folder.display());
    assert!(denied.contains(&command), "{denied}");
    assert!(run(&home, ["grant", "online", entry, "--yes"]).status.success());
    assert!(
        read(&file(&home))
            .ends_with(&format!("[plugins.online.grants]\n{}\n", entry.replacen("http=", "http = [", 1) + "]"))
    );
}

#[test]
fn nothing_is_written_without_an_answer_or_when_it_is_invalid() {
    let home = Home::with(&["notes"]);
    home.configure("# end\n[secrets]\napi = { env = \"API\" }\n");
    let before = read(&file(&home));
    let folder = home.plugins();
    let words = ["grant".as_ref(), "notes".as_ref(), folder.as_os_str(), "keyvalue".as_ref()];
    let output = run(&home, words);
    assert_eq!(output.status.code(), Some(2), "{}", err(&output));
    assert!(err(&output).contains("+ keyvalue = true") && err(&output).contains("--yes"), "{}", err(&output));
    let asked = "Write this change of the grants of notes?";
    let declined = at_terminal(&home, &words, |person| person.sees(asked, "n"));
    assert_eq!(declined.status.code(), Some(1));
    for (words, why) in [
        (&["grant", "notes", "http=ftp://x", "--yes"][..], "grants: plugins.notes.grants.http: not a URL for a grant"),
        (&["grant", "notes", "http=x.example", "--yes"], "hint: write 'http=https://x.example'"),
        (&["grant", "notes", "keyvalue=much", "--yes"], "hint: write it like keyvalue or keyvalue=4MiB"),
        (&["grant", "notes", "write=/srv/data:data", "--yes"], "hint: write 'write=/srv/data:/data'"),
        (&["grant", "notes", "keyvalu", "--yes"], "there is no grant \"keyvalu\"; did you mean keyvalue?"),
        (&["grant", "notes", "kv", "elicit", "--yes"], "there is no grant or folder \"kv\"; did you mean keyvalue?"),
        (&["grant", "notes", "elicit", "rw=./data", "--yes"], "there is no grant \"rw=./data\"; did you mean write?"),
        (
            &["grant", "notes", "read=$HOME/data", "--yes"],
            "a variable is not replaced in a path: \"$HOME/data\"; write \"~/data\"",
        ),
        (&["grant", "notes", "env=KEY=$api", "--yes"], "hint: for the secret write ${api}; for the text"),
        (&["grant", "notes", "env=KEY=${apj}", "--yes"], "hint: did you mean api? Otherwise define it"),
        (&["grant", "notes", "secrets=other", "--yes"], "there is no such secret"),
        (&["grant", "notes", "secrets=other", "--yes"], "under [secrets] in /"),
        (&["grant", "notes", "read=/", "--yes"], "a path for the plugin: read=/\nhint: write 'read=/:/data'"),
        (&["ungrant", "notes", "keyvalue", "--yes"], "has no grant \"keyvalue\"\nhint: it has no grants"),
        (&["grant", "no_tes!", "keyvalue", "--yes"], "plugin name"),
    ] {
        let output = run(&home, words);
        assert!(output.status.code() == Some(2) && err(&output).contains(why), "{words:?}: {}", err(&output));
    }
    assert_eq!(read(&file(&home)), before);
    let accepted = at_terminal(&home, &words, |person| person.sees(asked, "y"));
    assert!(accepted.status.success() && read(&file(&home)).contains("keyvalue = true"));
}

#[test]
fn a_denial_is_reported_once_with_its_hint() {
    let home = Home::with(&["notes", "online"]);
    let denied = call(&home, &[]);
    let (out, hint) = (String::from_utf8_lossy(&denied.stdout), err(&denied));
    assert!(out.contains("missing grant `keyvalue`"), "{out}");
    let file = file(&home);
    let place = format!("put `keyvalue = true` under `[plugins.notes.grants]` in {}", file.display());
    let folder = home.plugins();
    let command = format!("wharf grant notes {} keyvalue", folder.display());
    assert_eq!(hint, format!("hint: {place}, or run: {command}\n"));
    // Of one file, it is the folder of that.
    let plugin = home.plugin("notes");
    let denied = run(&home, ["call".as_ref(), plugin.as_os_str(), "notes_add".as_ref(), "text=milk".as_ref()]);
    assert!(err(&denied).contains(&command), "{}", err(&denied));
    // So has another plugin.
    home.configure("[plugins.other.grants]\nkeyvalue = true\n");
    assert!(err(&call(&home, &[])).starts_with(&format!("hint: {place}, or")), "{}", err(&call(&home, &[])));
    home.configure("");
    // A log that was asked for has it too.
    assert!(err(&call(&home, &["--log", "warn"])).contains("WARN access denied: missing grant `keyvalue`"));
    // The entries that are there stay in the line to write.
    home.configure("[plugins.online.grants]\nhttp = [\"https://a.example\"]\n");
    let fetch = r#"{"url":"http://127.0.0.1:9/x"}"#;
    let words = ["call".as_ref(), folder.as_os_str(), "online_fetch".as_ref(), fetch.as_ref()];
    let hint = err(&run(&home, words));
    let line = r#"http = ["https://a.example", { url = "http://127.0.0.1:9", private = true }]"#;
    assert!(hint.contains(&format!("put `{line}` under")) && hint.matches("denied").count() <= 1, "{hint}");
}

/// Before the question, with the reason that a server would log.
#[test]
fn a_grant_without_effect_is_reported_before_it_is_written() {
    let home = Home::with(&["folders", "online"]);
    fs::create_dir_all(home.path("home/.ssh")).expect("a folder");
    fs::create_dir_all(home.path("home/given/.aws")).expect("a folder");
    let folder = home.plugins();
    let plugins = folder.to_str().expect("UTF-8");
    let (keys, plain) = (home.path("home/.ssh"), home.path("home/given"));
    for (words, why) in [
        (
            &["folders", "read=~/.ssh"][..],
            format!("/.ssh of folders has no effect: {} is a credentials", keys.display()),
        ),
        (&["folders", "read=~/.gnupg"], "is a credentials folder; grant another folder".to_owned()),
        (&["folders", "write=~/given"], format!("{} has a credentials folder in it", plain.display())),
        (&["folders", plugins, &format!("read={plugins}:/own")], "/own of folders has no effect: ".to_owned()),
        (&["online", "http=http://10.0.0.5"], "\"http://10.0.0.5\" of online has no effect: the address".to_owned()),
        (&["online", "http=http://localhost:1/a"], "not public; to allow it, run: wharf grant online".to_owned()),
        (&["online", "http={ url = \"https://[fd00::1]\", methods = [\"PUT\"] }"], "[\"PUT\"], private".to_owned()),
    ] {
        let output = run(&home, ["grant"].iter().chain(words));
        let reported = err(&output);
        assert_eq!(output.status.code(), Some(2), "{words:?}: nobody was asked: {reported}");
        let messages = reported.find(&why).unwrap_or_else(|| panic!("{words:?}: no {why:?} in {reported}"));
        assert!(reported[..messages].contains("warning: ") && reported[messages..].contains("add --yes"), "{reported}");
    }
    let granted = run(&home, ["grant", "online", "http=http://localhost:1/a", "--yes"]);
    assert!(granted.status.success() && err(&granted).contains("has no effect"), "{}", err(&granted));
    let entry = r#"http={ url = "http://localhost:1/a", private = true }"#;
    assert!(err(&granted).contains(&format!("to allow it, run: wharf grant online '{entry}'\n")), "{}", err(&granted));
    let repaired = run(&home, ["grant", "online", entry, "--yes"]);
    assert!(repaired.status.success() && !err(&repaired).contains("has no effect"), "{}", err(&repaired));
    let text = read(&file(&home));
    assert!(text.ends_with("http = [{ url = \"http://localhost:1/a\", private = true }]\n"), "{text}");
}

#[test]
fn a_running_server_applies_grants_and_a_linked_file_stays_a_link() {
    let home = Home::with(&["notes"]);
    let real = home.path("config/real.toml");
    fs::rename(file(&home), &real).expect("it moves");
    symlink(&real, file(&home)).expect("a link");
    let mut client = Client::start_modern(&home);
    let denied = client.call("notes_list", json!({}));
    assert_eq!(denied["_meta"]["wharf/fault"]["code"], "denied", "{denied}");
    assert!(run(&home, ["grant", "notes", "keyvalue", "elicit", "--yes"]).status.success());
    client.process().log_with("settings reloaded");
    assert!(client.call("notes_list", json!({})).get("isError").is_none());
    assert!(fs::symlink_metadata(file(&home)).expect("the link").is_symlink() && read(&real).contains("keyvalue"));
    let output = run(&home, ["ungrant", "notes", "keyvalue", "--yes"]);
    assert!(output.status.success() && err(&output).contains("  - keyvalue = true"), "{}", err(&output));
    let text = read(&real);
    assert!(text.contains("[plugins.notes.grants]\nelicit = true\n") && !text.contains("keyvalue"), "{text}");
}

#[test]
fn a_folder_that_does_not_exist_is_reported() {
    let home = Home::with(&["folders"]);
    let data = home.path("home/data");
    let warning = format!("{} does not exist; create it: mkdir -p", data.display());
    let granted = run(&home, ["grant", "folders", "read=data", "--yes"]);
    assert!(granted.status.success() && err(&granted).contains(&warning), "{}", err(&granted));
    let status = || err(&run(&home, ["status".as_ref(), home.plugins().as_os_str()]));
    assert!(status().contains(&warning), "{}", status());
    fs::create_dir(data).expect("the folder");
    assert!(!status().contains("does not exist"), "{}", status());
}

/// With the reasons of `grant` and of a server, and without a server.
#[test]
fn status_warns_of_grants_without_effect() {
    let home = Home::with(&["folders", "online"]);
    fs::create_dir_all(home.path("home/.ssh")).expect("a folder");
    let (given, config) = (home.path("home/given"), home.path("config/wharf"));
    fs::create_dir_all(given.join(".aws")).expect("a folder");
    home.configure(
        "[plugins.folders.grants]\nfs = [{ host = \"~/.ssh\", guest = \"/keys\", mode = \"read\" }, \
         { host = \"~/given\", guest = \"/given\", mode = \"write\" }]\n\
         [plugins.online.grants]\nhttp = [\"http://10.0.0.5\", \"https://a.example\"]\nsecrets = [\"key\", \"set\"]\n\
         [secrets]\nkey = { env = \"WHARF_TEST_ABSENT\" }\nset = { file = \"set\" }\n",
    );
    fs::write(config.join("set"), "value").expect("a secret");
    let folder = home.plugins();
    let status = |more: &[&str]| {
        run(
            &home,
            [&["status".as_ref(), folder.as_os_str()], &*more.iter().map(AsRef::as_ref).collect::<Vec<_>>()].concat(),
        )
    };
    let reported = err(&status(&[]));
    let expected = [
        format!("/keys of folders has no effect: {} is a credentials folder; ", home.path("home/.ssh").display()),
        format!("/given of folders has no effect: {} has a credentials folder in it: .aws; ", given.display()),
        "\"http://10.0.0.5\" of online has no effect: the address is not public; to allow it, run: ".to_owned(),
        "the secret key of online is not set: variable WHARF_TEST_ABSENT; set its variable, then restart".to_owned(),
    ];
    for warning in &expected {
        assert!(reported.contains(warning), "no {warning:?} in {reported}");
    }
    assert_eq!([" of folders ", " of online "].map(|of| reported.matches(of).count()), [2, 2], "{reported}");
    let listed: Value = serde_json::from_slice(&status(&["--json"]).stdout).expect("JSON");
    let count = |plugin: usize| listed["plugins"][plugin]["warnings"].as_array().map(Vec::len);
    assert_eq!((count(0), count(1)), (Some(2), Some(2)), "{listed}");
}

/// A grant to an approved version needs no second approval.
#[test]
fn a_grant_extends_an_approval_that_holds() {
    let home = Home::new();
    home.put_bytes(&Guest::returning("1").described("act", "Does a thing.").build(), "p");
    home.configure("[server]\ntrust = \"strict\"\n");
    let folder = home.plugins();
    let approved = run(&home, ["approve".as_ref(), "p".as_ref(), folder.as_os_str(), "--yes".as_ref()]);
    assert!(approved.status.success(), "{}", err(&approved));
    let mut client = Client::start(&home);
    client.tools_until(|tools| tools.len() == 2);
    assert!(run(&home, ["grant", "p", "elicit", "--yes"]).status.success());
    client.process().log_with("settings reloaded");
    assert_eq!(client.text("p_version", json!({})), "1");
    client.finish();
    assert_eq!(Client::start(&home).text("p_version", json!({})), "1");
}

/// What was granted was for the version that was denied.
#[test]
fn a_version_that_takes_the_file_during_the_question_gets_no_grant() {
    let home = Home::with(&["notes"]);
    let folder = home.plugins();
    let words = ["call".as_ref(), folder.as_os_str(), "notes_add".as_ref(), "text=milk".as_ref()];
    let question = "Grant this to notes, and call again?";
    let output = at_terminal(&home, &words, |person| {
        person.reads_up_to(question);
        home.put_bytes(&Guest::returning("1").build(), "notes");
        person.sees("", "y");
        let reported = person.reads_up_to("hint: make the call again");
        assert!(reported.contains("its file was replaced by blake3:"), "{reported}");
        assert!(reported.contains("nothing was granted"), "{reported}");
    });
    assert!(!output.status.success() && output.stdout.is_empty(), "{output:?}");
    assert!(!read(&file(&home)).contains("keyvalue"));
    home.put("notes", "notes");
    let output = at_terminal(&home, &words, |person| person.sees(question, "y"));
    assert!(output.status.success() && read(&file(&home)).contains("keyvalue = true"), "{output:?}");
}

/// The same for an approval that the grant extends.
#[test]
fn a_version_that_is_revoked_during_the_question_gets_no_grant() {
    let home = Home::with(&["notes"]);
    let folder = home.plugins();
    let approved = run(&home, ["approve".as_ref(), "notes".as_ref(), folder.as_os_str(), "--yes".as_ref()]);
    assert!(approved.status.success(), "{}", err(&approved));
    let output = at_terminal(&home, &["grant", "notes", "keyvalue"].map(AsRef::as_ref), |person| {
        let shown = person.reads_up_to("Write this change of the grants of notes?");
        assert!(shown.contains("the approval of notes blake3:") && shown.contains("is extended by this"), "{shown}");
        assert!(run(&home, ["revoke", "notes"]).status.success());
        person.sees("", "y");
        person.reads_up_to("since the question, this version was revoked; nothing was granted");
    });
    assert_eq!(output.status.code(), Some(1));
    assert!(!read(&file(&home)).contains("keyvalue"));
}

#[test]
fn a_grant_that_leads_to_no_public_address_says_where() {
    let home = Home::with(&["notes"]);
    for (url, private, reach) in [
        ("https://169.254.169.254", true, Some("allows access to the metadata service of a cloud")),
        ("http://127.0.0.1:8080", true, Some("allows access to this machine itself")),
        ("http://10.1.2.3", true, Some("allows access to a private address")),
        ("https://inside.example", true, Some("allows access to whatever address this name has")),
        ("https://api.example", false, None),
    ] {
        let private = if private { ", private = true" } else { "" };
        let word = format!("http={{ url = \"{url}\"{private} }}");
        let reported = err(&run(&home, ["grant", "notes", &word]));
        assert!(reported.contains("ask for confirmation"), "{reported}");
        let shown = reported.lines().find(|line| line.contains(" allows access to "));
        assert_eq!(shown.is_some(), reach.is_some(), "{reported}");
        let shown = shown.unwrap_or_default();
        assert!(reach.is_none_or(|reach| shown.contains(reach) && shown.contains(url)), "{reported}");
    }
}

#[test]
fn changes_at_the_same_time_are_all_kept() {
    let home = Home::new();
    home.configure("");
    std::thread::scope(|scope| {
        for number in 0..8 {
            let home = &home;
            scope.spawn(move || {
                let word = format!("env=KEY{number}=x");
                let granted = run(home, ["grant", "notes", &word, "--yes"]);
                assert!(granted.status.success(), "{}", err(&granted));
            });
        }
    });
    let text = read(&file(&home));
    for number in 0..8 {
        assert!(text.contains(&format!("KEY{number} = ")), "{text}");
    }
}

#[test]
fn a_plugin_is_named_by_its_file_too_and_the_folder_before_or_behind_the_grants() {
    let home = Home::with(&["notes", "echo"]);
    let (folder, notes, echo) = (home.plugins(), home.plugin("notes"), home.plugin("echo"));
    let (folder, notes, echo) = (folder.as_os_str(), notes.as_os_str(), echo.as_os_str());
    let [grant, name, word, yes] = ["grant", "notes", "keyvalue", "--yes"].map(AsRef::as_ref);
    for words in [&[grant, notes, word, yes][..], &[grant, name, word, folder, yes], &[grant, name, notes, word, yes]] {
        let granted = run(&home, words.iter().copied());
        assert!(granted.status.success() && err(&granted).contains("+ keyvalue = true"), "{}", err(&granted));
        assert!(run(&home, ["ungrant", "notes", "keyvalue", "--yes"]).status.success());
    }
    let shown = home.plugins().display().to_string();
    let swapped =
        format!("is a folder\nhint: write the name first, then the folder: wharf grant notes {shown} keyvalue\n");
    let other = "that is another plugin's file\nhint: name one of the two: wharf grant ";
    for (words, expected) in [
        (&[grant, folder, name, word][..], swapped.as_str()),
        (&[grant, name, echo, word], other),
        (&[grant, notes, echo, word], other),
        (&[grant, name, folder, "elicit=yes".as_ref()], "takes no value: \"elicit=yes\"\nhint: write elicit\n"),
        (&[grant, name, folder, "keyvalue=4".as_ref()], "with its unit: keyvalue=4\nhint: write 'keyvalue=4MiB'\n"),
        (&[grant, name, folder, "fs=./data".as_ref()], "takes a table: fs=./data\nhint: write 'read=./data'\n"),
        (&[grant, name, folder, "http=".as_ref()], "hint: write it like http=https://api.example.com\n"),
    ] {
        let wrong = run(&home, words.iter().copied());
        assert!(wrong.status.code() == Some(2) && err(&wrong).contains(expected), "{}", err(&wrong));
    }
    // A tool's name is no plugin's.
    let tool = run(&home, [grant, "notes_add".as_ref(), folder, word]);
    assert!(err(&tool).contains("is called notes-add; did you mean notes? The plugin is named"), "{}", err(&tool));
    let granted = run(&home, ["grant", "nowhere", "elicit", "--yes"]);
    assert!(err(&granted).contains("no plugin called nowhere is known yet"), "{}", err(&granted));
    assert!(run(&home, ["ungrant", "nowhere", "elicit", "--yes"]).status.success());
    assert!(!read(&file(&home)).contains("nowhere"));
}

#[test]
fn what_a_granted_folder_lets_a_plugin_change_is_told() {
    let home = Home::with(&["notes"]);
    let told = "allows changes of this system, and so of what runs on it";
    for (word, is_told) in [("write=/etc:/data", true), ("write=/:/data", true), ("read=/etc:/data", false)] {
        let asked = run(&home, ["grant", "notes", word]);
        assert_eq!(err(&asked).contains(told), is_told, "{word}: {}", err(&asked));
    }
}

#[test]
fn a_denial_of_a_read_is_told_once_with_its_hint() {
    let home = Home::with(&["notes"]);
    let folder = home.plugins();
    for words in [
        &["read".as_ref(), folder.as_os_str(), "notes://1".as_ref()][..],
        &["prompt".as_ref(), folder.as_os_str(), "notes_summarise".as_ref()],
    ] {
        let denied = err(&run(&home, words.iter().copied()));
        assert_eq!(denied.matches("missing grant").count(), 1, "{denied}");
        assert_eq!(denied.matches("hint:").count(), 1, "{denied}");
        let command = format!("or run: wharf grant notes {} keyvalue", folder.display());
        assert!(denied.contains(&command), "{denied}");
    }
}

#[test]
fn a_missing_secret_is_told_once_to_who_calls() {
    let home = Home::with(&["online"]);
    home.configure(
        "[secrets]\nkey = { env = 'WHARF_TEST_NOT_SET' }\n[[plugins.online.grants.http]]\n\
         url = 'https://api.example'\nheaders = { authorization = '${key}' }\n",
    );
    let folder = home.plugins();
    let words = ["call".as_ref(), folder.as_os_str(), "online_fetch".as_ref(), "url=https://api.example/".as_ref()];
    let output = run(&home, words);
    let (out, reported) = (String::from_utf8_lossy(&output.stdout).into_owned(), err(&output));
    assert!(out.contains("it needs the secret 'key', which is not set"), "{out}{reported}");
    assert_eq!(reported.matches("the secret 'key'").count(), 1, "{reported}");
    assert!(reported.contains("variable WHARF_TEST_NOT_SET; set its variable"), "{reported}");
    assert!(!(out + &reported).contains("restart"), "{reported}");
}
