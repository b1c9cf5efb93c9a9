//! `wharf dev`: rebuilds a plugin on each change of its sources, into a folder that is being served.
//!
//! The server is `wharf serve` in a separate process with its own OS sandbox. This process starts
//! compilers, which a server must not.

mod address;
mod sources;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;
use tokio::time::timeout;
use wharf_report::ShowPath as _;
use wharf_report::{Failure, NAME, failure, message};

use self::sources::Sources;
use crate::Server;
use crate::build::{build, write_atomically};
use crate::child::{Group, interrupted};
use crate::project::Project;

const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);

#[derive(Args)]
pub struct DevOptions {
    /// Folder to install the component into and to serve, with the plugins that are in it [default:
    /// dist/.dev in the project, with this plugin only]
    #[arg(long, value_name = "FOLDER")]
    serve: Option<PathBuf>,
    /// Address to listen on, as for serve [default: the first free port of 127.0.0.1 from 8080]
    #[arg(long, value_name = "ADDR")]
    http: Option<String>,
    /// Install missing build tools
    #[arg(long)]
    install: bool,
}

pub(crate) async fn run(server: &impl Server, dir: &Path, how: DevOptions) -> Result<ExitCode, Failure> {
    let interrupted = interrupted()?;
    let project = Project::read(dir)?;
    // In another folder, a file with the plugin's name may be somebody else's.
    let (folder, trusted) = match how.serve {
        Some(folder) => (server.folder(folder)?, None),
        None => (own_folder(&project.dir)?, Some(&project.name)),
    };
    let address = address::choose(how.http.as_deref())?;
    let name = &project.name;
    let shown = folder.shown();
    let approval = match trusted {
        Some(_) => "needs no approval there, since you build it",
        None => "is approved there as every plugin",
    };
    message(&format!("{NAME}{name}{NAME:#} is rebuilt into {shown} on each change, and {approval}; stop with Ctrl-C"));
    if let Some(socket) = address.socket {
        message(&format!("add it to Claude Code: {}", server.client_command(name, socket)?));
    }
    let mut sources = Sources::watch(&project.dir)
        .map_err(|error| Failure::new(format!("watch {}: {error}", project.dir.shown())))?;
    let mut server = Group::spawn(server.serve_command(&folder, &address.written, trusted)?)
        .map_err(|error| Failure::new(format!("start the server: {error}")))?;
    tokio::select! {
        never = follow(&mut sources, &project.dir, &folder, how.install) => match never {},
        ended = server.wait() => Err(match ended {
            // The server has logged why.
            Ok(status) => Failure::new(format!("serve {shown}: the server exited with {status}"))
                .hint("choose another address with --http, or 127.0.0.1:0 for a free port".to_owned()),
            Err(error) => Failure::new(format!("wait for the server: {error}")),
        }),
        () = interrupted => {
            server.terminate();
            // Its exit status does not matter during shutdown.
            let _ = timeout(SHUTDOWN_TIMEOUT, server.wait()).await;
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// A folder that only this plugin is served from, without what an earlier run left there.
fn own_folder(project: &Path) -> Result<PathBuf, Failure> {
    let folder = project.join("dist/.dev");
    let failed = |error| Failure::new(format!("create {}: {error}", folder.shown()));
    match fs::remove_dir_all(&folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
        _ => {}
    }
    fs::create_dir_all(&folder).map_err(failed)?;
    Ok(folder)
}

/// Builds once, and again whenever the sources differ from those that were built.
async fn follow(sources: &mut Sources, dir: &Path, folder: &Path, install: bool) -> std::convert::Infallible {
    let (mut built, mut failed) = (None, false);
    loop {
        let current = sources.hash();
        if built != Some(current) {
            built = Some(current);
            failed = match build_into(dir, folder, install).await {
                Ok(summary) => {
                    message(&summary);
                    false
                }
                Err(why) => {
                    failure(&why);
                    true
                }
            };
            // Discard events of the build itself; source changes are detected by their hash.
            sources.discard_events();
            continue;
        }
        sources.changed().await;
        if failed {
            // After a failure, rebuild at any event: the cause may be outside of the sources.
            built = None;
        }
    }
}

async fn build_into(dir: &Path, folder: &Path, install: bool) -> Result<String, Failure> {
    let started = Instant::now();
    let project = Project::read(dir)?;
    let file = format!("{}.wasm", project.name);
    let component = project.dir.join("dist").join(&file);
    build(&project, install, &component).await?;
    let served = folder.join(&file);
    std::fs::read(&component)
        .and_then(|bytes| write_atomically(&served, &bytes))
        .map_err(|error| Failure::new(format!("write the component: {error}: {}", served.shown())))?;
    Ok(format!("built {NAME}{}{NAME:#} in {:.1} s", project.name, started.elapsed().as_secs_f64()))
}
