//! `wharf dev`: sources are built whenever they change, into a folder that is served meanwhile.
//!
//! The server is `wharf serve` in a process of its own, behind its own walls. This process
//! starts compilers, which a server must not.

mod sources;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;
use tokio::process::Command;
use tokio::time::timeout;

use self::sources::Sources;
use super::build::{build, write_whole};
use super::child::{Group, interrupted};
use super::project::Project;
use super::{Options, plugin_folder, this_program};
use crate::report::{self, Failure, NAME};

/// What goes into service, what plugins log, and each call.
const SHOWN: &str = "info,guest=debug,call=debug";
/// For the server's last words.
const ENDING: Duration = Duration::from_secs(5);

#[derive(Args)]
pub(super) struct DevOptions {
    /// Folder to put the component into, and to serve [default: as for serve]
    #[arg(long, value_name = "FOLDER")]
    serve: Option<PathBuf>,
    /// Where to serve, as for serve
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8080")]
    http: String,
    /// Install what the build needs and is not there
    #[arg(long)]
    install: bool,
}

pub(super) async fn run(options: &Options, dir: &Path, how: DevOptions) -> Result<ExitCode, Failure> {
    let interrupted = interrupted()?;
    let project = Project::read(dir)?;
    let folder = plugin_folder(how.serve)?;
    let mut sources = Sources::watch(&project.dir)
        .map_err(|error| Failure::new(format!("watch {}: {error}", project.dir.display())))?;
    let mut server = Group::spawn(server(options, &folder, &how.http)?)
        .map_err(|error| Failure::new(format!("start the server: {error}")))?;
    let (shown, name) = (folder.display(), &project.name);
    report::tell(&format!("{NAME}{name}{NAME:#} is built into {shown} at each change; stop with Ctrl-C"));
    tokio::select! {
        never = follow(&mut sources, &project.dir, &folder, how.install) => match never {},
        ended = server.wait() => Err(match ended {
            // It has said why.
            Ok(status) => Failure::new(format!("serve {shown}: the server ended with {status}"))
                .hint("choose another address with --http, or 127.0.0.1:0 for any that is free".to_owned()),
            Err(error) => Failure::new(format!("wait for the server: {error}")),
        }),
        () = interrupted => {
            server.terminate();
            // Whatever it says now, it is over.
            let _ = timeout(ENDING, server.wait()).await;
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// `wharf serve` with the options of this command.
fn server(options: &Options, folder: &Path, address: &str) -> Result<Command, Failure> {
    let program = this_program().map_err(|error| Failure::new(format!("start the server: {error}")))?;
    let mut command = Command::new(program);
    command.arg("serve").arg(folder).args(["--http", address]);
    command.args(["--log", options.log.as_deref().unwrap_or(SHOWN)]);
    for (option, path) in [("--config", &options.config), ("--cache", &options.cache)] {
        if let Some(path) = path {
            command.arg(option).arg(path);
        }
    }
    command.stdin(std::process::Stdio::null());
    Ok(command)
}

/// Builds once, and again whenever what was built is no longer what is there.
async fn follow(sources: &mut Sources, dir: &Path, folder: &Path, install: bool) -> std::convert::Infallible {
    let (mut built, mut failed) = (None, false);
    loop {
        let now = sources.look();
        if built != Some(now) {
            built = Some(now);
            failed = match build_into(dir, folder, install).await {
                Ok(told) => {
                    report::tell(&told);
                    false
                }
                Err(failure) => {
                    report::failure(&failure);
                    true
                }
            };
            // What the build itself wrote; a change of the sources is seen by the next look.
            sources.forget();
            continue;
        }
        sources.changed().await;
        if failed {
            // What was missing may be outside of the sources, and somebody saved to try again.
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
        .and_then(|bytes| write_whole(&served, &bytes))
        .map_err(|error| Failure::new(format!("write the component: {error}: {}", served.display())))?;
    Ok(format!("built {NAME}{}{NAME:#} in {:.1} s", project.name, started.elapsed().as_secs_f64()))
}
