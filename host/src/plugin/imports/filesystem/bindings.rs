//! `wasi:filesystem@0.2`: the only file that names the engine's bindings of it.
//!
//! Links the functions instead of the engine's own; they are implemented in `filesystem`.

use std::io;

use wasmtime::component::{HasSelf, Linker};
use wasmtime_wasi::p2::bindings::filesystem::{preopens, types};

use crate::os::Errno;

pub(in crate::plugin) use preopens::Host as PreopenCalls;
pub(in crate::plugin) use types::{
    Advice, Datetime, Descriptor, DescriptorFlags, DescriptorStat, DescriptorType, DirectoryEntry,
    DirectoryEntryStream, ErrorCode, Filesize, Host as ErrorCalls, HostDescriptor as DescriptorCalls,
    HostDirectoryEntryStream as ListingCalls, MetadataHashValue, NewTimestamp, OpenFlags, PathFlags,
};

/// Adds the interfaces `types` and `preopens` to the linker, replacing those it has.
pub(in crate::plugin) fn link<T>(linker: &mut Linker<T>) -> wasmtime::Result<()>
where
    T: ErrorCalls + DescriptorCalls + ListingCalls + PreopenCalls + Send + 'static,
{
    types::add_to_linker::<_, HasSelf<T>>(linker, |state| state)?;
    preopens::add_to_linker::<_, HasSelf<T>>(linker, |state| state)?;
    Ok(())
}

/// What an error is for the guest.
pub(super) fn code_of(error: &io::Error) -> ErrorCode {
    if error.raw_os_error() == Some(Errno::DQUOT.raw_os_error()) { ErrorCode::Quota } else { error.into() }
}
