//! Finds and runs the programs that a build needs.

use std::env;
use std::io::{self, IsTerminal as _};
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Output, Stdio};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::Command;
use tokio::time::timeout;
use wharf_report::ShowPath as _;
use wharf_report::{Failure, NAME, Screen, message};

use super::packages::Packages;
use crate::child::Group;
use crate::os;
use crate::project::Project;
use crate::toolchains::{INSTALL_PYTHON, PYTHON};

/// After a program has exited.
pub(crate) const LAST_LINES_WITHIN: Duration = Duration::from_secs(1);

/// A program, and the shell command that installs it, run in the project's folder.
#[derive(Clone, Copy)]
pub(super) struct Tool {
    pub(super) program: &'static str,
    pub(super) install: &'static str,
}

/// The tools of one project's build.
pub(super) struct Tools<'p> {
    pub(super) project: &'p Project,
    /// What is installed into the project besides tools.
    pub(super) packages: Option<Packages>,
    /// Install missing tools, instead of only printing how.
    pub(super) install: bool,
    /// Where a person waits for the build.
    pub(super) screen: &'p Screen,
}

impl Tools<'_> {
    /// The path of the program; installs it if it is missing and `install` is set.
    pub(super) async fn find(&self, tool: &Tool) -> Result<PathBuf, Failure> {
        if let Some(found) = self.which(tool.program) {
            return Ok(found);
        }
        self.find_installer(tool)?;
        if self.install {
            self.install(tool.install).await?;
            if let Some(found) = self.which(tool.program) {
                return Ok(found);
            }
        }
        Err(Failure::new(format!("find {}, which the build needs", tool.program)).hint(self.how(tool.install)))
    }

    /// Fails if the command that installs a tool would fail at its first word.
    fn find_installer(&self, tool: &Tool) -> Result<(), Failure> {
        if !tool.install.starts_with(PYTHON) || self.which(PYTHON).is_some() {
            return Ok(());
        }
        Err(Failure::new(format!("find {PYTHON}, which installs {} for the build", tool.program)).hint(format!(
            "install Python with its venv, such as by: {INSTALL_PYTHON}; then run: wharf build --install"
        )))
    }

    /// Installs the packages again if the project lists others than those that are installed, and `install` is set.
    pub(super) async fn update(&self) -> Result<(), Failure> {
        let Some(packages) = self.packages.filter(|_| self.install) else { return Ok(()) };
        let dir = &self.project.dir;
        // Without packages, the first tool that is missing installs them.
        if packages.are_there(dir) && packages.are_outdated(dir) != Some(false) {
            self.install(packages.install).await?;
        }
        Ok(())
    }

    /// The failure of a build, with the command that may be all that it lacks.
    pub(super) fn with_advice(&self, failure: Failure) -> Failure {
        let dir = &self.project.dir;
        match self.packages {
            Some(packages) if !self.install && self.are_packages_outdated() => failure.or_hint(&format!(
                "{} changed since the packages were installed; in {}: wharf build --install",
                packages.listed[0],
                dir.shown()
            )),
            _ => failure,
        }
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
        // Package managers show their progress themselves.
        shell.stdout(io::stderr());
        let name = name_of(&shell);
        check(&name, finish(shell, None).await?.status)?;
        if let Some(packages) = self.packages.filter(|packages| packages.install == line) {
            packages.record(&self.project.dir);
        }
        Ok(())
    }

    /// Runs a program until it exits. Its output goes to stderr unchanged: stdout is for data. Meanwhile a terminal
    /// shows how long it takes.
    pub(super) async fn run(&self, mut command: Command) -> Result<(), Failure> {
        let name = name_of(&command);
        // Through this program, so that no line is written into that of the progress.
        let forward = Some(self.screen).filter(|_| io::stderr().is_terminal());
        if forward.is_some() {
            command.stdout(Stdio::piped()).stderr(Stdio::piped());
        } else {
            command.stdout(io::stderr());
        }
        check(&name, self.timed(&name, finish(command, forward)).await?.status)
    }

    /// The stdout of a program that shows its progress on stderr itself.
    pub(super) async fn output(&self, mut command: Command) -> Result<Vec<u8>, Failure> {
        command.stdout(Stdio::piped());
        let name = name_of(&command);
        let output = finish(command, None).await?;
        check(&name, output.status).map(|()| output.stdout)
    }

    /// As [`Self::run`], returning stderr, as an error if it fails, for messages that need rewriting.
    pub(super) async fn captured(&self, mut command: Command) -> Result<Result<String, String>, Failure> {
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        let name = name_of(&command);
        let output = self.timed(&name, finish(command, None)).await?;
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        Ok(if output.status.success() { Ok(stderr) } else { Err(stderr) })
    }

    /// As [`Self::captured`], for a program that reports to stdout.
    pub(super) async fn checked(&self, mut command: Command) -> Result<Result<(), String>, Failure> {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let name = name_of(&command);
        let output = self.timed(&name, finish(command, None)).await?;
        let printed = || String::from_utf8_lossy(&[output.stdout.as_slice(), &output.stderr].concat()).into_owned();
        Ok(if output.status.success() { Ok(()) } else { Err(printed()) })
    }

    /// Whether it is known that the packages are not those that the project lists.
    pub(super) fn are_packages_outdated(&self) -> bool {
        self.packages.is_some_and(|packages| packages.are_outdated(&self.project.dir) == Some(true))
    }

    /// Waits for a step, and shows it once it takes longer than a second.
    pub(super) async fn timed<T>(&self, step: &str, work: impl Future<Output = T>) -> T {
        self.screen.timed(step, work).await
    }

    /// A command that runs in the project's folder.
    pub(super) fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.project.dir);
        command
    }
}

/// Shows what a tool has written, which a failure cannot repeat: it is one line.
pub(super) fn reported(output: &str, failure: Failure) -> Failure {
    if !output.trim().is_empty() {
        message(output.trim_end());
    }
    failure
}

/// A program in `PATH`.
pub(crate) fn on_path(program: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).find_map(|folder| os::program(&folder, program))
}

fn check(name: &str, status: ExitStatus) -> Result<(), Failure> {
    if status.success() { Ok(()) } else { Err(Failure::new(format!("build: {name} exited with {status}"))) }
}

fn name_of(command: &Command) -> String {
    Path::new(command.as_std().get_program()).file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Runs a command to its end. Reads what is piped; if `forward` is given, whole lines go there as they come.
async fn finish(mut command: Command, forward: Option<&Screen>) -> Result<Output, Failure> {
    let name = name_of(&command);
    let failed = |error: io::Error| Failure::new(format!("run {name}: {error}"));
    command.stdin(Stdio::null());
    let mut group = Group::spawn(command).map_err(failed)?;
    let (stdout, stderr) = (group.child.stdout.take(), group.child.stderr.take());
    let (mut printed, mut reported) = (Vec::new(), Vec::new());
    let mut reading = Box::pin(async {
        tokio::try_join!(read(stdout, forward, &mut printed), read(stderr, forward, &mut reported)).map(drop)
    });
    let status = tokio::select! {
        read = &mut reading => read.map(|()| None),
        status = group.wait() => status.map(Some),
    };
    let status = match status.map_err(failed)? {
        None => group.wait().await.map_err(failed)?,
        Some(status) => {
            // A process that it has left behind may hold the pipes open.
            if let Ok(read) = timeout(LAST_LINES_WITHIN, &mut reading).await {
                read.map_err(failed)?;
            }
            status
        }
    };
    drop(reading);
    Ok(Output { status, stdout: printed, stderr: reported })
}

/// Reads all of it to the end of `bytes`; if `forward` is given, whole lines go there as they come.
pub(crate) async fn read(
    pipe: Option<impl AsyncRead + Unpin>,
    forward: Option<&Screen>,
    bytes: &mut Vec<u8>,
) -> io::Result<()> {
    let Some(mut pipe) = pipe else { return Ok(()) };
    let Some(screen) = forward else {
        return pipe.read_to_end(bytes).await.map(drop);
    };
    while pipe.read_buf(bytes).await? > 0 {
        let end = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        screen.write_lines(&bytes[..end]);
        bytes.drain(..end);
    }
    screen.write_lines(bytes);
    bytes.clear();
    Ok(())
}
