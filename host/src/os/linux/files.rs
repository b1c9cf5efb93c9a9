//! Landlock: which files this thread, and what it starts, can open.
//!
//! A rule belongs to the file or folder that is there when it is made. What is put in its place
//! later, under the same name, is another one.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, PathBeneath, PathFd, RestrictionStatus, Ruleset, RulesetAttr as _,
    RulesetCreatedAttr as _, RulesetError, RulesetStatus, Scope, make_bitflags,
};
use rustix::fs::{Access as Mode, OFlags, access, open};
use rustix::io::Errno;

use crate::os::sandbox::{Reach, Standing};

/// Libraries and certificates, names and addresses of the network, time zones, and what says how
/// many processors there are. Secrets among them are kept by their own modes.
const SYSTEM: [&str; 9] = [
    "/etc",
    "/usr",
    "/lib",
    "/lib64",
    "/proc/self",
    "/sys/devices/system/cpu",
    "/sys/fs/cgroup",
    "/dev/urandom",
    "/var/lib/ca-certificates",
];
/// Where programs on their way out are pointed to.
const SINK: &str = "/dev/null";

/// The newest version whose restrictions are asked for; an older kernel holds what it knows.
const VERSION: ABI = ABI::V6;

/// Opens nothing any more, connects to nothing by TCP, and reaches no other process by a signal
/// or an abstract socket.
///
/// # Errors
/// If the kernel knows the restrictions and refuses them.
pub fn no_files() -> io::Result<Standing> {
    let restrict = || {
        let all = Ruleset::default()
            .handle_access(AccessFs::from_all(VERSION))?
            .handle_access(AccessNet::from_all(VERSION))?
            .scope(Scope::from_all(VERSION))?;
        Ok::<_, RulesetError>(standing(&all.create()?.restrict_self()?))
    };
    restrict().map_err(io::Error::other)
}

/// Opens only what is within reach. Sockets and signals stay as they are.
///
/// # Errors
/// As [`no_files`].
pub fn only_files(reach: &Reach) -> io::Result<Standing> {
    restrict(reach).map_err(io::Error::other)
}

fn restrict(reach: &Reach) -> Result<Standing, RulesetError> {
    let read = make_bitflags!(AccessFs::{ReadFile | ReadDir});
    let sockets = make_bitflags!(AccessFs::{MakeSock | RemoveFile});
    let all = AccessFs::from_all(VERSION);
    let mut ruleset = Ruleset::default().handle_access(all)?.create()?;
    for (paths, access) in [
        (&reach.read, read),
        (&reach.write, all & !AccessFs::Execute),
        (&reach.execute, read | AccessFs::Execute),
        (&reach.sockets, sockets),
    ] {
        ruleset = ruleset.add_rules(paths.iter().filter_map(|path| rule(path, access)).map(Ok::<_, RulesetError>))?;
    }
    Ok(standing(&ruleset.restrict_self()?))
}

/// What every program of the system reads and starts, this one with its libraries among it.
pub(crate) fn of_every_program() -> Reach {
    let read = SYSTEM.map(PathBuf::from).into_iter().chain(resolver()).collect();
    Reach { read, write: vec![SINK.into()], execute: mapped(), sockets: Vec::new() }
}

/// The folder in which the system keeps the addresses of its resolvers: the file there is replaced
/// whenever the network is another.
fn resolver() -> Option<PathBuf> {
    let file = fs::canonicalize("/etc/resolv.conf").ok()?;
    file.parent().map(Path::to_owned)
}

/// This program, its loader and its libraries, which the compiler's process needs once more.
fn mapped() -> Vec<PathBuf> {
    let maps = fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let mut files: Vec<PathBuf> = maps.lines().filter_map(|line| line.find('/').map(|at| line[at..].into())).collect();
    files.sort();
    files.dedup();
    files
}

/// Whether a wall, and not its mode, keeps this process from reading or writing a folder.
pub fn keeps_from(folder: &Path, to_write: bool) -> bool {
    // A file without a name leaves nothing behind. Where there are none, nothing is known.
    let (flags, mode) = if to_write {
        (OFlags::TMPFILE | OFlags::WRONLY, Mode::WRITE_OK | Mode::EXEC_OK)
    } else {
        (OFlags::RDONLY | OFlags::DIRECTORY, Mode::READ_OK | Mode::EXEC_OK)
    };
    let opened = open(folder, flags | OFlags::CLOEXEC, rustix::fs::Mode::RUSR);
    // Landlock says nothing to access(2).
    matches!(opened, Err(Errno::ACCESS)) && access(folder, mode).is_ok()
}

/// Rights of folders cannot be given to a file.
fn rule(path: &Path, access: BitFlags<AccessFs>) -> Option<PathBeneath<PathFd>> {
    let access = if path.metadata().ok()?.is_dir() { access } else { access & AccessFs::from_file(VERSION) };
    Some(PathBeneath::new(PathFd::new(path).ok()?, access))
}

fn standing(status: &RestrictionStatus) -> Standing {
    match status.ruleset {
        RulesetStatus::FullyEnforced => Standing::Whole,
        RulesetStatus::PartiallyEnforced => Standing::Partly,
        RulesetStatus::NotEnforced => Standing::Not,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_needed_to_start_once_more_is_found() {
        let program = std::env::current_exe().expect("this program");
        assert!(mapped().contains(&program), "{program:?} is not in {:?}", mapped());
    }
}
