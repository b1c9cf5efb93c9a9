//! Attempts to exhaust handles, bytes and directory entries.

use wasip2::filesystem::types::{Descriptor, DescriptorFlags, ErrorCode, OpenFlags};

use super::{FOLLOW, Outcome, pour};

pub(super) fn attempt(folder: &Descriptor, what: &str, path: &str, count: u64) -> Outcome {
    let open = |path: &str, how, flags| folder.open_at(FOLLOW, path, how, flags);
    match what {
        // Keeps the handles open.
        "open" => {
            let mut files = Vec::new();
            Ok(until(count, |_| {
                files.push(open(path, OpenFlags::empty(), DescriptorFlags::READ)?);
                Ok(())
            }))
        }
        // Keeps a stream of each open, and drops the file.
        "open-streams" => {
            let mut streams = Vec::new();
            Ok(until(count, |_| {
                streams.push(open(path, OpenFlags::empty(), DescriptorFlags::READ)?.read_via_stream(0)?);
                Ok(())
            }))
        }
        // Closes each handle.
        "open-often" => Ok(until(count, |_| open(path, OpenFlags::empty(), DescriptorFlags::READ).map(|_| ()))),
        // Ignores errors: the result is the number of opened files.
        "open-anyway" => {
            let opened = (0..count).filter(|_| open(path, OpenFlags::empty(), DescriptorFlags::READ).is_ok());
            Ok(format!("{}", opened.count()))
        }
        "many" => Ok(until(count, |n| {
            open(&format!("{path}{n}"), OpenFlags::CREATE | OpenFlags::EXCLUSIVE, DescriptorFlags::WRITE).map(|_| ())
        })),
        "many-folders" => Ok(until(count, |n| folder.create_directory_at(&format!("{path}{n}")))),
        // 1 MiB each.
        "fill" => Ok(until(count, |n| {
            let file = open(&format!("{path}{n}"), OpenFlags::CREATE, DescriptorFlags::WRITE)?;
            pour(&file.write_via_stream(0)?, 1 << 20)
        })),
        // The same, but each is removed while it is open.
        "fill-removed" => {
            let mut files = Vec::new();
            Ok(until(count, |_| {
                let file = open(path, OpenFlags::CREATE, DescriptorFlags::WRITE)?;
                folder.unlink_file_at(path)?;
                pour(&file.write_via_stream(0)?, 1 << 20)?;
                files.push(file);
                Ok(())
            }))
        }
        "fill-then-remove" => {
            let mut files = Vec::new();
            Ok(until(count, |_| {
                let file = open(path, OpenFlags::CREATE, DescriptorFlags::WRITE)?;
                pour(&file.write_via_stream(0)?, 1 << 20)?;
                folder.unlink_file_at(path)?;
                files.push(file);
                Ok(())
            }))
        }
        // One file, repeatedly.
        "rewrite" => Ok(until(count, |_| {
            let file = open(path, OpenFlags::CREATE | OpenFlags::TRUNCATE, DescriptorFlags::WRITE)?;
            pour(&file.write_via_stream(0)?, 1 << 20)
        })),
        _ => Err(ErrorCode::Unsupported),
    }
}

/// The number of successes, and the error that stopped it.
fn until(count: u64, mut step: impl FnMut(u64) -> Outcome<()>) -> String {
    for n in 0..count {
        if let Err(code) = step(n) {
            return format!("{n} {}", code.name());
        }
    }
    format!("{count}")
}
