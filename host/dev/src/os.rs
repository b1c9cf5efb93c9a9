//! Platform differences of Unix and Windows: signals, process groups, executables.

#[cfg(unix)]
pub(crate) use self::unix::*;
#[cfg(windows)]
pub(crate) use self::windows::*;

#[cfg(unix)]
mod unix {
    use std::fs::{File, Metadata, OpenOptions, Permissions};
    use std::io;
    use std::net::TcpListener;
    use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
    use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
    use std::path::{Path, PathBuf};

    use rustix::fs::OFlags;
    use rustix::process::{Pid, Signal, kill_process_group};
    use tokio::process::Command;
    use tokio::signal::unix::{SignalKind, signal};

    pub(crate) use std::os::unix::fs::symlink as link_file;

    /// The programs of a Python virtual environment.
    pub(crate) const VENV_PROGRAMS: &str = ".venv/bin";

    pub(crate) fn interrupted() -> io::Result<impl Future<Output = ()>> {
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        let mut hang_up = signal(SignalKind::hangup())?;
        Ok(async move {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
                _ = hang_up.recv() => {}
            }
        })
    }

    pub(crate) fn in_own_group(command: &mut Command) -> &mut Command {
        command.process_group(0)
    }

    /// Asks the processes of that group to terminate.
    pub(crate) fn terminate_group(id: u32) {
        if let Some(id) = i32::try_from(id).ok().and_then(Pid::from_raw) {
            // It may have exited already.
            let _ = kill_process_group(id, Signal::TERM);
        }
    }

    /// The program of that name in a folder, if it exists.
    pub(crate) fn program(folder: &Path, name: &str) -> Option<PathBuf> {
        let file = folder.join(name);
        let found = file.metadata().ok()?;
        (found.is_file() && found.permissions().mode() & 0o111 != 0).then_some(file)
    }

    /// The shell that runs a command line.
    pub(crate) const SHELL: [&str; 2] = ["sh", "-c"];

    /// What two paths of one file have in common: device and inode.
    pub(crate) type FileId = (u64, u64);

    pub(crate) fn file_id(found: &Metadata) -> Option<FileId> {
        Some((found.dev(), found.ino()))
    }

    /// The files that this process writes its output to.
    pub(crate) fn outputs() -> Vec<FileId> {
        let opened = [io::stdout().as_fd().try_clone_to_owned(), io::stderr().as_fd().try_clone_to_owned()];
        let found = opened.into_iter().filter_map(|opened| File::from(opened.ok()?).metadata().ok());
        found.filter(Metadata::is_file).filter_map(|found| file_id(&found)).collect()
    }

    /// Opens a file to read it. A pipe opens too, at once, and gives nothing.
    pub(crate) fn open_without_waiting(path: &Path) -> io::Result<File> {
        OpenOptions::new().read(true).custom_flags(flags(OFlags::NONBLOCK)).open(path)
    }

    /// Opens a file to read and write it, or creates it. A link is an error: what it leads to would be written.
    pub(crate) fn open_or_create(path: &Path) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        options.custom_flags(flags(OFlags::NONBLOCK | OFlags::NOFOLLOW)).open(path)
    }

    fn flags(flags: OFlags) -> i32 {
        flags.bits().cast_signed()
    }

    /// Whether a server takes a listening socket from its parent.
    pub(crate) const PASSES_SOCKETS: bool = cfg!(target_os = "linux");

    /// Has a server inherit a socket, as systemd passes one (`wharf serve --http systemd`). What is returned has to be
    /// dropped once it has been started, or other programs would inherit it too.
    pub(crate) fn pass_socket(socket: &TcpListener, command: &mut Command) -> io::Result<OwnedFd> {
        let inherited = rustix::io::dup(socket)?;
        command.env("LISTEN_FDS", "1").env("LISTEN_FDS_FIRST_FD", inherited.as_raw_fd().to_string());
        // It is that of the server, which is not known yet.
        command.env_remove("LISTEN_PID");
        Ok(inherited)
    }

    /// A new file that other users cannot write.
    pub(crate) fn create_new(file: &Path) -> io::Result<File> {
        OpenOptions::new().write(true).create_new(true).mode(0o644).open(file)
    }

    /// Gives a file the mode of another one, without the rights of other users to write.
    pub(crate) fn copy_mode(of: &Metadata, to: &File) -> io::Result<()> {
        to.set_permissions(Permissions::from_mode(of.permissions().mode() & 0o755))
    }
}

#[cfg(windows)]
mod windows {
    use std::fs::{File, Metadata, OpenOptions};
    use std::io;
    use std::net::TcpListener;
    use std::path::{Path, PathBuf};
    use std::process::Stdio;

    use tokio::process::Command;
    use tokio::signal::windows::{ctrl_break, ctrl_c, ctrl_close};

    pub(crate) use std::os::windows::fs::symlink_file as link_file;

    pub(crate) const VENV_PROGRAMS: &str = ".venv/Scripts";

    /// `CREATE_NEW_PROCESS_GROUP`
    const NEW_GROUP: u32 = 0x200;

    pub(crate) fn interrupted() -> io::Result<impl Future<Output = ()>> {
        let (mut interrupt, mut terminate, mut close) = (ctrl_c()?, ctrl_break()?, ctrl_close()?);
        Ok(async move {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
                _ = close.recv() => {}
            }
        })
    }

    pub(crate) fn in_own_group(command: &mut Command) -> &mut Command {
        command.creation_flags(NEW_GROUP)
    }

    /// Kills a process and its descendants. There is no signal to ask them to terminate.
    pub(crate) fn terminate_group(id: u32) {
        let mut command = std::process::Command::new("taskkill");
        command.args(["/T", "/F", "/PID", &id.to_string()]).stdout(Stdio::null()).stderr(Stdio::null());
        // It may have exited already.
        let _ = command.status();
    }

    pub(crate) fn program(folder: &Path, name: &str) -> Option<PathBuf> {
        ["exe", "cmd", "bat"].iter().map(|end| folder.join(format!("{name}.{end}"))).find(|file| file.is_file())
    }

    pub(crate) const SHELL: [&str; 2] = ["cmd", "/C"];

    /// The standard library has no such number here.
    pub(crate) type FileId = u64;

    pub(crate) fn file_id(_found: &Metadata) -> Option<FileId> {
        None
    }

    pub(crate) fn outputs() -> Vec<FileId> {
        Vec::new()
    }

    pub(crate) fn open_without_waiting(path: &Path) -> io::Result<File> {
        File::open(path)
    }

    pub(crate) fn open_or_create(path: &Path) -> io::Result<File> {
        if path.is_symlink() {
            return Err(io::Error::other("it is a link"));
        }
        OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)
    }

    pub(crate) const PASSES_SOCKETS: bool = false;

    pub(crate) fn pass_socket(_socket: &TcpListener, _command: &mut Command) -> io::Result<TcpListener> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(crate) fn create_new(file: &Path) -> io::Result<File> {
        File::create_new(file)
    }

    /// Files have no modes here.
    pub(crate) fn copy_mode(_of: &Metadata, _to: &File) -> io::Result<()> {
        Ok(())
    }
}
