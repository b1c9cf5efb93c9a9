//! `wharf describe`: the description of a command's tool, from what the program says of itself.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use serde_json::{Value, json};
use wharf_report::{ShowPath as _, shell_text};

use super::confirm::confirm;
use super::diff::diff;
use super::folder::plugin_folder;
use super::grant::{check_unchanged, configuration_file, invalid, lock_configuration};
use super::local::Local;
use super::options::Options;
use super::survey::choice_in;
use super::target::{Target, unfound};
use super::wiring::read_only_guard;
use crate::config::{Config, set_tool_file};
use crate::json;
use crate::os::files::FileError;
use crate::os::private;
use crate::pins::approve_command;
use crate::plugin::abi::{Content, ToolOutcome, ToolResult};
use crate::plugin::{COMMAND_TOOL, Call, PluginId, Provider};
use crate::report::{self, Failure, NAME, Screen};
use crate::text::{Leeway, drop_hidden, prefix, printable};

/// Maximum bytes of a description; a tool with a longer one would be refused.
const MAX_DESCRIPTION: usize = 2 << 10;
/// Maximum blanks in a row: more move what follows out of view.
const MAX_BLANKS: usize = 32;
/// Maximum bytes of a file that is there already.
const MAX_FILE: u64 = 128 << 10;

#[derive(Args)]
pub(super) struct DescribeOptions {
    /// The plugin's name: its file name without .wasm; or its file
    name: String,
    /// Folder of .wasm files [default: as for serve]
    dir: Option<PathBuf>,
    /// The argument with which the program prints how it is used
    #[arg(long, value_name = "ARGUMENT", default_value = "--help", allow_hyphen_values = true)]
    arg: String,
    /// Skip the confirmation
    #[arg(long)]
    yes: bool,
}

pub(super) async fn run(options: &Options, how: &DescribeOptions, screen: &Screen) -> Result<ExitCode, Failure> {
    let config = options.config()?;
    let command = format!("{} describe", options.program());
    let Target { id, folder } = Target::of(&config, &command, &how.name, how.dir.as_deref(), &[])?;
    let folder = folder.map_or_else(|| plugin_folder(options, None), Ok)?;
    let files = choice_in(&config, &folder)?;
    let again = format!("{command} {id} DIR");
    let file = files.get(&id).ok_or_else(|| unfound(&id, &folder, &files, how.dir.is_none().then_some(&again)))?;
    let local = Local::load(options, file, screen).await?;
    let tool = local.tool(COMMAND_TOOL).map_err(|_| {
        Failure::usage(format!("describe {id}, which is no command-line program"))
            .hint("other plugins describe their tools themselves".to_owned())
    })?;
    let help = help_of(tool.provider.as_ref(), &how.arg).await?;
    let described = description(&id, &help);
    let edit = Edit::prepare(options, &id, &described)?;
    edit.show();
    confirm(&format!("Write this description of {id}?"), how.yes)?;
    let has_grants = !config.grants(&id).texts().is_empty();
    let needs_approval = read_only_guard(&Arc::new(config))?.pins_surface(&id, has_grants);
    edit.write(&id, (&options.program(), &folder), needs_approval)?;
    Ok(ExitCode::SUCCESS)
}

/// What the program prints about itself.
async fn help_of(provider: &dyn Provider, argument: &str) -> Result<String, Failure> {
    let id = provider.id();
    let arguments: Arc<str> = json!({ "args": [argument] }).to_string().into();
    let outcome = provider.call_tool(COMMAND_TOOL, arguments, Call::new("describe")).await;
    let hint = || {
        format!("name the argument that prints how it is used: --arg=-h; or write the file yourself: {id}.tool.json")
    };
    match outcome {
        Ok(ToolOutcome::Complete(result)) => {
            let text = text_of(&result);
            match result.is_error || text.trim().is_empty() {
                true => Err(Failure::new(format!("read the help of {id}: {}", printable(&text))).hint(hint())),
                false => Ok(text),
            }
        }
        // Its faults are logged.
        _ => Err(Failure::new(format!("read the help of {id}: the program was stopped")).hint(hint())),
    }
}

fn text_of(result: &ToolResult) -> String {
    let text = |content: &Content| match content {
        Content::Text(text) => Some(text.text.clone()),
        _ => None,
    };
    result.content.iter().find_map(text).unwrap_or_default()
}

fn description(id: &PluginId, help: &str) -> String {
    let text = format!(
        "Runs the command-line program {id} with `args`, one string for each argument, and returns what it prints. \
         `stdin` is its standard input. Its help:\n\n{}",
        tidied(help)
    );
    let cut = prefix(&text, MAX_DESCRIPTION);
    // Whole lines, if there is more.
    let end = if cut.len() < text.len() { cut.rfind('\n').unwrap_or(cut.len()) } else { cut.len() };
    cut[..end].trim_end().to_owned()
}

/// The help as descriptions may have it: without hidden characters, blanks at the ends of lines, tabs, and more blanks
/// than a column of options needs.
fn tidied(help: &str) -> String {
    let mut text = help.replace("\r\n", "\n").replace('\r', "\n").replace('\t', "    ");
    drop_hidden(&mut text, &mut Leeway::default());
    let mut lines: Vec<String> = Vec::new();
    for line in text.lines().map(str::trim_end) {
        if line.is_empty() && lines.last().is_none_or(String::is_empty) {
            continue;
        }
        let mut tidy = String::with_capacity(line.len());
        let mut blanks = 0;
        for c in line.chars() {
            blanks = if c == ' ' { blanks + 1 } else { 0 };
            if blanks <= MAX_BLANKS {
                tidy.push(c);
            }
        }
        lines.push(tidy);
    }
    lines.join("\n").trim().to_owned()
}

/// The files that change.
struct Edit {
    configuration: PathBuf,
    before: String,
    after: String,
    file: PathBuf,
    old: String,
    new: String,
}

impl Edit {
    fn prepare(options: &Options, id: &PluginId, description: &str) -> Result<Self, Failure> {
        let configuration = configuration_file(options)?;
        let before = Config::text(&configuration).map_err(invalid)?;
        let config = Config::with_text(&configuration, before.clone()).map_err(invalid)?;
        let named = config.plugins.get(id.as_ref()).and_then(|plugin| plugin.command.tool.clone());
        let (file, after) = match named {
            Some(path) => (config.resolve(Path::new(&path)), before.clone()),
            None => {
                let name = format!("{id}.tool.json");
                let after = set_tool_file(&before, id, &name).map_err(invalid)?;
                (config.resolve(Path::new(&name)), after)
            }
        };
        let old = match private::read_text(&file, MAX_FILE) {
            Err(FileError::System(error)) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            read => read.map_err(|error| Failure::new(format!("read {}: {error}", file.shown())))?,
        };
        let new = described(&old, description)
            .ok_or_else(|| Failure::new(format!("change {}, which is not a JSON object", file.shown())))?;
        Ok(Self { configuration, before, after, file, old, new })
    }

    fn show(&self) {
        report::message(&format!("in {}:\n{}", self.file.shown(), diff(&self.old, &self.new)));
        if self.after != self.before {
            report::message(&format!("in {}:\n{}", self.configuration.shown(), diff(&self.before, &self.after)));
        }
    }

    /// `needs_approval`: what clients are told of it is pinned.
    fn write(&self, id: &PluginId, (program, folder): (&str, &Path), needs_approval: bool) -> Result<(), Failure> {
        let _lock = lock_configuration()?;
        check_unchanged(&self.configuration, &self.before)?;
        // First: the configuration names it.
        for (path, text, is_changed) in
            [(&self.file, &self.new, true), (&self.configuration, &self.after, self.after != self.before)]
        {
            if is_changed {
                private::replace_text(path, text)
                    .map_err(|error| Failure::new(format!("write {}: {error}", path.shown())))?;
            }
        }
        let applies = match self.after != self.before {
            true => "a running server with this configuration uses it within a second".to_owned(),
            false => format!("a running server uses it after SIGHUP, or when {} is saved", {
                shell_text(&self.configuration.shown().to_string())
            }),
        };
        let approved = match needs_approval {
            true => format!(", once it is approved: {}", approve_command(program, id, Some(folder))),
            false => String::new(),
        };
        report::message(&format!("described {NAME}{id}{NAME:#}; {applies}{approved}"));
        Ok(())
    }
}

/// The text of the file with another description; the rest stays.
fn described(old: &str, description: &str) -> Option<String> {
    let mut tool = match old.trim() {
        "" => json!({}),
        old => json::tree(old, json::MAX_DEPTH).ok()?,
    };
    tool.as_object_mut()?.insert("description".to_owned(), Value::from(description));
    serde_json::to_string_pretty(&tool).ok().map(|text| text + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::deceptive_in;

    #[test]
    fn a_long_help_is_cut_at_a_line() {
        let id = PluginId::parse("rg").expect("an id");
        let text = description(&id, &"a line of help\n".repeat(1000));
        assert!(text.len() <= MAX_DESCRIPTION && text.ends_with("a line of help"), "{text}");
        assert!(description(&id, "short\n").ends_with("Its help:\n\nshort"));
    }

    #[test]
    fn a_help_is_as_descriptions_may_be() {
        let help = format!("Usage:\tx  \r\n \n\n\n  -a{}all\u{200b}\n\x1b[1mEnd\n\n", " ".repeat(99));
        let tidy = tidied(&help);
        assert_eq!(tidy, format!("Usage:    x\n\n  -a{}all\n[1mEnd", " ".repeat(32)));
        assert_eq!(deceptive_in(&tidy, &mut Leeway::default()), None);
    }

    #[test]
    fn only_the_description_changes() {
        let old = r#"{"inputSchema":{"type":"object"},"description":"old"}"#;
        let new = described(old, "new").expect("an object");
        assert_eq!(
            json::tree(&new, 8).expect("JSON"),
            json!({ "inputSchema": { "type": "object" }, "description": "new" })
        );
        assert_eq!(described("[]", "new"), None);
    }
}
