//! A FIFO or a huge file in place of a settings file does not block later reloads.

use std::fs::{self, File};
use std::time::Instant;

use rustix::fs::{CWD, Mode, mkfifoat};
use rustix::process::Signal;
use serde_json::json;

use super::settings::{MAY_KEEP, MAY_NOT, denied, until};
use crate::support::TIMEOUT;
use crate::support::client::Client;
use crate::support::home::Home;
use crate::support::process::run;

const SECRET: &str = "[secrets]\nq = { file = 'q' }\n[plugins.echo.grants]\nsecrets = ['q']\n";

/// Atomically replaces a file beside the configuration with what `make` creates.
fn replace(home: &Home, name: &str, make: impl FnOnce(&std::path::Path)) {
    let next = home.path("config/wharf/next");
    make(&next);
    fs::rename(next, home.path("config/wharf").join(name)).expect("a rename");
}

fn fifo(home: &Home, name: &str) {
    replace(home, name, |next| mkfifoat(CWD, next, Mode::RUSR | Mode::WUSR).expect("a FIFO"));
}

fn text(home: &Home, name: &str, text: &str) {
    replace(home, name, |next| fs::write(next, text).expect("a file"));
}

/// Waits until that secret is redacted from the plugin's answers.
fn until_hidden(client: &mut Client, secret: &str) {
    let deadline = Instant::now() + TIMEOUT;
    while client.text("echo", json!({"message": secret})) != "[redacted q]" {
        assert!(Instant::now() < deadline, "never redacted: {secret}:\n{}", client.process().log());
    }
}

#[test]
fn a_fifo_instead_of_settings_does_not_block_later_reloads() {
    let home = Home::with(&["echo"]);
    home.put("notes", "notes");
    text(&home, "q", "the-first-secret");
    home.configure(&format!("{SECRET}{MAY_KEEP}"));
    let mut client = Client::start(&home);
    until(&mut client, "allowed", |result| !denied(result));
    until_hidden(&mut client, "the-first-secret");
    fifo(&home, "q");
    client.process().signal(Signal::HUP);
    client.process().log_with("it needs the secret 'q', which cannot be read: it is a FIFO, not a regular file");
    text(&home, "q", "the-second-secret");
    client.process().signal(Signal::HUP);
    until_hidden(&mut client, "the-second-secret");
    fifo(&home, "wharf.toml");
    client.process().signal(Signal::HUP);
    let log = client
        .process()
        .log_with("configuration not reloaded, the previous one stays in force: failed to read the configuration");
    assert!(log.contains("wharf.toml: it is a FIFO, not a regular file"), "{log}");
    until(&mut client, "allowed", |result| !denied(result));
    replace(&home, "wharf.toml", |next| File::create(next).and_then(|file| file.set_len(3 << 30)).expect("a file"));
    client.process().log_with("it is larger than the limit of 1048576 bytes");
    text(&home, "wharf.toml", &format!("{SECRET}{MAY_NOT}"));
    until(&mut client, "denied", denied);
    until_hidden(&mut client, "the-second-secret");
    client.finish();
}

#[test]
fn startup_does_not_block_on_a_fifo() {
    let home = Home::with(&["echo"]);
    fifo(&home, "q");
    home.configure(SECRET);
    let mut client = Client::start(&home);
    assert_eq!(client.text("echo", json!({"message": "here"})), "here");
    client.finish();
    // Files that a server requires: it reports the error and exits.
    for settings in [
        "[server]\nstate-key = { file = 'q' }\n",
        "[server.http]\ntokens = [{ name = 'me', file = 'q' }]\n",
        "[server.http]\ntls = { cert = 'q', key = 'q' }\n",
        "",
    ] {
        if settings.is_empty() {
            fifo(&home, "wharf.toml");
        } else {
            home.configure(settings);
        }
        let output =
            run(&home, ["serve".as_ref(), home.plugins().as_os_str(), "--http".as_ref(), "127.0.0.1:0".as_ref()]);
        let reported = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{settings}: {reported}");
        assert!(reported.contains("it is a FIFO, not a regular file"), "{settings}: {reported}");
    }
}
