//! `wharf install`: adds the server to the configuration of an MCP client, or removes it.
//!
//! Places and forms, as their makers document them: Claude Desktop (modelcontextprotocol.io, "Connect to local MCP
//! servers"), Claude Code (`claude mcp add --help`), Cursor (cursor.com/docs, "MCP"), VS Code
//! (code.visualstudio.com, "MCP configuration reference"), Gemini CLI (docs/tools/mcp-server.md in its repository),
//! Codex (developers.openai.com/codex/mcp).

use std::io;
use std::path::{Component, Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use serde_json::{Map, Value, json};
use toml_edit::DocumentMut;
use wharf_report::{ShowPath as _, hint, shell_word, warning};

use super::commented_json::without_comments;
use super::confirm::confirm;
use super::diff::{diff, lines};
use super::finding::Finding;
use super::folder::plugin_folder;
use super::options::Options;
use crate::config::{self, Config};
use crate::json;
use crate::os::files::{self, FileError};
use crate::os::{application_settings, private};
use crate::report::{self, Failure, NAME};

/// Bytes of a client's configuration. Some keep other settings in the same file.
const MAX_SIZE: u64 = 4 << 20;

/// The option of the server that an entry repeats.
const CONFIG: &str = "--config";

/// The clients whose configuration is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Client {
    ClaudeDesktop,
    ClaudeCode,
    Cursor,
    Vscode,
    Gemini,
    Codex,
}

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
    #[arg(long, conflicts_with = "dir")]
    undo: bool,
    /// Skip the confirmation
    #[arg(long)]
    yes: bool,
}

/// How a client starts the server.
struct Start {
    name: String,
    program: String,
    arguments: Vec<String>,
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
    let start = Start::of(options, &plugin_folder(options, dir)?, name)?;
    let Some((path, form)) = place(client)? else {
        report::message(
            "Claude Code writes its own configuration; this command adds the server for you, in all projects:",
        );
        report::print(&start.claude_code())?;
        warn_of_variables(&config, None);
        return Ok(ExitCode::SUCCESS);
    };
    let shown = path.shown();
    let old = read(&path)?;
    let new = start.add(&old, form).map(|new| with_line_ends(&old, new)).map_err(|why| {
        Failure::new(format!("change the client's configuration: {why}: {shown}")).hint(start.by_hand(&old, form))
    })?;
    let name = &start.name;
    if new == old {
        report::message(&format!("{NAME}{name}{NAME:#} is there already, in {shown}"));
        warn_of_variables(&config, Some(form));
        return Ok(ExitCode::SUCCESS);
    }
    let is_there = has_entry(&old, form, name);
    // What stays of an entry, such as its variables, is agreed to as well.
    let whole = if is_there { entry(&new, form, name) } else { None };
    write(&path, &old, &new, whole.as_deref(), yes)?;
    let done = if is_there { "replaced" } else { "added" };
    report::message(&format!("{done} {NAME}{name}{NAME:#}; restart the client, or reload its MCP servers"));
    warn_of_variables(&config, Some(form));
    let own = if name == "wharf" { String::new() } else { format!(" --name {name}") };
    hint(Some(&format!("to remove it again: {} install {} --undo{own}", options.program(), client_name(client))));
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
    let new = without(&old, form, name).map(|new| with_line_ends(&old, new)).map_err(|why| {
        Failure::new(format!("change the client's configuration: {why}: {shown}"))
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

/// The new text with the line ends of the old one, as `\r\n` of Windows.
fn with_line_ends(old: &str, new: String) -> String {
    let ends_so = |line: &str| line.ends_with("\r\n");
    let are_so = old.contains('\n') && old.split_inclusive('\n').filter(|line| line.ends_with('\n')).all(ends_so);
    if are_so { new.replace("\r\n", "\n").replace('\n', "\r\n") } else { new }
}

/// The entry of a server as the file has it.
fn entry(text: &str, form: Form, name: &str) -> Option<String> {
    if let Form::Toml = form {
        let document: DocumentMut = text.parse().ok()?;
        return Some(document.get(form.key())?.get(name)?.to_string());
    }
    serde_json::to_string_pretty(object(text).ok()?.get(form.key())?.get(name)?).ok()
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

/// Clients start servers with few of the user's variables, or none.
fn warn_of_variables(config: &Config, form: Option<Form>) {
    let variables = config.secrets.iter().filter_map(|(name, secret)| Some((name, secret.env.as_deref()?)));
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

fn client_name(client: Client) -> String {
    client.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
}

/// The clients on this machine, and whether they start this program, for `wharf doctor`. `program` is how commands begin,
/// and `dir` the folder that was given.
pub(super) fn findings(program: &str, dir: Option<&Path>) -> Vec<Finding> {
    let about = "client";
    let dir = dir.map_or_else(String::new, |dir| format!(" {}", shell_word(dir)));
    let mut findings = Vec::new();
    for client in Client::value_variants() {
        let Some(name) = client.to_possible_value() else { continue };
        let name = name.get_name();
        let Ok(Some((path, form))) = place(*client) else { continue };
        // A client that was never started has no folder.
        let Ok(text) = files::read_text(&path, MAX_SIZE) else { continue };
        let shown = path.shown();
        // It reads plain JSON.
        let is_valid = *client != Client::ClaudeDesktop || object(&text).is_ok();
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

/// The servers in a client's configuration, and the command of each with its arguments.
fn servers(text: &str, form: Form) -> Option<Vec<(String, Vec<String>)>> {
    let whole: Value = match form {
        Form::Toml => toml::from_str(text).ok()?,
        Form::Json | Form::VsCode if text.trim().is_empty() => Value::Null,
        Form::Json | Form::VsCode => tree(text)?,
    };
    let servers = whole[form.key()].as_object().into_iter().flatten();
    let words = |server: &Value| {
        let arguments = server["args"].as_array().into_iter().flatten();
        [&server["command"]].into_iter().chain(arguments).filter_map(|word| word.as_str().map(str::to_owned)).collect()
    };
    Some(servers.map(|(name, server)| (name.clone(), words(server))).collect())
}

/// JSON, which may have comments.
fn tree(text: &str) -> Option<Value> {
    json::tree(text, json::MAX_DEPTH).or_else(|_| json::tree(&without_comments(text), json::MAX_DEPTH)).ok()
}

fn has_entry(text: &str, form: Form, name: &str) -> bool {
    servers(text, form).unwrap_or_default().iter().any(|(own, _)| own == name)
}

/// The text of a client's configuration without one server.
fn without(old: &str, form: Form, name: &str) -> Result<String, String> {
    if let Form::Toml = form {
        let mut document: DocumentMut = old.parse().map_err(|error: toml_edit::TomlError| error.to_string())?;
        let servers = document.get_mut(form.key()).and_then(|servers| servers.as_table_like_mut());
        return Ok(match servers.and_then(|servers| servers.remove(name)) {
            Some(_) => document.to_string(),
            None => old.to_owned(),
        });
    }
    let mut whole = object(old)?;
    let servers = whole.get_mut(form.key()).and_then(Value::as_object_mut);
    // The order of the others stays.
    if servers.and_then(|servers| servers.shift_remove(name)).is_none() {
        return Ok(old.to_owned());
    }
    pretty(&whole)
}

/// The members of a configuration that is JSON.
fn object(text: &str) -> Result<Map<String, Value>, String> {
    match text.trim() {
        "" => Ok(Map::new()),
        text => match json::tree(text, json::MAX_DEPTH) {
            Ok(Value::Object(whole)) => Ok(whole),
            Ok(_) => Err("it is not a JSON object".to_owned()),
            // Comments, which some clients allow, would be lost.
            Err(error) => Err(format!("it is not plain JSON: {error}")),
        },
    }
}

fn pretty(whole: &Map<String, Value>) -> Result<String, String> {
    serde_json::to_string_pretty(whole).map(|text| text + "\n").map_err(|error| error.to_string())
}

/// Whether it starts Wharf, itself or by its package, as `npx -y wharf-mcp serve` does.
fn is_wharf(words: &[String]) -> bool {
    let is_program = |word: &String| Path::new(word).file_stem().is_some_and(|stem| stem == "wharf");
    let is_package = |word: &String| {
        let name = Path::new(word).file_name().and_then(|name| name.to_str()).unwrap_or_default();
        ["wharf-mcp", "wharf-mcp.exe"].contains(&name.split('@').next().unwrap_or_default())
    };
    let is_named = |word: &String| !word.contains(['/', '\\']) && is_package(word);
    words.first().is_some_and(|word| is_program(word) || is_package(word)) || words.iter().any(is_named)
}

/// The key of the servers, in a JSON or TOML file.
#[derive(Clone, Copy)]
enum Form {
    /// `"mcpServers"`
    Json,
    /// `"servers"`, each with its type
    VsCode,
    /// `[mcp_servers.NAME]`
    Toml,
}

impl Form {
    fn key(self) -> &'static str {
        match self {
            Self::Json => "mcpServers",
            Self::VsCode => "servers",
            Self::Toml => "mcp_servers",
        }
    }
}

/// The file of a client; `None` for one that is configured by its own command.
fn place(client: Client) -> Result<Option<(PathBuf, Form)>, Failure> {
    let unknown = || Failure::usage("find the client's configuration: no home folder");
    let home = || config::base().map(|base| base.home).ok_or_else(unknown);
    let settings = || application_settings().ok_or_else(unknown);
    Ok(Some(match client {
        Client::ClaudeCode => return Ok(None),
        Client::ClaudeDesktop => (settings()?.join("Claude/claude_desktop_config.json"), Form::Json),
        Client::Cursor => (home()?.join(".cursor/mcp.json"), Form::Json),
        Client::Vscode => (settings()?.join("Code/User/mcp.json"), Form::VsCode),
        Client::Gemini => (home()?.join(".gemini/settings.json"), Form::Json),
        Client::Codex => {
            let own = std::env::var_os("CODEX_HOME").filter(|own| !own.is_empty()).map(PathBuf::from);
            (own.map_or_else(|| Ok(home()?.join(".codex")), Ok)?.join("config.toml"), Form::Toml)
        }
    }))
}

impl Start {
    /// With absolute paths: clients start it in any folder, and often without the user's PATH.
    fn of(options: &Options, dir: &Path, name: String) -> Result<Self, Failure> {
        let text = |path: &Path| {
            // Through a link, `..` leads elsewhere than the text says.
            let climbs = path.components().any(|part| part == Component::ParentDir);
            let found = climbs.then(|| std::fs::canonicalize(path).ok()).flatten();
            let path = found.or_else(|| std::path::absolute(path).ok()).unwrap_or_else(|| path.to_owned());
            path.to_str().map(str::to_owned).ok_or_else(|| {
                Failure::usage(format!("write a path that is not UTF-8 into a configuration: {}", path.shown()))
            })
        };
        let program = std::env::current_exe().map_err(|error| Failure::new(format!("find this program: {error}")))?;
        let mut arguments = vec!["serve".to_owned(), text(dir)?];
        if let Some(config) = &options.config {
            arguments.extend([CONFIG.to_owned(), text(config)?]);
        }
        Ok(Self { name, program: text(&program)?, arguments })
    }

    fn claude_code(&self) -> String {
        let words = [&self.program].into_iter().chain(&self.arguments);
        // A path that begins like an option is spelt otherwise; this one is an option.
        let word = |word: &String| if word == CONFIG { CONFIG.to_owned() } else { shell_word(word.as_ref()) };
        let words: Vec<String> = words.map(word).collect();
        format!("claude mcp add --scope user {} -- {}", self.name, words.join(" "))
    }

    fn json(&self, form: Form) -> Value {
        match form {
            Form::VsCode => json!({"type": "stdio", "command": self.program, "args": self.arguments}),
            Form::Json | Form::Toml => json!({"command": self.program, "args": self.arguments}),
        }
    }

    /// What a person does with a file that this command cannot change.
    fn by_hand(&self, old: &str, form: Form) -> String {
        let (key, name) = (form.key(), &self.name);
        let whole = match form {
            Form::Toml => Value::Null,
            Form::Json | Form::VsCode => tree(old).unwrap_or_default(),
        };
        let entry = format!("\"{name}\": {}", self.json(form));
        match (whole.is_object(), whole.get(key)) {
            (true, None) => format!("add this to its outermost object, after a comma: \"{key}\": {{{entry}}}"),
            (_, Some(Value::Object(servers))) if servers.contains_key(name) => {
                format!("replace {name:?} in its {key:?} by this: {entry}")
            }
            (_, Some(Value::Object(servers))) if servers.is_empty() => format!("add this in its {key:?}: {entry}"),
            (_, Some(Value::Object(_))) => format!("add this in its {key:?}, after a comma: {entry}"),
            _ => "correct that, then run the command again".to_owned(),
        }
    }

    fn add(&self, old: &str, form: Form) -> Result<String, String> {
        match form {
            Form::Toml => self.add_to_toml(old),
            Form::Json | Form::VsCode => self.add_to_json(old, form),
        }
    }

    fn add_to_json(&self, old: &str, form: Form) -> Result<String, String> {
        let mut whole = object(old)?;
        let key = form.key();
        let servers = whole.entry(key).or_insert_with(|| Value::Object(Map::new()));
        let servers = servers.as_object_mut().ok_or_else(|| format!("{key:?} is not an object"))?;
        let mut wanted = self.json(form);
        // Variables that the person has added.
        if let Some(env) = servers.get(&self.name).and_then(|own| own.get("env")) {
            wanted["env"] = env.clone();
        }
        if servers.get(&self.name) == Some(&wanted) {
            return Ok(old.to_owned());
        }
        servers.insert(self.name.clone(), wanted);
        pretty(&whole)
    }

    fn add_to_toml(&self, old: &str) -> Result<String, String> {
        let mut document: DocumentMut = old.parse().map_err(|error: toml_edit::TomlError| error.to_string())?;
        let implicit = || {
            let mut table = toml_edit::Table::new();
            table.set_implicit(true);
            toml_edit::Item::Table(table)
        };
        let servers = document.entry("mcp_servers").or_insert_with(implicit);
        let servers = servers.as_table_like_mut().ok_or("`mcp_servers` is not a table")?;
        let own = servers.entry(&self.name).or_insert_with(|| toml_edit::Item::Table(toml_edit::Table::new()));
        let own = own.as_table_like_mut().ok_or_else(|| format!("`mcp_servers.{}` is not a table", self.name))?;
        let arguments: toml_edit::Array = self.arguments.iter().collect();
        let is = |own: &dyn toml_edit::TableLike| {
            let found = own
                .get("args")
                .and_then(|args| args.as_array())
                .map(|args| args.iter().filter_map(|arg| arg.as_str()).map(str::to_owned).collect::<Vec<_>>());
            own.get("command").and_then(|command| command.as_str()) == Some(&self.program)
                && found.as_ref() == Some(&self.arguments)
        };
        if !is(own) {
            own.insert("command", toml_edit::value(&self.program));
            own.insert("args", toml_edit::value(arguments));
        }
        Ok(document.to_string())
    }
}
