//! What is recorded of an approval and of a revocation.

use std::path::Path;

use super::commands::err;
use super::*;
use crate::support::process::command;

/// However the configuration file is named: its relative paths are beside it.
#[test]
fn an_approved_folder_is_one_place() {
    let home = home("");
    let [one, other] = ["one", "other"].map(|name| home.path(&format!("home/{name}")));
    let text = "[server]\ntrust = 'strict'\n[plugins.p.grants]\nfs = [{ host = 'data', guest = '/data' }]\n";
    for folder in [&one, &other] {
        fs::create_dir_all(folder.join("data")).expect("a folder");
        fs::write(folder.join("w.toml"), text).expect("a file");
    }
    let state = |folder: &Path, config: &Path| {
        let mut command =
            command(&home, ["status".as_ref(), home.plugins().as_os_str(), "--config".as_ref(), config.as_os_str()]);
        String::from_utf8(command.current_dir(folder).output().expect("the binary runs").stdout).expect("UTF-8")
    };
    let relative = Path::new("w.toml");
    let mut approve = command(&home, ["approve", "p", "--yes", "--config", "w.toml"]);
    let approved = approve.arg(home.plugins()).current_dir(&one).output().expect("the binary runs");
    assert!(approved.status.success(), "{}", err(&approved));
    for config in [relative.to_owned(), one.join("w.toml"), Path::new("../other/../one/w.toml").to_owned()] {
        let state = state(&one, &config);
        assert!(state.contains("state    runs") || !state.contains("held"), "{}: {state}", config.display());
    }
    let state = state(&other, relative);
    assert!(state.contains("it was approved without these grants"), "{state}");
}

#[test]
fn the_time_of_a_revocation_is_its_own() {
    let home = home("");
    Client::start(&home).tools_until(|tools| tools.len() == 2);
    let file = home.path("state/wharf/lock.toml");
    let pins = fs::read_to_string(&file).expect("the pins");
    let (before, time) = pins.split_once("time = \"").expect("a time");
    let (_, rest) = time.split_once('"').expect("its end");
    fs::write(&file, format!("{before}time = \"2001-01-01T00:00:00Z\"{rest}")).expect("a file");
    let status = || String::from_utf8(folder_command(&home, &["status"]).stdout).expect("UTF-8");
    assert!(status().contains("auto-approved, 2001-01-01T00:00:00Z"), "{}", status());
    assert!(folder_command(&home, &["revoke", "p"]).status.success());
    assert!(status().contains(", revoked, 20") && !status().contains("2001"), "{}", status());
}

/// A file that somebody adds does not get what is meant for the one that is named.
#[test]
fn a_named_file_is_the_one_that_is_served() {
    let home = home(STRICT);
    let (named, added) = (home.plugins().join("Weather.wasm"), home.plugin("weather"));
    fs::write(&named, version("1", "Does a thing.")).expect("a file");
    fs::write(&added, version("2", "Does a thing.")).expect("a file");
    let folder = home.plugins();
    fs::create_dir(folder.join("sub")).expect("a folder");
    fs::write(folder.join("sub/gone.wasm"), version("3", "Does a thing.")).expect("a file");
    let gone = folder.join("gone.wasm");
    for (file, why) in [(&named, "the plugin weather is another file there"), (&gone, "failed to find the file ")] {
        for words in [&["approve", "--yes"][..], &["revoke"], &["status"], &["grant", "elicit", "--yes"]] {
            let (command, rest) = words.split_first().expect("a command");
            let all = [*command].map(AsRef::as_ref).into_iter().chain([file.as_os_str()]);
            let output = run(&home, all.chain(rest.iter().map(AsRef::as_ref)));
            assert!(output.status.code() == Some(2) && err(&output).contains(why), "{words:?}: {}", err(&output));
        }
    }
    assert!(!home.path("state/wharf/lock.toml").exists());
    let approved = run(&home, ["approve".as_ref(), added.as_os_str(), "--yes".as_ref()]);
    assert!(approved.status.success(), "{}", err(&approved));
}
