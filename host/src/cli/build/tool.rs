//! The programs that a build needs: found where the project has them, and run.

use std::env;
use std::io;
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use tokio::io::AsyncReadExt as _;
use tokio::process::Command;

use crate::cli::child::Group;
use crate::cli::project::Project;
use crate::report::{self, Failure, NAME};

/// A program, and the command that installs it, to be given to a shell in the project's folder.
#[derive(Clone, Copy)]
pub(super) struct Tool {
    pub(super) program: &'static str,
    pub(super) install: &'static str,
}

/// What a build of one project may use.
pub(super) struct Tools<'p> {
    pub(super) project: &'p Project,
    /// Install what is missing, and do not only say how.
    pub(super) install: bool,
}

impl Tools<'_> {
    /// Where the program is.
    pub(super) async fn find(&self, tool: &Tool) -> Result<PathBuf, Failure> {
        if let Some(found) = which(&self.project.dir, tool.program) {
            return Ok(found);
        }
        if self.install {
            self.install(tool.install).await?;
            if let Some(found) = which(&self.project.dir, tool.program) {
                return Ok(found);
            }
        }
        Err(Failure::new(format!("find {}, which the build needs", tool.program)).hint(self.how(tool.install)))
    }

    /// The advice to install something.
    pub(super) fn how(&self, command: &str) -> String {
        format!("in {}: {command}   (or wharf build --install)", self.project.dir.display())
    }

    pub(super) async fn install(&self, line: &str) -> Result<(), Failure> {
        let mut shell = self.command(Path::new("sh"));
        shell.args(["-c", line]);
        report::tell(&format!("{NAME}${NAME:#} {line}"));
        run(shell).await
    }

    /// A program to be started in the project's folder.
    pub(super) fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.project.dir);
        command
    }
}

/// The project's own programs come before those of the system.
fn which(dir: &Path, program: &str) -> Option<PathBuf> {
    let own = ["node_modules/.bin", ".venv/bin"].map(|folder| dir.join(folder));
    let path = env::var_os("PATH").unwrap_or_default();
    own.into_iter().chain(env::split_paths(&path)).map(|folder| folder.join(program)).find(|file| is_program(file))
}

pub(super) fn is_program(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    file.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

/// Runs a program to its end. What it says goes to stderr as it is, all of it: stdout is data.
pub(super) async fn run(mut command: Command) -> Result<(), Failure> {
    let out = io::stderr().as_fd().try_clone_to_owned();
    command.stdout(out.map_or_else(|_| Stdio::null(), Stdio::from));
    finish(command).await.map(drop)
}

/// The same for one whose stdout is wanted.
pub(super) async fn output(mut command: Command) -> Result<Vec<u8>, Failure> {
    command.stdout(Stdio::piped());
    finish(command).await
}

async fn finish(mut command: Command) -> Result<Vec<u8>, Failure> {
    let name = Path::new(command.as_std().get_program()).file_name().unwrap_or_default().to_string_lossy().into_owned();
    let failed = |error: io::Error| Failure::new(format!("run {name}: {error}"));
    command.stdin(Stdio::null());
    let mut group = Group::spawn(command).map_err(failed)?;
    let mut output = Vec::new();
    if let Some(mut stdout) = group.child.stdout.take() {
        stdout.read_to_end(&mut output).await.map_err(failed)?;
    }
    let status = group.wait().await.map_err(failed)?;
    if status.success() { Ok(output) } else { Err(Failure::new(format!("build: {name} ended with {status}"))) }
}
