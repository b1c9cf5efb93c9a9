//! Landlock: restricts which files this thread and its children can open.
//!
//! A rule applies to the file or folder that exists when the rule is created, not to one that later
//! replaces it under the same name.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, PathBeneath, PathFd, RestrictionStatus, Ruleset, RulesetAttr as _,
    RulesetCreatedAttr as _, RulesetError, RulesetStatus, Scope, make_bitflags,
};
use rustix::fs::{Access as Mode, OFlags, access, open};
use rustix::io::Errno;

use crate::os::sandbox::{AllowedPaths, Enforcement};

/// Libraries, certificates, name resolution, time zones, and the number of processors. Secrets among
/// them are protected by their file modes.
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
const NULL_DEVICE: &str = "/dev/null";

/// The ABI whose restrictions are requested; an older kernel enforces those that it supports.
const VERSION: ABI = ABI::V6;

/// Denies opening files, using TCP, and reaching other processes by signals or abstract sockets.
///
/// # Errors
/// If the kernel supports the restrictions and rejects them.
pub fn deny_files() -> io::Result<Enforcement> {
    let restrict = || {
        let all = Ruleset::default()
            .handle_access(AccessFs::from_all(VERSION))?
            .handle_access(AccessNet::from_all(VERSION))?
            .scope(Scope::from_all(VERSION))?;
        Ok::<_, RulesetError>(enforcement(&all.create()?.restrict_self()?))
    };
    restrict().map_err(io::Error::other)
}

/// Denies opening files other than the allowed ones. Sockets and signals are not restricted.
///
/// # Errors
/// As [`deny_files`].
pub fn restrict_files(allowed: &AllowedPaths) -> io::Result<Enforcement> {
    restrict(allowed, BitFlags::empty()).map_err(io::Error::other)
}

/// The same; also denies signals to other processes, and their abstract sockets.
///
/// # Errors
/// As [`deny_files`].
pub fn restrict_to(allowed: &AllowedPaths) -> io::Result<Enforcement> {
    restrict(allowed, Scope::from_all(VERSION)).map_err(io::Error::other)
}

fn restrict(allowed: &AllowedPaths, scope: BitFlags<Scope>) -> Result<Enforcement, RulesetError> {
    let read = make_bitflags!(AccessFs::{ReadFile | ReadDir});
    let sockets = make_bitflags!(AccessFs::{MakeSock | RemoveFile});
    let all = AccessFs::from_all(VERSION);
    let ruleset = Ruleset::default().handle_access(all)?;
    let ruleset = if scope.is_empty() { ruleset } else { ruleset.scope(scope)? };
    let mut ruleset = ruleset.create()?;
    for (paths, access) in [
        (&allowed.read, read),
        (&allowed.write, all & !AccessFs::Execute),
        (&allowed.execute, read | AccessFs::Execute),
        (&allowed.sockets, sockets),
    ] {
        ruleset = ruleset.add_rules(paths.iter().filter_map(|path| rule(path, access)).map(Ok::<_, RulesetError>))?;
    }
    Ok(enforcement(&ruleset.restrict_self()?))
}

/// The paths that most programs need, and this program with its libraries.
pub fn system_paths() -> AllowedPaths {
    let read = SYSTEM.map(PathBuf::from).into_iter().chain(resolver()).collect();
    AllowedPaths { read, write: vec![NULL_DEVICE.into()], execute: mapped(), sockets: Vec::new() }
}

/// The folder of the resolver configuration: the file in it is replaced when the network changes.
fn resolver() -> Option<PathBuf> {
    let file = fs::canonicalize("/etc/resolv.conf").ok()?;
    file.parent().map(Path::to_owned)
}

/// This program, its loader and its libraries, which the compiler process needs.
fn mapped() -> Vec<PathBuf> {
    let maps = fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let mut files: Vec<PathBuf> = maps.lines().filter_map(|line| line.find('/').map(|at| line[at..].into())).collect();
    files.sort();
    files.dedup();
    files
}

/// Whether the sandbox, and not the folder's mode, denies this process access to a folder.
pub fn denies(folder: &Path, to_write: bool) -> bool {
    // Creates an unnamed file, which leaves nothing behind. File systems without `O_TMPFILE` give
    // another error, and the answer is `false`.
    let (flags, mode) = if to_write {
        (OFlags::TMPFILE | OFlags::WRONLY, Mode::WRITE_OK | Mode::EXEC_OK)
    } else {
        (OFlags::RDONLY | OFlags::DIRECTORY, Mode::READ_OK | Mode::EXEC_OK)
    };
    let opened = open(folder, flags | OFlags::CLOEXEC, rustix::fs::Mode::RUSR);
    // Landlock does not affect access(2).
    matches!(opened, Err(Errno::ACCESS)) && access(folder, mode).is_ok()
}

/// A rule for a path, if it exists. A file cannot have the rights that only folders have.
fn rule(path: &Path, access: BitFlags<AccessFs>) -> Option<PathBeneath<PathFd>> {
    let access = if path.metadata().ok()?.is_dir() { access } else { access & AccessFs::from_file(VERSION) };
    Some(PathBeneath::new(PathFd::new(path).ok()?, access))
}

fn enforcement(status: &RestrictionStatus) -> Enforcement {
    match status.ruleset {
        RulesetStatus::FullyEnforced => Enforcement::Full,
        RulesetStatus::PartiallyEnforced => Enforcement::Partial,
        RulesetStatus::NotEnforced => Enforcement::None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mapped_files_include_this_program() {
        let program = std::env::current_exe().expect("this program");
        assert!(mapped().contains(&program), "{program:?} is not in {:?}", mapped());
    }
}
