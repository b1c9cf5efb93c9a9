//! `wharf install`: adds the server to the configuration of an MCP client, or removes it.

mod client;
mod json;
mod start;
mod toml;

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueEnum as _};
use serde_json::Value;
use wharf_report::{ShowPath as _, hint, shell_text, shell_word, warning};

use self::client::{Client, Form, place};
use self::start::{Start, is_wharf};
use super::confirm::confirm;
use super::diff::{diff, lines};
use super::finding::Finding;
use super::folder::served_folder;
use super::options::Options;
use super::survey::choice_in;
use crate::config::{Config, with_line_ends};
use crate::os::files::{self, FileError};
use crate::os::private;
use crate::pins::Trust;
use crate::report::{self, Failure, NAME};

/// Bytes of a client's configuration. Some keep other settings in the same file.
const MAX_SIZE: u64 = 4 << 20;

#[derive(Args)]
pub(super) struct Arguments {
    /// The client
    client: Client,
    /// Folder of .wasm files to serve [default: as for serve]
    dir: Option<PathBuf>,
    /// What the client calls the server
    #[arg(long, default_value = "wharf")]
    name: String,
    /// Remove the entry of that name again
    #[arg(long)]
    undo: bool,
    /// Skip the confirmation
    #[arg(long)]
    yes: bool,
}

pub(super) fn run(options: &Options, arguments: Arguments) -> Result<ExitCode, Failure> {
    let Arguments { client, dir, name, undo, yes } = arguments;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if name.is_empty() || !name.chars().all(is_plain) {
        return Err(
            Failure::usage(format!("use the server's name: {name:?}")).hint("use letters, digits, - and _".to_owned())
        );
    }
    if undo {
        return remove(client, &name, yes);
    }
    // Fails if the configuration is not valid: the server would not start.
    let config = options.config()?;
    let dir = served_folder(options, dir)?;
    let start = Start::of(options, &dir, name)?;
    let Some((path, form)) = place(client)? else {
        report::message(
            "Claude Code writes its own configuration; this command adds the server for you, in all projects:",
        );
        report::print(&start.claude_code())?;
        warn_of_variables(&config, None);
        report_plugins(&config, &dir);
        return Ok(ExitCode::SUCCESS);
    };
    let shown = path.shown();
    let old = read(&path)?;
    refuse_other(&old, form, &start.name, &path)?;
    let new = with(&old, form, &start).map(|new| with_line_ends(&old, &new)).map_err(|why| {
        Failure::usage(format!("change the client's configuration: {why}: {shown}")).hint(by_hand(&old, form, &start))
    })?;
    let name = &start.name;
    if new == old {
        report::message(&format!("{NAME}{name}{NAME:#} is there already, in {shown}"));
        warn_of_variables(&config, Some(form));
        report_plugins(&config, &dir);
        return Ok(ExitCode::SUCCESS);
    }
    let is_there = entry(&old, form, name).is_some();
    // What stays of an entry, such as its variables, is agreed to as well.
    let whole = if is_there { entry(&new, form, name) } else { None };
    write(&path, &old, &new, whole.as_deref(), yes)?;
    let done = if is_there { "replaced" } else { "added" };
    report::message(&format!("{done} {NAME}{name}{NAME:#}; restart the client, or reload its MCP servers"));
    warn_of_variables(&config, Some(form));
    report_plugins(&config, &dir);
    let own = if name == "wharf" { String::new() } else { format!(" --name {name}") };
    hint(Some(&format!("to remove it again: {} install {} --undo{own}", options.program(), client.name())));
    Ok(ExitCode::SUCCESS)
}

/// Removes the server of that name, and nothing else.
fn remove(client: Client, name: &str, yes: bool) -> Result<ExitCode, Failure> {
    let Some((path, form)) = place(client)? else {
        report::message("Claude Code writes its own configuration; this command removes the server for you:");
        report::print(&format!("claude mcp remove --scope user {name}"))?;
        return Ok(ExitCode::SUCCESS);
    };
    let shown = path.shown();
    let old = read(&path)?;
    refuse_other(&old, form, name, &path)?;
    let new = without(&old, form, name).map(|new| with_line_ends(&old, &new)).map_err(|why| {
        Failure::usage(format!("change the client's configuration: {why}: {shown}"))
            .hint(format!("remove {name:?} from {:?} by hand", form.key()))
    })?;
    if new == old {
        let named = servers(&old, form).unwrap_or_default();
        let own = named.iter().filter(|(_, command)| is_wharf(command)).map(|(name, _)| name.as_str());
        let own: Vec<&str> = own.filter(|name| !name.is_empty()).collect();
        let hint = match own.as_slice() {
            [] => "no entry in it starts Wharf".to_owned(),
            own => format!("those that start Wharf: {}; name one with --name", own.join(", ")),
        };
        return Err(Failure::usage(format!("remove {name}: there is no such server in {shown}")).hint(hint));
    }
    write(&path, &old, &new, None, yes)?;
    report::message(&format!("removed {NAME}{name}{NAME:#}; restart the client, or reload its MCP servers"));
    Ok(ExitCode::SUCCESS)
}

/// Fails if the client's server of that name is not Wharf: nobody means to replace or to remove that one.
fn refuse_other(old: &str, form: Form, name: &str, path: &Path) -> Result<(), Failure> {
    let own = servers(old, form).unwrap_or_default().into_iter().find(|(own, _)| own == name);
    let Some((_, words)) = own.filter(|(_, words)| !words.is_empty() && !is_wharf(words)) else { return Ok(()) };
    let words: Vec<String> = words.iter().map(|word| shell_text(word)).collect();
    let what = format!("change {name} in {}: it is another server: {}", path.shown(), words.join(" "));
    Err(Failure::usage(what).hint("choose another name with --name; or remove that server by hand".to_owned()))
}

/// The text of a client's configuration; empty if there is none.
fn read(path: &Path) -> Result<String, Failure> {
    match files::read_text(path, MAX_SIZE) {
        Err(FileError::System(error)) if error.kind() == io::ErrorKind::NotFound => match std::fs::read_link(path) {
            // A file in its place would not be where the person keeps it.
            Ok(target) => {
                let (shown, target) = (path.shown(), target.shown());
                let what =
                    format!("read the client's configuration: it is a link to {target}, which is not there: {shown}");
                Err(Failure::new(what).hint("create the file that it leads to, or remove the link".to_owned()))
            }
            Err(_) => Ok(String::new()),
        },
        text => {
            text.map_err(|error| Failure::new(format!("read the client's configuration: {error}: {}", path.shown())))
        }
    }
}

/// Writes a change after the person was shown it and agreed. `whole`: the entry that it changes a part of.
fn write(path: &Path, old: &str, new: &str, whole: Option<&str>, yes: bool) -> Result<(), Failure> {
    let shown = path.shown();
    report::message(&format!("in {shown}:\n{}", diff(old, new)));
    if let Some(whole) = whole {
        report::message(&format!("the whole entry is then:\n{}", lines(' ', whole.trim().lines())));
    }
    confirm("Write this change?", yes)?;
    if read(path)? != old {
        return Err(Failure::new(format!("change the client's configuration, which changed meanwhile: {shown}"))
            .hint("run the command again".to_owned()));
    }
    private::replace_text(path, new)
        .map_err(|error| Failure::new(format!("write the client's configuration: {error}: {shown}")))
}

/// Reports why the client may see no tools.
fn report_plugins(config: &Config, dir: &Path) {
    let (folder, program) = (shell_word(dir), config.program());
    // What cannot be read, the server says.
    match choice_in(config, dir) {
        Ok(files) if files.is_empty() => {
            report::message(&format!(
                "there are no plugins in {} yet; to add one: cp plugin.wasm {folder}",
                dir.shown()
            ));
        }
        Ok(_) if config.trust(false) == Trust::Strict => report::message(&format!(
            "the server runs only what is approved; to see what is not: {program} status {folder}"
        )),
        _ => {}
    }
}

/// Clients start servers with few of the user's variables, or none.
fn warn_of_variables(config: &Config, form: Option<Form>) {
    let shared = config.secrets.iter().filter(|(_, secret)| !secret.is_personal());
    let variables = shared.filter_map(|(name, secret)| Some((name, secret.env.as_deref()?)));
    let variables: Vec<_> = variables.collect();
    let Some((first, variable)) = variables.first() else { return };
    let names: Vec<&str> = variables.iter().map(|(_, variable)| *variable).collect();
    warning(&format!("the client may not give the server these variables of its secrets: {}", names.join(", ")));
    let by_entry = match form {
        None => format!("add --env {variable}=… to the command"),
        Some(Form::Toml) => format!("add env = {{ {variable} = \"…\" }} to the client's entry"),
        Some(Form::Json | Form::VsCode) => {
            format!("add \"env\": {{\"{variable}\": \"…\"}} to the client's entry, beside \"args\"")
        }
    };
    hint(Some(&format!(
        "keep each in a file instead: {first} = {{ file = \"{first}\" }} under [secrets]; or {by_entry}"
    )));
}

/// The text of a client's configuration with an entry for the server.
fn with(old: &str, form: Form, start: &Start) -> Result<String, String> {
    match form {
        Form::Toml => toml::with(old, form, start),
        Form::Json | Form::VsCode => json::with(old, form, start),
    }
}

/// The same without one server.
fn without(old: &str, form: Form, name: &str) -> Result<String, String> {
    match form {
        Form::Toml => toml::without(old, form, name),
        Form::Json | Form::VsCode => json::without(old, form, name),
    }
}

/// The entry of a server as the file has it.
fn entry(text: &str, form: Form, name: &str) -> Option<String> {
    match form {
        Form::Toml => toml::entry_in(text, form, name),
        Form::Json | Form::VsCode => json::entry_in(text, form, name),
    }
}

/// What a person does with a file that this command cannot change.
fn by_hand(old: &str, form: Form, start: &Start) -> String {
    let written = match form {
        Form::Toml => toml::by_hand(old, form, start),
        Form::Json | Form::VsCode => json::by_hand(old, form, start),
    };
    written.unwrap_or_else(|| "correct that, then run the command again".to_owned())
}

/// The servers in a client's configuration, and the command of each with its arguments, or its URL.
fn servers(text: &str, form: Form) -> Option<Vec<(String, Vec<String>)>> {
    let whole: Value = match form {
        Form::Toml => ::toml::from_str(text).ok()?,
        Form::Json | Form::VsCode if text.trim().is_empty() => Value::Null,
        Form::Json | Form::VsCode => json::tree(text)?,
    };
    let servers = whole[form.key()].as_object().into_iter().flatten();
    let words = |server: &Value| {
        let arguments = server["args"].as_array().into_iter().flatten();
        [&server["command"], &server["url"]]
            .into_iter()
            .chain(arguments)
            .filter_map(|word| word.as_str().map(str::to_owned))
            .collect()
    };
    Some(servers.map(|(name, server)| (name.clone(), words(server))).collect())
}

/// The clients on this machine, and whether they start this program, for `wharf doctor`. `program` is how commands begin,
/// and `dir` the folder that was given.
pub(super) fn findings(program: &str, dir: Option<&Path>) -> Vec<Finding> {
    let about = "client";
    let dir = dir.map_or_else(String::new, |dir| format!(" {}", shell_word(dir)));
    let mut findings = Vec::new();
    for client in Client::value_variants() {
        let name = client.name();
        let Ok(Some((path, form))) = place(*client) else { continue };
        // A client that was never started has no folder.
        let Ok(text) = files::read_text(&path, MAX_SIZE) else { continue };
        let shown = path.shown();
        let is_valid = client.takes_comments() || json::object(&text).is_ok();
        findings.push(match servers(&text, form).filter(|_| is_valid) {
            Some(servers) if servers.iter().any(|(_, words)| is_wharf(words)) => {
                Finding::good(about, format!("{name}: starts Wharf ({shown})"))
            }
            Some(_) => Finding::missing(
                about,
                format!("{name}: does not start Wharf ({shown})"),
                format!("to add it: {program} install {name}{dir}"),
            ),
            None => Finding::missing(
                about,
                format!("{name}: its configuration cannot be read: {shown}"),
                "correct its JSON or TOML; the client may not start any server as it is",
            ),
        });
    }
    findings
}
