//! Pins and commands: `approve` and `revoke` change pins, the others only read them.

use std::ffi::OsStr;
use std::path::Path;

use super::*;
use crate::support::process::{command, run_hint};
use crate::terminal::at_terminal;

pub(super) fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn list_call_check_and_status_pin_nothing() {
    let home = home(GRANTED);
    for words in [["list"], ["status"], ["check"]] {
        let output = if words == ["check"] {
            run(&home, ["check".as_ref(), home.plugin("p").as_os_str()])
        } else {
            folder_command(&home, &words)
        };
        assert!(output.status.success(), "{words:?}: {}", err(&output));
    }
    let output = run(&home, ["call".as_ref(), home.plugins().as_os_str(), "p_version".as_ref()]);
    assert!(output.status.success(), "{}", err(&output));
    assert!(!home.path("state/wharf").exists());
}

#[test]
fn list_and_call_do_not_run_held_versions() {
    let home = home(GRANTED);
    Client::start(&home).tools_until(|tools| tools.len() == 2);
    home.put_bytes(&version("2", "Does another thing."), "p");
    let output = folder_command(&home, &["list"]);
    assert_eq!(output.status.code(), Some(1));
    let reported = err(&output);
    let held = format!("held {}: pending approval, the plugin holds grants", home.plugin("p").display());
    assert!(output.stdout.is_empty() && reported.contains(&held) && !reported.contains("refused"), "{reported}");
    for path in [home.plugins(), home.plugin("p")] {
        let output = run(&home, ["call".as_ref(), path.as_os_str(), "p_version".as_ref()]);
        assert!(!output.status.success() && err(&output).contains("wharf approve p"), "{}", err(&output));
    }
}

#[test]
fn a_call_of_a_version_that_waits_says_so_and_names_no_other_plugin() {
    let home = home(STRICT);
    home.put_bytes(&version("1", "Does a thing."), "other");
    home.put_bytes(b"no plugin", "broken");
    let folder = home.plugins();
    let list = |name: &str| {
        let output = run(&home, ["list".as_ref(), folder.as_os_str(), name.as_ref()]);
        assert_eq!(output.status.code(), Some(2), "{}", err(&output));
        err(&output)
    };
    let shown = folder.display();
    let expected = format!(
        "error: failed to use the tool p_version: it is of the plugin p, which waits for approval: it has not been \
         approved\nhint: to see the changes: wharf status {shown}; to approve it: wharf approve p {shown}\n"
    );
    let called = run(&home, ["call".as_ref(), folder.as_os_str(), "p_version".as_ref()]);
    assert_eq!((called.status.code(), err(&called)), (Some(2), expected));
    // A tool that is called as its plugin has no prefix.
    assert!(list("p").starts_with("error: failed to use the entry p: it is of the plugin p, which waits for approval"));
    let listed = list("broken_x");
    let refused = "error: failed to use the entry broken_x: it is of the plugin broken, which is refused: failed to ";
    assert!(listed.starts_with(refused), "{listed}");
    assert!(listed.lines().count() <= 2 && !listed.contains("other"), "{listed}");
    let unknown = list("weather_x");
    let held = format!("there is, but not what is held: other, p; to see why: wharf status {shown}\n");
    assert!(
        unknown.starts_with("error: failed to find the entry weather_x\n") && unknown.ends_with(&held),
        "{unknown}"
    );
    // Without its name in front, a tool may be of any of them.
    home.configure(&format!("{STRICT}[plugins.p]\nprefix = false\n"));
    let listed = list("version");
    assert!(listed.contains("p.wasm: pending approval") && !listed.contains("other.wasm"), "{listed}");
    // Several are named in one line.
    let read = err(&run(&home, ["read".as_ref(), folder.as_os_str(), "x://1".as_ref()]));
    let several = format!("hint: it may be of a plugin that is held: other, p; to see why: wharf status {shown}\n");
    assert!(read.ends_with(&several) && !read.contains("pending approval"), "{read}");
}

#[test]
fn a_plugin_is_named_by_its_file_and_a_folder_in_its_place_gets_the_right_form() {
    let home = home(STRICT);
    let (folder, file) = (home.plugins(), home.plugin("p"));
    let (folder, file) = (folder.as_os_str(), file.as_os_str());
    let shown = home.plugins().display().to_string();
    for command in ["approve", "revoke"] {
        let wrong = run(&home, [command.as_ref(), folder, "p".as_ref()]);
        let hint = format!("hint: write the name first, then the folder: wharf {command} p {shown}\n");
        assert!(wrong.status.code() == Some(2) && err(&wrong).ends_with(&hint), "{}", err(&wrong));
    }
    assert!(run(&home, ["approve".as_ref(), file, "--yes".as_ref()]).status.success());
    assert_eq!(status(&home)["state"], "runs");
    assert!(run(&home, ["revoke".as_ref(), file]).status.success());
    let state = run(&home, ["status".as_ref(), file]);
    let text = String::from_utf8_lossy(&state.stdout);
    assert!(text.contains(", revoked, ") && !text.contains("approved"), "{text}");
    let swapped = run(&home, ["status".as_ref(), "p".as_ref(), folder]);
    let hint = format!("hint: write the folder first, then the name: wharf status {shown} p\n");
    assert!(swapped.status.code() == Some(2) && err(&swapped).ends_with(&hint), "{}", err(&swapped));
    let unknown = run(&home, ["status".as_ref(), folder, "p_version".as_ref()]);
    assert!(err(&unknown).contains("did you mean p? The plugin is named here"), "{}", err(&unknown));
}

#[test]
fn the_status_of_new_versions_is_short_and_that_of_one_is_whole() {
    let home = home(STRICT);
    home.put_bytes(&version("1", "Does another thing."), "q");
    let folder = home.plugins();
    let all = run(&home, ["status".as_ref(), folder.as_os_str()]);
    let text = String::from_utf8_lossy(&all.stdout);
    assert!(text.contains("  tools    version, act\n") && !text.contains("Does another thing."), "{text}");
    let approve = format!("hint: to approve all 2: wharf approve --all {}\n", folder.display());
    assert_eq!(err(&all), approve);
    let one = run(&home, ["status".as_ref(), folder.as_os_str(), "q".as_ref()]);
    let text = String::from_utf8_lossy(&one.stdout);
    assert!(text.contains("+ Does another thing.") && text.ends_with("\n1 is pending approval\n"), "{text}");
}

#[test]
fn approving_needs_a_terminal_or_a_flag_and_grants_nothing() {
    let home = home(STRICT);
    let output = folder_command(&home, &["approve", "p"]);
    let reported = err(&output);
    assert_eq!(output.status.code(), Some(2), "{reported}");
    // The version to be approved is shown anyway.
    assert!(reported.contains("+ Does a thing.") && reported.contains("--yes"), "{reported}");
    assert!(!home.path("state/wharf/lock.toml").exists());
    let before = fs::read(home.path("config/wharf/wharf.toml")).expect("the configuration");
    approve(&home, "p");
    assert_eq!(fs::read(home.path("config/wharf/wharf.toml")).expect("the configuration"), before);
    let pinned = lock(&home);
    assert_eq!(pinned["plugins"]["p"]["grants"].as_array().map(Vec::len), Some(0));
    // The folder was named: what is in it helps.
    for words in [&["approve", "--yes", "nobody"][..], &["revoke", "nobody"]] {
        let output = folder_command(&home, words);
        assert_eq!(output.status.code(), Some(2), "{}", err(&output));
        assert!(err(&output).ends_with("hint: known plugins: p\n"), "{}", err(&output));
    }
}

#[test]
fn a_revoked_version_is_held_until_it_is_approved() {
    let home = home("");
    let mut client = Client::start(&home);
    client.tools_until(|tools| tools.len() == 2);
    let output = run(&home, ["revoke", "p"]);
    assert!(output.status.success(), "{}", err(&output));
    client.tools_until(|tools| tools.is_empty());
    client.process().log_with("held: it was revoked");
    // Also under another name, and with trust = "dev".
    home.put_bytes(&version("1", "Does a thing."), "other");
    home.configure("[server]\ntrust = \"dev\"\n");
    let mut second = Client::start(&home);
    assert_eq!(second.tools(), [""; 0]);
    assert_eq!(status(&home)["code"], "revoked");
    home.configure("");
    approve(&home, "p");
    client.tools_until(|tools| tools.len() == 4);
    assert_eq!(run(&home, ["revoke", "nobody"]).status.code(), Some(2));
    // Nothing is revoked for a folder that was meant to be another one.
    let wrong = run(&home, ["revoke", "p", "nowhere"]);
    assert!(wrong.status.code() == Some(2) && err(&wrong).contains("nothing was revoked"), "{}", err(&wrong));
    assert_eq!(client.tools().len(), 4);
}

/// It may be listed already, while its code is compiled.
#[test]
fn a_version_that_is_not_pinned_is_revoked_by_its_folder() {
    let home = home("");
    let unknown = run(&home, ["revoke", "p"]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(
        err(&unknown).contains("hint: name the folder that its file is in: wharf revoke p DIR"),
        "{}",
        err(&unknown)
    );
    let output = folder_command(&home, &["revoke", "p"]);
    assert!(output.status.success(), "{}", err(&output));
    let mut client = Client::start(&home);
    client.process().log_with("held: it was revoked");
    assert_eq!(client.tools(), [""; 0]);
    drop(client);

    // The pinned version too, where the file is a newer one that no server has seen.
    approve(&home, "p");
    home.put_bytes(&version("2", "Does another thing."), "p");
    let output = folder_command(&home, &["revoke", "p"]);
    assert_eq!(err(&output).matches("revoked p blake3:").count(), 2, "{}", err(&output));
    let mut client = Client::start(&home);
    client.process().log_with("held: it was revoked");
    assert_eq!(client.tools(), [""; 0]);
    assert_eq!(lock(&home)["revoked"].as_array().map(Vec::len), Some(2));
    // One of them is in the folder: only that one can be approved there.
    let reported = err(&output);
    let lines: Vec<&str> = reported.lines().collect();
    let put_back = format!("its file is not in {}: to undo, put that back there", home.plugins().display());
    assert!(lines[0].contains(&put_back) && lines[1].contains("; to undo: wharf approve p "), "{reported}");
    let again = folder_command(&home, &["revoke", "p"]);
    assert!(again.status.success() && err(&again).matches("revoked already: p blake3:").count() == 2, "{again:?}");
    let undone = run_hint(&home, lines[1], "to undo:");
    assert!(undone.status.success(), "{}", err(&undone));
    assert_eq!(status(&home)["state"], "runs");
}

#[test]
fn a_version_that_never_ran_can_be_revoked_twice() {
    let home = home("");
    for done in ["revoked p blake3:", "revoked already: p blake3:"] {
        let output = folder_command(&home, &["revoke", "p"]);
        assert!(output.status.success() && err(&output).starts_with(done), "{}", err(&output));
    }
    assert_eq!(lock(&home)["revoked"].as_array().map(Vec::len), Some(1));
    // Also one that waits for approval, if its folder is named.
    home.configure(STRICT);
    home.put_bytes(&version("2", "Does another thing."), "p");
    let elsewhere = run(&home, ["revoke", "p"]);
    assert_eq!(elsewhere.status.code(), Some(2), "{}", err(&elsewhere));
    let output = folder_command(&home, &["revoke", "p"]);
    assert!(output.status.success() && err(&output).starts_with("revoked p blake3:"), "{}", err(&output));
    assert_eq!(lock(&home)["revoked"].as_array().map(Vec::len), Some(2));
    let all = folder_command(&home, &["approve", "--all", "--yes"]);
    assert!(err(&all).contains("p is left out: it was revoked"), "{}", err(&all));
}

#[test]
fn approve_asks_for_confirmation_on_a_terminal() {
    let home = home(STRICT);
    let folder = home.plugins();
    let approve = ["approve".as_ref(), "p".as_ref(), folder.as_os_str()];
    // Ctrl-D and Escape too.
    for no in ["n", "\u{4}", "\u{1b}", "\r"] {
        let output = at_terminal(&home, &approve, |person| {
            person.sees("Approve this version of p? [y/N]", no);
            person.sees("Approve this version of p? no", "");
        });
        assert_eq!(output.status.code(), Some(1), "{no:?}");
        assert_eq!(status(&home)["state"], "held");
    }
    let output = at_terminal(&home, &approve, |person| person.sees("Approve this version of p?", "y"));
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(status(&home)["state"], "runs");
}

/// What clients and models see of each tool, in few lines.
#[test]
fn an_approval_shows_all_of_a_new_version_in_few_lines() {
    let home = Home::with(&["time"]);
    let output = folder_command(&home, &["approve", "time"]);
    let shown = err(&output);
    for line in [
        "    tool convert(time: string, to: string, from?: string)\n      + Tells what a moment is",
        "      takes\n        time: The moment",
        "        to: IANA time zone that is wanted, such as America/New_York.\n",
        "        count: How many times to tell, 1 to 100.\n          maximum 100, minimum 1\n",
        "      annotations: {\"readOnly\":true,",
    ] {
        assert!(shown.contains(line), "no {line:?} in {shown}");
    }
    assert!(shown.lines().count() < 90 && !shown.contains("taskSupport"), "{shown}");
    // All of it as JSON, schemas too.
    let json = run(&home, ["check".as_ref(), "--json".as_ref(), home.plugin("time").as_os_str()]);
    let json: Value = serde_json::from_slice(&json.stdout).expect("JSON");
    let convert = json["tools"].as_array().into_iter().flatten().find(|tool| tool["name"] == "convert");
    assert!(convert.is_some_and(|tool| tool["inputSchema"]["properties"]["to"]["type"] == "string"), "{json}");
}

/// As for a grant that is missing. Off a terminal the command to run is shown.
#[test]
fn a_call_of_a_version_that_waits_asks_for_its_approval() {
    let home = home(GRANTED);
    Client::start(&home).tools_until(|tools| tools.len() == 2);
    home.put_bytes(&version("2", "Does another thing."), "p");
    // Another one that waits is not asked for.
    home.put_bytes(&version("1", "Does a thing."), "other");
    home.configure(&format!("{STRICT}{GRANTED}"));
    let (folder, file) = (home.plugins(), home.plugin("p"));
    let question = "Approve this version of p?";
    let call = |path: &OsStr, tool: &str, answer: &'static str| {
        let mut shown = String::new();
        let output = at_terminal(&home, &["call".as_ref(), path, tool.as_ref()], |person| {
            shown = person.reads_up_to(question);
            person.sees("", answer);
        });
        for text in ["p blake3:", "- Does a thing.", "+ Does another thing.", "  granted  elicit"] {
            assert!(shown.contains(text), "no {text:?} in {shown}");
        }
        assert!(!shown.contains("other blake3"), "{shown}");
        output
    };
    for path in [folder.as_os_str(), file.as_os_str()] {
        let declined = call(path, "p_version", "n");
        assert!(!declined.status.success() && declined.stdout.is_empty(), "{declined:?}");
        assert_eq!(status(&home)["state"], "held");
    }
    // A name that the version does not have is answered at once.
    let unknown = ["call".as_ref(), folder.as_os_str(), "p_nothing".as_ref()];
    let unknown = at_terminal(&home, &unknown, |person| {
        let shown = person.reads_up_to("wharf approve p");
        assert!(!shown.contains(question), "{shown}");
    });
    assert_eq!(unknown.status.code(), Some(2));
    let approved = call(folder.as_os_str(), "p_version", "y");
    assert_eq!((approved.status.code(), approved.stdout.as_slice()), (Some(0), &b"2\n"[..]));
    let entry = status(&home);
    assert_eq!((&entry["state"], &entry["pinned"]["approved"]), (&"runs".into(), &true.into()));
    // What is revoked is not taken back in passing; a single file is asked for by its tool's own name too.
    let again = ["call".as_ref(), file.as_os_str(), "version".as_ref()];
    assert!(run(&home, ["revoke", "p"]).status.success());
    let revoked = at_terminal(&home, &again, |person| {
        let shown = person.reads_up_to("wharf approve p");
        assert!(!shown.contains(question), "{shown}");
    });
    assert!(!revoked.status.success());
}

#[test]
fn a_prompt_and_a_resource_of_a_version_that_waits_are_asked_for_too() {
    let home = Home::with(&["notes"]);
    home.configure(&format!("{STRICT}[plugins.notes.grants]\nkeyvalue = true\n"));
    let folder = home.plugins();
    for [command, name] in [["read", "notes://1"], ["prompt", "notes_summarise"]] {
        let words = [command.as_ref(), folder.as_os_str(), name.as_ref()];
        for (answer, then) in [("n", "to approve it: "), ("y", "blake3:")] {
            at_terminal(&home, &words, |person| {
                person.sees("Approve this version of notes?", answer);
                person.reads_up_to(then);
            });
        }
        // Now nothing is asked.
        let again = run(&home, words);
        assert!(!err(&again).contains("approv"), "{}", err(&again));
        fs::remove_file(home.path("state/wharf/lock.toml")).expect("the pins");
    }
}

#[test]
fn what_was_typed_before_a_question_is_no_answer() {
    let home = home(STRICT);
    let folder = home.plugins();
    let approve = ["approve".as_ref(), "p".as_ref(), folder.as_os_str()];
    let output = at_terminal(&home, &approve, |person| {
        person.sees("", "y");
        person.sees("Approve this version of p?", "n");
    });
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(status(&home)["state"], "held");
    // Nor is a word with a y in it.
    let output = at_terminal(&home, &approve, |person| person.sees("Approve this version of p?", "why?"));
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(status(&home)["state"], "held");
}

#[test]
fn a_remote_server_runs_nothing_without_approval() {
    let home = home("");
    let folder = home.plugins();
    let remote = ["--http", "0.0.0.0:0", "--allow-remote-without-auth"].map(OsStr::new);
    let serve = |home: &Home, options: &[&OsStr]| {
        let words = ["serve".as_ref(), folder.as_os_str()].into_iter().chain(options.iter().copied());
        Process::start(command(home, words))
    };
    serve(&home, &remote).log_with("held: it has not been approved");
    // Loopback is not remote, and an explicit trust level in the configuration wins.
    serve(&home, &["--http", "127.0.0.1:0"].map(OsStr::new)).log_with("loaded");
    home.configure("[server]\ntrust = \"default\"\n");
    serve(&home, &remote).log_with("loaded");
}

#[test]
fn status_shows_current_grants() {
    let home = home(GRANTED);
    Client::start(&home).tools_until(|tools| tools.len() == 2);
    let text = |home: &Home| String::from_utf8(folder_command(home, &["status"]).stdout).expect("UTF-8");
    assert!(text(&home).contains("  granted  elicit\n"), "{}", text(&home));
    home.configure("");
    assert!(text(&home).contains("  granted  nothing (when pinned: elicit)\n"), "{}", text(&home));
    home.configure("[plugins.p.grants]\nroots = true\nelicit = true\n");
    assert!(text(&home).contains("  granted  elicit, roots (when pinned: elicit)\n"), "{}", text(&home));
    let status = status(&home);
    assert_eq!(
        (&status["pinned"]["grants"], &status["file"]["grants"]),
        (&json!(["elicit"]), &json!(["elicit", "roots"]))
    );
}

/// Pins are shared by all folders.
#[test]
fn status_names_the_folder_that_a_pin_is_for_if_it_is_another_one() {
    let home = home(GRANTED);
    Client::start(&home).tools_until(|tools| tools.len() == 2);
    let (served, other) = (home.plugins(), home.path("other"));
    let text =
        |folder: &Path| String::from_utf8(run(&home, ["status".as_ref(), folder.as_os_str()]).stdout).expect("UTF-8");
    assert!(text(&served).contains("pinned   blake3:") && !text(&served).contains("  folder "), "{}", text(&served));
    assert_eq!(status(&home)["pinned"]["folder"], served.to_str().expect("UTF-8"));
    fs::create_dir(&other).expect("a folder");
    fs::write(other.join("p.wasm"), version("2", "Does another thing.")).expect("a file");
    let line = |folder: &Path| format!("  folder   pinned for another one: {}\n", folder.display());
    assert!(text(&other).contains(&line(&served)), "{}", text(&other));
    let approve = ["approve".as_ref(), "--yes".as_ref(), "p".as_ref(), other.as_os_str()];
    assert!(run(&home, approve).status.success());
    assert!(text(&served).contains(&line(&other)) && !text(&other).contains("  folder "), "{}", text(&served));
}

/// One label for each line, in this order.
#[test]
fn status_has_a_label_and_a_value_on_each_line() {
    let home = home(GRANTED);
    Client::start(&home).tools_until(|tools| tools.len() == 2);
    home.put_bytes(&version("2", "Does another thing."), "p");
    // A setting without effect is a warning, and no part of the list.
    home.configure(&format!("{GRANTED}[plugins.pp.grants]\nelicit = true\n[plugins.other.grants.env]\nA = \"${{key}}\"\n[secrets]\nkey = {{ env = \"WHARF_TEST_ABSENT\" }}\n"));
    home.put_bytes(&version("1", "Does a thing."), "other");
    let output = folder_command(&home, &["status"]);
    let (text, warnings) = (String::from_utf8(output.stdout.clone()).expect("UTF-8"), err(&output));
    let labels: Vec<&str> = text.lines().map(|line| line.get(..11).unwrap_or(line).trim_end()).collect();
    let expected = [
        "other",
        "  pinned",
        "  granted",
        "  file",
        "  state",
        "p",
        "  pinned",
        "  granted",
        "  file",
        "  state",
        "  serving",
        "  changes",
        "    tool ac",
        "      - Doe",
        "      + Doe",
        "  hint",
        "1 will run",
    ];
    assert_eq!(labels, expected, "{text}");
    let warned: Vec<&str> = warnings.lines().collect();
    assert!(warned.len() == 1 && warned[0].starts_with("warning: the secret key of other is not set"), "{warnings}");
}

#[test]
fn suggested_commands_work_unchanged() {
    let home = home("");
    Client::start(&home).tools_until(|tools| tools.len() == 2);
    let output = folder_command(&home, &["revoke", "p"]);
    let approved = run_hint(&home, &err(&output), "to undo:");
    assert!(approved.status.success(), "{}", err(&approved));
    assert_eq!(status(&home)["state"], "runs");

    assert!(folder_command(&home, &["revoke", "p"]).status.success());
    // Its own word, in all that says what runs.
    let text = String::from_utf8(folder_command(&home, &["status"]).stdout).expect("UTF-8");
    assert!(text.ends_with("\n1 is revoked\n"), "{text}");
    let listed = err(&folder_command(&home, &["list"]));
    assert!(listed.contains("p.wasm: revoked\n") && !listed.contains("approval"), "{listed}");
    let (folder, file) = (home.plugins(), home.plugin("p"));
    for (path, tool) in [(&folder, "p_version"), (&file, "version")] {
        let called = err(&run(&home, ["call".as_ref(), path.as_os_str(), tool.as_ref()]));
        assert!(called.contains("which was revoked") && !called.contains("approval"), "{called}");
    }
    let approved = run_hint(&home, &text, "to undo that:");
    assert!(approved.status.success(), "{}", err(&approved));

    // The pin says which folder the file is in.
    let approved = run_hint(&home, &err(&run(&home, ["revoke", "p"])), "to undo:");
    assert!(approved.status.success(), "{}", err(&approved));
    // If that is not known, the hint has a placeholder instead of the user's folder.
    let file = home.path("state/wharf/lock.toml");
    let pins = fs::read_to_string(&file).expect("the pins");
    let earlier: String = pins.split_inclusive('\n').filter(|line| !line.starts_with("folder = ")).collect();
    assert_ne!(earlier, pins);
    fs::write(&file, earlier).expect("mine");
    let output = run(&home, ["revoke", "p"]);
    assert!(err(&output).contains("wharf approve p DIR"), "{}", err(&output));
    let own = home.path("data/wharf/plugins");
    fs::create_dir_all(&own).expect("a folder");
    fs::copy(home.plugin("p"), own.join("p.wasm")).expect("a file");
    let output = run(&home, ["revoke", "p"]);
    let approved = run_hint(&home, &err(&output), "to undo:");
    assert!(approved.status.success(), "{}", err(&approved));
}

#[test]
fn all_versions_that_wait_are_approved_with_one_question() {
    let home = home(&format!("{STRICT}{GRANTED}"));
    home.put_bytes(&version("1", "Does another thing."), "q");
    let mut client = Client::start(&home);
    assert_eq!(client.tools(), [""; 0]);
    let folder = home.plugins();
    let expected =
        format!("2 plugins wait for approval; nothing is served: run wharf approve --all {}", folder.display());
    let log = client.process().log_with(&expected);
    // Its reader sees that first.
    assert!(log.lines().next().is_some_and(|line| line.contains(&expected)), "{log}");
    let text = String::from_utf8(folder_command(&home, &["status"]).stdout).expect("UTF-8");
    assert!(text.ends_with("\n2 are pending approval\n"), "{text}");

    let output = folder_command(&home, &["approve", "--all"]);
    let shown = err(&output);
    assert_eq!(output.status.code(), Some(2), "{shown}");
    assert!(shown.contains("  tools    version, act\n") && shown.contains("  granted  elicit\n"), "{shown}");
    let approve = ["approve".as_ref(), "--all".as_ref(), folder.as_os_str()];
    let output = at_terminal(&home, &approve, |person| person.sees("Approve these 2 versions?", "n"));
    assert_eq!(output.status.code(), Some(1));
    let approved = run_hint(&home, &log, "nothing is served: run ");
    assert!(approved.status.success(), "{}", err(&approved));
    client.tools_until(|tools| tools.len() == 4);
    let text = String::from_utf8(folder_command(&home, &["status"]).stdout).expect("UTF-8");
    assert!(text.ends_with("\n2 run\n"), "{text}");
    let again = folder_command(&home, &["approve", "--all", "--yes"]);
    assert!(again.status.success() && err(&again).contains("all 2 versions are approved already"), "{}", err(&again));
}

/// Its tool descriptions with its grants are others than those that the summary is about.
#[test]
fn a_version_that_needs_a_decision_of_its_own_is_left_out() {
    let home = home(&format!("{STRICT}[plugins.q.grants]\nenv = {{ PLACE = \"here\" }}\n"));
    home.put_bytes(&Guest::returning("1").lists_variable_count("act").build(), "q");
    let output = folder_command(&home, &["approve", "--all", "--yes"]);
    let reported = err(&output);
    assert_eq!(output.status.code(), Some(1), "{reported}");
    assert!(reported.contains("q is left out: its tool descriptions are different with its grants"), "{reported}");
    let pinned = lock(&home);
    assert!(pinned["plugins"].get("p").is_some() && pinned["plugins"].get("q").is_none(), "{pinned}");
}

#[test]
fn the_summary_of_a_version_comes_before_its_descriptions() {
    let home = home("");
    Client::start(&home).tools_until(|tools| tools.len() == 2);
    home.put_bytes(&version("2", "Does another thing."), "p");
    let output = folder_command(&home, &["approve", "--yes", "p"]);
    let reported = err(&output);
    let place = |text: &str| reported.find(text).unwrap_or_else(|| panic!("no {text:?} in {reported}"));
    assert!(place("  tools    version, act\n") < place("  compared 1 tool changed\n"), "{reported}");
    assert!(place("  compared 1 tool changed\n") < place("+ Does another thing."), "{reported}");
}

#[test]
fn status_shows_beside_each_need_whether_it_is_granted() {
    let home = Home::with(&["notes"]);
    let text = |home: &Home| String::from_utf8(folder_command(home, &["status"]).stdout).expect("UTF-8");
    Client::start(&home).tools_until(|tools| !tools.is_empty());
    assert!(text(&home).contains("  needs    keyvalue (not granted)\n"), "{}", text(&home));
    home.configure("[plugins.notes.grants]\nkeyvalue = true\n");
    assert!(text(&home).contains("  needs    keyvalue (granted)\n"), "{}", text(&home));
    assert!(text(&home).ends_with("\n1 runs\n") && !text(&home).contains('\u{1b}'), "{}", text(&home));
}

/// A replaced file is often loaded more than once.
#[test]
fn a_held_version_is_logged_once() {
    let home = home(GRANTED);
    let mut client = Client::start(&home);
    assert_eq!(client.text("p_version", json!({})), "1");
    let versions: Vec<Vec<u8>> = (0..4).map(|n| version("2", &format!("Does the thing {n}."))).collect();
    let line = |version: &[u8]| format!("version=\"{}\"", &blake3::hash(version).to_hex()[..12]);
    for version in &versions {
        home.put_bytes(version, "p");
        client.process().log_with(&line(version));
    }
    let log = client.process().log();
    for version in &versions {
        assert_eq!(log.matches(&line(version)).count(), 1, "{log}");
    }
}

#[test]
fn what_was_revoked_is_not_approved_with_all() {
    let home = home(STRICT);
    approve(&home, "p");
    assert!(folder_command(&home, &["revoke", "p"]).status.success());
    let output = folder_command(&home, &["approve", "--all", "--yes"]);
    assert_eq!(output.status.code(), Some(1), "{}", err(&output));
    assert!(err(&output).contains("p is left out: it was revoked"), "{}", err(&output));
    assert_eq!(status(&home)["code"], "revoked");
}

#[test]
fn a_revocation_with_the_file_names_its_folder_to_undo() {
    let home = home("");
    Client::start(&home).tools_until(|tools| tools.len() == 2);
    let revoked = run(&home, ["revoke".as_ref(), "p".as_ref(), home.plugin("p").as_os_str()]);
    assert!(revoked.status.success(), "{}", err(&revoked));
    let undone = run_hint(&home, &err(&revoked), "to undo:");
    assert!(undone.status.success(), "{}", err(&undone));
    assert_eq!(status(&home)["state"], "runs");
    home.put_bytes(&version("1", "Does a thing."), "weather");
    let wrong = run(&home, ["revoke".as_ref(), "wether".as_ref(), home.plugins().as_os_str()]);
    assert!(err(&wrong).contains("did you mean weather?"), "{}", err(&wrong));
}
