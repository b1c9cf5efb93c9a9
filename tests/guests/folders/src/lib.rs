//! Attempts all operations on a folder with direct WASI calls, so that no library refuses them first.
//! Returns `ok`, or WASI's name of the error code.

mod exhaust;
mod settings;

use wasip2::filesystem::preopens::get_directories;
use wasip2::filesystem::types::{
    Descriptor, DescriptorFlags, ErrorCode, NewTimestamp, OpenFlags, PathFlags, filesystem_error_code,
};
use wasip2::io::streams::{OutputStream, StreamError};
use wharf_plugin::*;

#[derive(Deserialize, JsonSchema)]
struct Attempt {
    /// What to do.
    what: String,
    /// Which of the granted folders, from 0.
    #[serde(default)]
    folder: u32,
    #[serde(default)]
    path: String,
    /// Another path.
    #[serde(default)]
    to: String,
    /// The folder of that one.
    #[serde(default)]
    to_folder: u32,
    /// Bytes, or how often.
    #[serde(default)]
    count: u64,
    /// Where in a file.
    #[serde(default)]
    at: u64,
}

struct Folders;

impl Plugin for Folders {
    fn tools(&self, tools: &mut Tools<'_>) {
        tools.add("attempt", "Tries something with a folder.", |_, attempt: Attempt| Ok(attempt.answer()));
        tools.add("environment", "Tells its environment.", |_, _: NoArguments| {
            let mut variables: Vec<_> = std::env::vars().collect();
            variables.sort();
            Ok(format!("{variables:?}"))
        });
        tools.add("settings", "Tells its configuration.", |_, _: NoArguments| Ok(settings::all()));
    }
}

export!(Folders);

type Outcome<T = String> = std::result::Result<T, ErrorCode>;

const FOLLOW: PathFlags = PathFlags::SYMLINK_FOLLOW;

impl Attempt {
    fn answer(&self) -> String {
        match self.attempt() {
            Ok(said) => format!("ok {said}").trim_end().to_owned(),
            Err(code) => code.name().to_owned(),
        }
    }

    fn folder(&self, folder: u32) -> Outcome<Descriptor> {
        let granted = get_directories().into_iter().nth(folder as usize);
        granted.map(|(descriptor, _)| descriptor).ok_or(ErrorCode::NoDevice)
    }

    fn attempt(&self) -> Outcome {
        if self.what == "folders" {
            let paths: Vec<String> = get_directories().into_iter().map(|(_, path)| path).collect();
            return Ok(paths.join(" "));
        }
        let folder = self.folder(self.folder)?;
        let (path, to) = (self.path.as_str(), self.to.as_str());
        let done = |()| String::new();
        let open = |how, flags| folder.open_at(FOLLOW, path, how, flags);
        match self.what.as_str() {
            "read" => {
                let file = open(OpenFlags::empty(), DescriptorFlags::READ)?;
                let (bytes, _) = file.read(1 << 16, 0)?;
                Ok(String::from_utf8_lossy(&bytes).into_owned())
            }
            "stat" => folder.stat_at(FOLLOW, path).map(|stat| format!("{} bytes", stat.size)),
            "list" => {
                let listing = open(OpenFlags::DIRECTORY, DescriptorFlags::READ)?.read_directory()?;
                let mut names = Vec::new();
                while let Some(entry) = listing.read_directory_entry()? {
                    names.push(entry.name);
                }
                names.sort();
                Ok(names.join(" "))
            }
            "readlink" => folder.readlink_at(path),
            "write" => open(OpenFlags::CREATE, DescriptorFlags::WRITE)?
                .write(&vec![b'x'; self.count as usize], self.at)
                .map(|written| format!("{written} bytes")),
            "stream" => {
                let file = open(OpenFlags::CREATE, DescriptorFlags::WRITE)?;
                pour(&file.write_via_stream(self.at)?, self.count).map(done)
            }
            "append" => {
                let file = open(OpenFlags::CREATE, DescriptorFlags::WRITE)?;
                pour(&file.append_via_stream()?, self.count).map(done)
            }
            "resize" => open(OpenFlags::empty(), DescriptorFlags::WRITE)?.set_size(self.count).map(done),
            "create" => open(OpenFlags::CREATE | OpenFlags::EXCLUSIVE, DescriptorFlags::WRITE).map(|_| String::new()),
            // Opened without write access.
            "truncate" => open(OpenFlags::TRUNCATE, DescriptorFlags::READ).map(|_| String::new()),
            "open-to-write" => open(OpenFlags::empty(), DescriptorFlags::WRITE).map(|_| String::new()),
            "touch" => folder.set_times_at(FOLLOW, path, NewTimestamp::Now, NewTimestamp::Now).map(done),
            "mkdir" => folder.create_directory_at(path).map(done),
            "rmdir" => folder.remove_directory_at(path).map(done),
            "unlink" => folder.unlink_file_at(path).map(done),
            "rename" => folder.rename_at(path, &self.folder(self.to_folder)?, to).map(done),
            "link" => folder.link_at(PathFlags::empty(), path, &self.folder(self.to_folder)?, to).map(done),
            "symlink" => folder.symlink_at(path, to).map(done),
            what => exhaust::attempt(&folder, what, path, self.count),
        }
    }
}

/// Writes that many bytes.
fn pour(stream: &OutputStream, bytes: u64) -> Outcome<()> {
    let chunk = vec![b'x'; 4096];
    let mut left = bytes;
    while left > 0 {
        let part = left.min(4096);
        stream.blocking_write_and_flush(&chunk[..part as usize]).map_err(|error| match error {
            StreamError::LastOperationFailed(error) => filesystem_error_code(&error).unwrap_or(ErrorCode::Io),
            StreamError::Closed => ErrorCode::Pipe,
        })?;
        left -= part;
    }
    Ok(())
}
