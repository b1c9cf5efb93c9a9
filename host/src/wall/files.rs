//! Landlock: which files this thread, and what it starts, can open.
//!
//! A rule belongs to the file or folder that is there when it is made. What is put in its place
//! later, under the same name, is another one.

use std::path::Path;

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, PathBeneath, PathFd, RestrictionStatus, Ruleset, RulesetAttr as _,
    RulesetCreatedAttr as _, RulesetError, RulesetStatus, Scope, make_bitflags,
};

use rustix::fs::{Access as Mode, OFlags, access, open};
use rustix::io::Errno;

use super::{Reach, Standing};

/// The newest version whose restrictions are asked for; an older kernel holds what it knows.
const VERSION: ABI = ABI::V6;

/// Opens nothing any more, connects to nothing by TCP, and reaches no other process by a signal
/// or an abstract socket.
///
/// # Errors
/// If the kernel knows the restrictions and refuses them.
pub fn no_files() -> Result<Standing, RulesetError> {
    let all = Ruleset::default()
        .handle_access(AccessFs::from_all(VERSION))?
        .handle_access(AccessNet::from_all(VERSION))?
        .scope(Scope::from_all(VERSION))?;
    Ok(standing(&all.create()?.restrict_self()?))
}

/// Opens only what is within reach. Sockets and signals stay as they are.
///
/// # Errors
/// As [`no_files`].
pub fn only_files(reach: &Reach) -> Result<Standing, RulesetError> {
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
