//! What the operating system lets a worker do: the files and sockets of its plugin's grants.

use std::path::PathBuf;

use crate::net::dial::CERTIFICATE_VARIABLES;
use crate::os::limits;
use crate::os::sandbox::{self, restrict_to};
use crate::plugin::policy::access::Access;
use crate::plugin::policy::grants::{FolderMode, Grants};
use crate::plugin::tape::kept::{Kept, records};

pub(super) struct Confined {
    /// Whether it enters the OS sandbox.
    os_sandbox: bool,
    read: Vec<PathBuf>,
    write: Vec<PathBuf>,
    network: bool,
}

records! { Confined { os_sandbox, read, write, network } }

impl Confined {
    /// What the grants need, of all callers of the plugin.
    pub(super) fn to(grants: &Grants, os_sandbox: bool) -> Self {
        let (mut read, mut write) = (Vec::new(), Vec::new());
        for folder in grants.parts().flat_map(|part| &part.folders) {
            match folder.mode {
                FolderMode::Read => read.push(folder.host.clone()),
                FolderMode::Write { .. } => write.push(folder.host.clone()),
            }
        }
        let network = grants.parts().any(|part| part.allow(Access::Http));
        Self { os_sandbox, read, write, network }
    }

    /// Must be called while there is one thread: others would stay as they are.
    ///
    /// # Errors
    /// If the system rejects a restriction that it has.
    pub(super) fn enter(&self) -> Result<(), String> {
        limits::end_with_parent().map_err(|error| format!("limit the process: {error}"))?;
        // What the system does not support here it does not in the server either, which logs it.
        if !self.os_sandbox || sandbox::UNSUPPORTED.is_some() {
            return Ok(());
        }
        let mut allowed = sandbox::system_paths();
        allowed.read.extend(CERTIFICATE_VARIABLES.into_iter().filter_map(std::env::var_os).map(PathBuf::from));
        allowed.read.extend(self.read.iter().cloned());
        allowed.write.extend(self.write.iter().cloned());
        restrict_to(&allowed).map_err(|error| format!("restrict files: {error}"))?;
        sandbox::deny_syscalls(self.network).map_err(|error| format!("restrict system calls: {error}"))
    }
}
