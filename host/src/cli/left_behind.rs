//! Approvals of this machine that do not count, since another one was the first to write to the store of several nodes.

use crate::catalog::{Choice, MAX_NAMED};
use crate::pins::PinFile;

/// Says which, of the plugins in a folder: others may be left from long ago. `None`: there are none, or it is not known.
pub(super) fn left_behind(lock: &PinFile, files: &Choice) -> Option<String> {
    let names = lock.left_behind().ok()?;
    let names: Vec<&str> = files.names().filter(|here| names.iter().any(|name| name == here)).collect();
    let more = names.len().checked_sub(MAX_NAMED).filter(|more| *more > 0);
    let more = more.map(|more| format!(" and {more} more")).unwrap_or_default();
    let shown = names.iter().take(MAX_NAMED).copied().collect::<Vec<_>>().join(", ");
    (!names.is_empty()).then(|| {
        format!(
            "lock.toml of this machine approves plugins of which the store has no pin, and that does not count: \
             {shown}{more}; approve them again, or empty the store and run: wharf store migrate"
        )
    })
}
