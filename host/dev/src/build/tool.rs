//! Finds and runs the programs that a build needs.

use std::env;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Output, Stdio};

use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::Command;
use wharf_report::ShowPath as _;
use wharf_report::{Failure, NAME, message};

use crate::child::Group;
use crate::os;
use crate::project::Project;

/// A program, and the shell command that installs it, run in the project's folder.
#[derive(Clone, Copy)]
pub(super) struct Tool {
    pub(super) program: &'static str,
    pub(super) install: &'static str,
}

/// The tools of one project's build.
pub(super) struct Tools<'p> {
    pub(super) project: &'p Project,
    /// Install missing tools, instead of only printing how.
    pub(super) install: bool,
}

impl Tools<'_> {
    /// The path of the program; installs it if it is missing and `install` is set.
    pub(super) async fn find(&self, tool: &Tool) -> Result<PathBuf, Failure> {
        if let Some(found) = self.which(tool.program) {
            return Ok(found);
        }
        if self.install {
            self.install(tool.install).await?;
            if let Some(found) = self.which(tool.program) {
                return Ok(found);
            }
        }
        Err(Failure::new(format!("find {}, which the build needs", tool.program)).hint(self.how(tool.install)))
    }

    /// The project's programs take precedence over those in `PATH`. Node packages are also searched in
    /// parent folders, as Node does.
    pub(super) fn which(&self, program: &str) -> Option<PathBuf> {
        let dir = &self.project.dir;
        let modules = dir.ancestors().map(|folder| folder.join("node_modules/.bin"));
        let mut own = [dir.join(os::VENV_PROGRAMS)].into_iter().chain(modules);
        own.find_map(|folder| os::program(&folder, program)).or_else(|| on_path(program))
    }

    /// The hint to install something.
    pub(super) fn how(&self, command: &str) -> String {
        format!("in {}: {command}   (or wharf build --install)", self.project.dir.shown())
    }

    pub(super) async fn install(&self, line: &str) -> Result<(), Failure> {
        let [shell, option] = os::SHELL;
        let mut shell = self.command(Path::new(shell));
        shell.args([option, line]);
        message(&format!("{NAME}${NAME:#} {line}"));
        run(shell).await
    }

    /// A command that runs in the project's folder.
    pub(super) fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.project.dir);
        command
    }
}

/// A program in `PATH`.
pub(crate) fn on_path(program: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).find_map(|folder| os::program(&folder, program))
}

/// Runs a program until it exits. Its output goes to stderr unchanged: stdout is for data.
pub(super) async fn run(mut command: Command) -> Result<(), Failure> {
    command.stdout(io::stderr());
    let name = name_of(&command);
    check(&name, finish(command).await?.status)
}

/// As [`run`], returning stdout.
pub(super) async fn output(mut command: Command) -> Result<Vec<u8>, Failure> {
    command.stdout(Stdio::piped());
    let name = name_of(&command);
    let output = finish(command).await?;
    check(&name, output.status).map(|()| output.stdout)
}

/// As [`run`], returning stderr, as an error if it fails, for messages that need rewriting.
pub(super) async fn captured(mut command: Command) -> Result<Result<String, String>, Failure> {
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    let output = finish(command).await?;
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    Ok(if output.status.success() { Ok(stderr) } else { Err(stderr) })
}

fn check(name: &str, status: ExitStatus) -> Result<(), Failure> {
    if status.success() { Ok(()) } else { Err(Failure::new(format!("build: {name} exited with {status}"))) }
}

fn name_of(command: &Command) -> String {
    Path::new(command.as_std().get_program()).file_name().unwrap_or_default().to_string_lossy().into_owned()
}

async fn finish(mut command: Command) -> Result<Output, Failure> {
    let name = name_of(&command);
    let failed = |error: io::Error| Failure::new(format!("run {name}: {error}"));
    command.stdin(Stdio::null());
    let mut group = Group::spawn(command).map_err(failed)?;
    let (stdout, stderr) = (group.child.stdout.take(), group.child.stderr.take());
    let (stdout, stderr) = tokio::try_join!(read_all(stdout), read_all(stderr)).map_err(failed)?;
    let status = group.wait().await.map_err(failed)?;
    Ok(Output { status, stdout, stderr })
}

async fn read_all(pipe: Option<impl AsyncRead + Unpin>) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if let Some(mut pipe) = pipe {
        pipe.read_to_end(&mut bytes).await?;
    }
    Ok(bytes)
}
