//! Errors of the command line, with what was most likely meant.

use std::process::ExitCode;

use clap::error::{ContextKind, ErrorKind};
use wharf_report::{hint, shell_text};

use crate::config::GrantWord;

/// What other programs call a command, and what is meant.
const OTHER_COMMANDS: [(&[&str], &str); 8] = [
    (&["budget", "budgets", "quota", "quotas"], "to see what is left of budgets: wharf status DIR"),
    (&["uninstall"], "to remove the server from a client: wharf install CLIENT --undo"),
    (&["rm", "delete", "del", "unload"], "to remove a plugin: wharf remove NAME [DIR]"),
    (&["copy", "load", "pull", "get", "fetch"], "to add a plugin: wharf add REFERENCE [DIR]"),
    (&["publish", "release"], "to publish a plugin: wharf push REFERENCE FILE"),
    (
        &["enable", "allow", "trust", "pin"],
        "to let a version of a plugin run: wharf approve NAME; a call that waits: wharf approvals allow ID",
    ),
    (
        &["disable", "deny", "block", "unapprove", "unpin"],
        "to let a version of a plugin run no more: wharf revoke NAME; a call that waits: wharf approvals deny ID",
    ),
    (&["run", "start", "server"], "to serve a folder: wharf serve DIR; to call a tool: wharf call DIR TOOL"),
];

/// Says what is wrong with the command line.
pub(super) fn report(mut error: clap::Error) -> ExitCode {
    let words: Vec<String> = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    let meant = meant(&error, &words);
    // No command takes a value that looks like an option.
    error.remove(ContextKind::Suggested);
    if meant.is_some() {
        error.remove(ContextKind::SuggestedSubcommand);
    }
    let _ = error.print();
    hint(meant.as_deref());
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(u8::MAX))
}

fn meant(error: &clap::Error, words: &[String]) -> Option<String> {
    let command = words.iter().find(|word| !word.starts_with('-'))?.as_str();
    match error.kind() {
        ErrorKind::InvalidSubcommand => {
            let known = OTHER_COMMANDS.iter().find(|(names, _)| names.contains(&command));
            known.map(|(_, hint)| (*hint).to_owned())
        }
        // A similar option is named already.
        ErrorKind::UnknownArgument if error.get(ContextKind::SuggestedArg).is_none() => {
            let unknown = error.get(ContextKind::InvalidArg)?.to_string();
            of_argument(command, unknown.split('=').next()?, words)
        }
        _ => None,
    }
}

/// What an unknown argument of a command most likely means.
fn of_argument(command: &str, unknown: &str, words: &[String]) -> Option<String> {
    let Some(name) = unknown.strip_prefix('-').map(|name| name.trim_start_matches('-')) else {
        let is_address = unknown.parse::<u16>().is_ok() || unknown.rsplit(':').next()?.parse::<u16>().is_ok();
        return (command == "serve" && is_address).then(|| format!("to serve over HTTP: --http {}", address(unknown)));
    };
    let given = value(unknown, words);
    Some(match (command, name) {
        ("call" | "prompt", _) if unknown.starts_with("--") => {
            let value = shell_text(given.unwrap_or("VALUE"));
            format!("an argument has no dashes: write {name}={value}")
        }
        ("serve" | "dev", "port" | "p" | "listen" | "addr" | "address" | "bind" | "host") => {
            format!("write --http {}", address(given.unwrap_or("8080")))
        }
        ("grant" | "ungrant", _) if GrantWord::is_meant(name) => {
            let value = given.map(|value| format!("={value}")).unwrap_or_default();
            format!("a grant has no dashes: write {}", shell_text(&format!("{name}{value}")))
        }
        ("new", "l" | "t" | "template" | "language") => {
            format!("write --lang {}", shell_text(given.unwrap_or("python")))
        }
        (_, "v" | "verbose" | "debug") => "to log more: --log debug".to_owned(),
        (_, "y" | "f" | "force") => "to be asked nothing, where a command asks: --yes".to_owned(),
        _ => return None,
    })
}

/// The value of an unknown option, if it has one.
fn value<'w>(option: &str, words: &'w [String]) -> Option<&'w str> {
    let at = words.iter().position(|word| word.split('=').next() == Some(option))?;
    match words[at].split_once('=') {
        Some((_, value)) => Some(value),
        None => words.get(at + 1).map(String::as_str).filter(|next| !next.starts_with('-')),
    }
}

/// A port or an address, as `--http` takes it.
fn address(given: &str) -> String {
    match given.parse::<u16>() {
        Ok(port) => format!("127.0.0.1:{port}"),
        Err(_) if given.contains(':') => shell_text(given),
        Err(_) => format!("{}:8080", shell_text(given)),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::meant;
    use crate::cli::Cli;

    #[test]
    fn common_mistakes_get_the_line_to_write() {
        for (line, expected) in [
            ("serve d --port 9000", Some("write --http 127.0.0.1:9000")),
            ("serve d --port=9000", Some("write --http 127.0.0.1:9000")),
            ("serve d 9000", Some("to serve over HTTP: --http 127.0.0.1:9000")),
            ("serve d localhost:9000", Some("to serve over HTTP: --http 'localhost:9000'")),
            ("serve d --host 0.0.0.0", Some("write --http 0.0.0.0:8080")),
            ("serve d e", None),
            ("call d t --file=b", Some("an argument has no dashes: write file=b")),
            ("call d t --file b", Some("an argument has no dashes: write file=b")),
            ("call d t --file", Some("an argument has no dashes: write file=VALUE")),
            ("call d t --answers name=Ada", None),
            ("grant p d --keyvalue", Some("a grant has no dashes: write keyvalue")),
            ("grant p d --read=./x", Some("a grant has no dashes: write 'read=./x'")),
            ("new p --template rust", Some("write --lang rust")),
            ("list -v d", Some("to log more: --log debug")),
            ("uninstall cursor", Some("to remove the server from a client: wharf install CLIENT --undo")),
            ("budgets d", Some("to see what is left of budgets: wharf status DIR")),
            ("rm x", Some("to remove a plugin: wharf remove NAME [DIR]")),
            ("list --what", None),
        ] {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            let parsed = Cli::command().try_get_matches_from(["wharf"].into_iter().chain(line.split(' ')));
            let error = parsed.map(|_| ()).expect_err(line);
            assert_eq!(meant(&error, &words).as_deref(), expected, "{line}: {error}");
        }
    }
}
