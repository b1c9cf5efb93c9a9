//! `wharf build`: from sources to a component, with the language's own tools.

mod c;
mod component;
mod go;
mod python;
mod rust;
mod script;
mod tool;
mod world;

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;

use self::tool::Tools;
use super::Options;
use super::child::interrupted;
use super::language::Language;
use super::local::load_file;
use super::project::Project;
use super::serve::plugin_settings;
use crate::audit::Audit;
use crate::catalog::PluginSettings;
use crate::plugin::{Plugin, Provider as _};
use crate::report::{self, Failure, NAME};

#[derive(Args)]
pub(super) struct BuildOptions {
    /// Where to write the component [default: dist/NAME.wasm in the folder]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Install what the build needs and is not there, with the commands that it would only name
    #[arg(long)]
    install: bool,
}

pub(super) async fn run(options: &Options, dir: &Path, how: &BuildOptions) -> Result<ExitCode, Failure> {
    let interrupted = interrupted()?;
    let project = Project::read(dir)?;
    tokio::select! {
        outcome = build_and_tell(options, &project, how) => outcome,
        // What was started ends with what is dropped here.
        () = interrupted => Ok(ExitCode::from(130)),
    }
}

async fn build_and_tell(options: &Options, project: &Project, how: &BuildOptions) -> Result<ExitCode, Failure> {
    let out = match &how.out {
        Some(out) => out.clone(),
        None => project.dir.join("dist").join(format!("{}.wasm", project.name)),
    };
    build(project, how.install, &out).await?;
    let plugin = load(options, project, &out).await?;
    report::tell(&offer(&plugin));
    report::print(&out.display().to_string())?;
    Ok(ExitCode::SUCCESS)
}

/// Builds the project and puts the component there.
pub(super) async fn build(project: &Project, install: bool, out: &Path) -> Result<(), Failure> {
    let work = project.dir.join("dist/.build");
    // What the last build left there may be of other sources.
    let _ = fs::remove_dir_all(&work);
    fs::create_dir_all(&work).map_err(|error| Failure::new(format!("make {}: {error}", work.display())))?;
    let tools = Tools { project, install };
    let component = match project.language {
        Language::Rust => rust::build(&tools, &work).await?,
        Language::TypeScript | Language::JavaScript => script::build(&tools, &work).await?,
        Language::Python => python::build(&tools, &work).await?,
        Language::Go => go::build(&tools, &work).await?,
        Language::C | Language::Cpp => c::build(&tools, &work).await?,
    };
    fs::read(&component)
        .and_then(|component| write_whole(out, &component))
        .map_err(|error| Failure::new(format!("write the component: {error}: {}", out.display())))?;
    // After a failure it is there to be looked into.
    let _ = fs::remove_dir_all(&work);
    Ok(())
}

/// Nobody who watches the folder sees half of it, and nobody else may write to it: such a file
/// would not be served.
pub(super) fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?.to_string_lossy();
    let aside = path.with_file_name(format!(".{name}.part"));
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let _ = fs::remove_file(&aside);
    let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o644).open(&aside)?;
    file.write_all(bytes)?;
    fs::rename(&aside, path)
}

/// Loads the component as a server would, without any grant.
async fn load(options: &Options, project: &Project, out: &Path) -> Result<Plugin, Failure> {
    let config = options.config()?;
    let sandbox = options.sandbox(&config, &[out.to_owned()], Audit::default()).await?;
    let settings = plugin_settings(&config, &project.name);
    let grants = settings.grants.none();
    load_file(&sandbox, out, &project.name, PluginSettings { grants, ..settings })
        .await
        .map_err(|error| Failure::new(format!("{error}: {}", out.display())).hint(error.hint().map(str::to_owned)))
}

/// What it offers, in a few lines.
fn offer(plugin: &Plugin) -> String {
    let surface = plugin.surface();
    let tools = surface.tools.iter().flatten().map(|frozen| &*frozen.tool.name);
    let resources = surface.resources.iter().flatten().map(|resource| &*resource.uri);
    let templates = surface.templates.iter().map(|frozen| &*frozen.template.uri_template);
    let prompts = surface.prompts.iter().flatten().map(|prompt| &*prompt.name);
    let mut text = format!("built {NAME}{}{NAME:#}", plugin.id());
    for (what, names) in [
        ("tools", tools.collect::<Vec<_>>()),
        ("resources", resources.chain(templates).collect()),
        ("prompts", prompts.collect()),
    ] {
        if !names.is_empty() {
            text += &format!("\n  {what:<9} {}", names.join(", "));
        }
    }
    for warning in plugin.warnings() {
        text += &format!("\n  warning   {warning}");
    }
    text
}
