//! What is said of files, as a recording has it.

use serde_json::Value;

use super::Refused;
use crate::plugin::imports::filesystem::bindings::{
    Datetime, DescriptorFlags, DescriptorStat, DescriptorType, DirectoryEntry, ErrorCode, MetadataHashValue,
    NewTimestamp, OpenFlags,
};
use crate::plugin::tape::kept::{Kept, flags, member, records, variants};

/// As it is kept where the grant is missing.
const DENIED: &str = "denied";

records! {
    Datetime { seconds, nanoseconds }
    DescriptorStat {
        type_, link_count, size, data_access_timestamp, data_modification_timestamp, status_change_timestamp
    }
    DirectoryEntry { type_, name }
    MetadataHashValue { lower, upper }
}

variants! {
    NewTimestamp { Timestamp = "time"; NoChange = "no_change", Now = "now" }
    DescriptorType {
        ;
        Unknown = "unknown", BlockDevice = "block_device", CharacterDevice = "character_device",
        Directory = "directory", Fifo = "fifo", SymbolicLink = "symbolic_link", RegularFile = "regular_file",
        Socket = "socket"
    }
    ErrorCode {
        ;
        Access = "access", WouldBlock = "would_block", Already = "already", BadDescriptor = "bad_descriptor",
        Busy = "busy", Deadlock = "deadlock", Quota = "quota", Exist = "exist", FileTooLarge = "file_too_large",
        IllegalByteSequence = "illegal_byte_sequence", InProgress = "in_progress", Interrupted = "interrupted",
        Invalid = "invalid", Io = "io", IsDirectory = "is_directory", Loop = "loop",
        TooManyLinks = "too_many_links", MessageSize = "message_size", NameTooLong = "name_too_long",
        NoDevice = "no_device", NoEntry = "no_entry", NoLock = "no_lock",
        InsufficientMemory = "insufficient_memory", InsufficientSpace = "insufficient_space",
        NotDirectory = "not_directory", NotEmpty = "not_empty", NotRecoverable = "not_recoverable",
        Unsupported = "unsupported", NoTty = "no_tty", NoSuchDevice = "no_such_device", Overflow = "overflow",
        NotPermitted = "not_permitted", Pipe = "pipe", ReadOnly = "read_only", InvalidSeek = "invalid_seek",
        TextFileBusy = "text_file_busy", CrossDevice = "cross_device"
    }
}

impl Kept for Refused {
    fn keep(&self) -> Value {
        if self.denied { DENIED.into() } else { self.code.keep() }
    }

    fn read(value: &Value) -> Option<Self> {
        match value == DENIED {
            true => Some(Self { code: ErrorCode::NotPermitted, denied: true }),
            false => Kept::read(value).map(|code| Self { code, denied: false }),
        }
    }
}

flags! {
    DescriptorFlags {
        READ = "read", WRITE = "write", FILE_INTEGRITY_SYNC = "file_integrity_sync",
        DATA_INTEGRITY_SYNC = "data_integrity_sync", REQUESTED_WRITE_SYNC = "requested_write_sync",
        MUTATE_DIRECTORY = "mutate_directory"
    }
    OpenFlags { CREATE = "create", DIRECTORY = "directory", EXCLUSIVE = "exclusive", TRUNCATE = "truncate" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_of_files_is_read_as_it_was() {
        let time = Datetime { seconds: 7, nanoseconds: 5 };
        let stat = DescriptorStat {
            type_: DescriptorType::RegularFile,
            link_count: 1,
            size: u64::MAX,
            data_access_timestamp: None,
            data_modification_timestamp: Some(time),
            status_change_timestamp: Some(time),
        };
        let kept = stat.keep();
        let read = DescriptorStat::read(&kept).expect("what was kept");
        assert_eq!((read.keep(), read.size, read.data_access_timestamp.is_none()), (kept, u64::MAX, true));
        let flags = DescriptorFlags::READ | DescriptorFlags::MUTATE_DIRECTORY;
        assert_eq!(DescriptorFlags::read(&flags.keep()), Some(flags));
        let how = OpenFlags::CREATE | OpenFlags::TRUNCATE;
        assert_eq!(OpenFlags::read(&how.keep()), Some(how));
        for (code, denied, text) in
            [(ErrorCode::NotPermitted, true, DENIED), (ErrorCode::NotPermitted, false, "not_permitted")]
        {
            let kept = Refused { code, denied }.keep();
            assert_eq!(kept, text);
            assert!(Refused::read(&kept).is_some_and(|read| read.code == code && read.denied == denied));
        }
    }
}
