//! `wharf build`: builds a component from sources with the language's tools.

mod c;
mod component;
mod go;
mod guessed;
mod packages;
mod producers;
mod python;
pub(crate) mod rust;
mod script;
mod tool;
mod world;

use std::fs::{self, File, Metadata};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use tokio::time::sleep;
use wharf_report::ShowPath as _;
use wharf_report::{Failure, Screen, message, print};

use self::packages::Packages;
use self::producers::with_producers;
use self::tool::Tools;
pub(crate) use self::tool::{LAST_LINES_WITHIN, on_path, read};
use crate::child::interrupted;
use crate::language::Language;
use crate::lock::{Attempt, try_lock};
use crate::project::Project;
use crate::{Server, files, os, wrapper};

/// Between attempts to lock a project.
const LOCK_INTERVAL: Duration = Duration::from_millis(100);

#[derive(Args)]
pub struct BuildOptions {
    /// Where to write the component [default: dist/NAME.wasm in the folder]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Install missing build tools by running the commands that the hint would show
    #[arg(long)]
    install: bool,
}

pub(crate) async fn run(
    server: &impl Server,
    dir: &Path,
    how: &BuildOptions,
    screen: &Screen,
) -> Result<ExitCode, Failure> {
    let interrupted = interrupted()?;
    let project = Project::read(dir)?;
    wrapper::warn(&project);
    tokio::select! {
        outcome = build_and_describe(server, &project, how, screen) => outcome,
        // Dropping the build ends its child processes.
        () = interrupted => {
            screen.end_progress();
            Ok(ExitCode::from(130))
        }
    }
}

async fn build_and_describe(
    server: &impl Server,
    project: &Project,
    how: &BuildOptions,
    screen: &Screen,
) -> Result<ExitCode, Failure> {
    let out = match &how.out {
        Some(out) => out.clone(),
        None => project.dir.join("dist").join(format!("{}.wasm", project.name)),
    };
    let component = Arc::new(build(project, how.install, screen).await?);
    let skills = project.dir.join("skills");
    let described = server.describe(&project.name, component.clone(), Some(&skills), &out);
    let described = screen.timed(&format!("compiling {}", project.name), described).await;
    // One that would not load too, for `wharf check` and other tools.
    install(described.as_ref().map_or(component.as_slice(), |described| &described.component), &out)?;
    let described = described?;
    message(&described.text);
    print(&out.shown().to_string())?;
    if described.is_whole {
        return Ok(ExitCode::SUCCESS);
    }
    Err(Failure::new(format!("serve all that {} lists: see the warnings above", project.name)))
}

/// Builds the project and returns the component.
pub(crate) async fn build(project: &Project, install: bool, screen: &Screen) -> Result<Vec<u8>, Failure> {
    project.source()?;
    wrapper::restore(project)?;
    let dist = output_folder(project)?;
    let _lock = lock(&dist).await?;
    let work = dist.join(".build");
    // Files of an earlier build may be stale.
    let _ = fs::remove_dir_all(&work);
    fs::create_dir_all(&work).map_err(|error| Failure::new(format!("create {}: {error}", work.shown())))?;
    let packages = packages_of(project.language);
    let tools = Tools { project, packages, install, screen };
    tools.update().await?;
    let built = match project.language {
        Language::Rust => rust::build(&tools, &work).await,
        Language::TypeScript | Language::JavaScript => script::build(&tools, &work).await,
        Language::Python => python::build(&tools, &work).await,
        Language::Go => go::build(&tools, &work).await,
        Language::C | Language::Cpp => c::build(&tools, &work).await,
    };
    let component = built.map_err(|failure| tools.with_advice(failure))?;
    let component = fs::read(&component)
        .map_err(|error| Failure::new(format!("read the component: {error}: {}", component.shown())))?;
    // Kept after a failure, for inspection.
    let _ = fs::remove_dir_all(&work);
    Ok(with_producers(component, project.language))
}

/// Waits until no other build uses the project's folders, such as that of `wharf dev`.
async fn lock(dist: &Path) -> Result<File, Failure> {
    let path = dist.join(".build.lock");
    let mut is_told = false;
    loop {
        match try_lock(&path)? {
            Attempt::Held(file) => return Ok(file),
            Attempt::Taken(_) if !is_told => message("waiting for another build of this project"),
            Attempt::Taken(_) => {}
        }
        is_told = true;
        sleep(LOCK_INTERVAL).await;
    }
}

/// The packages that builds install into a project, besides compilers.
fn packages_of(language: Language) -> Option<Packages> {
    match language {
        Language::TypeScript | Language::JavaScript => Some(script::PACKAGES),
        Language::Python => Some(python::PACKAGES),
        // cargo and go fetch what the project lists; C has no packages.
        Language::Rust | Language::Go | Language::C | Language::Cpp => None,
    }
}

/// The folder `dist` of the project, in which files are removed and written.
///
/// # Errors
/// If it is a link: that would happen outside of the project.
pub(crate) fn output_folder(project: &Project) -> Result<PathBuf, Failure> {
    let dist = project.dir.join("dist");
    files::require_no_link(&dist)?;
    Ok(dist)
}

/// Puts a component where it is served from.
///
/// # Errors
/// If the file cannot be written.
pub fn install(component: &[u8], out: &Path) -> Result<(), Failure> {
    write_atomically(out, component, None).map_err(|error| not_written(&error, out))
}

/// The same with the mode of the file that was there.
///
/// # Errors
/// If the file cannot be read or written.
pub fn replace(component: &[u8], out: &Path) -> Result<(), Failure> {
    let written = fs::metadata(out).and_then(|found| write_atomically(out, component, Some(&found)));
    written.map_err(|error| not_written(&error, out))
}

fn not_written(error: &io::Error, out: &Path) -> Failure {
    Failure::new(format!("write the component: {error}: {}", out.shown()))
}

/// Atomic, so that no watcher sees an incomplete file. The file is not writable by other users: it would
/// not be served. It gets the mode of `like` otherwise.
fn write_atomically(path: &Path, bytes: &[u8], like: Option<&Metadata>) -> io::Result<()> {
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?.to_string_lossy();
    let temporary = path.with_file_name(format!(".{name}.part"));
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let _ = fs::remove_file(&temporary);
    let mut file = os::create_new(&temporary)?;
    file.write_all(bytes)?;
    if let Some(like) = like {
        os::copy_mode(like, &file)?;
    }
    fs::rename(&temporary, path)
}
