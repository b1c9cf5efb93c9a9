use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cap_primitives::fs::{DirOptions, create_dir, open_dir};
use rustix::fs::{CWD, Mode, mkfifoat};
use wasmtime_wasi::FsPerms;

use super::bindings::{DescriptorFlags, OpenFlags, PathFlags};
use super::ledger::Ledger;
use super::open::Request;
use super::protected::{ProtectedFolders, identities};
use super::survey::{Survey, Usage, survey};
use crate::plugin::policy::grants::PrivateFile;

const LIMIT: u64 = 1000;

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

fn own() -> u32 {
    rustix::process::geteuid().as_raw()
}

fn look(folder: &Path, own: u32, limit: u64) -> Survey {
    survey(&File::open(folder).expect("a folder"), own, limit, &[]).expect("it can be read")
}

#[test]
fn a_survey_counts_entries_and_follows_no_link() {
    let root = folder();
    fs::create_dir_all(root.path().join("a/b")).expect("folders");
    fs::write(root.path().join("a/b/deep"), [0; 100]).expect("a file");
    fs::write(root.path().join("top"), [0; 11]).expect("a file");
    symlink("/", root.path().join("link")).expect("a link");
    let found = look(root.path(), own(), LIMIT);
    assert_eq!((found.usage, found.cut), (Usage { bytes: 111, entries: 5 }, false));
    assert_eq!(found.usage.counted(), 111 + 5 * 4096);
    assert_eq!(found.objection, None);
    let cut = look(root.path(), own(), 4);
    assert_eq!((cut.usage.entries, cut.cut), (4, true));
}

#[test]
fn a_survey_finds_entries_that_no_plugin_may_access() {
    let root = folder();
    fs::write(root.path().join("one"), "").expect("a file");
    assert_eq!(look(root.path(), own() + 1, LIMIT).objection, None, "one link is allowed, even of another user's file");
    fs::hard_link(root.path().join("one"), root.path().join("two")).expect("a link");
    assert_eq!(look(root.path(), own(), LIMIT).objection, None, "this user's files may have two");
    let foreign = look(root.path(), own() + 1, LIMIT).objection.expect("an objection");
    assert_eq!(foreign.0, "another user's file with several hard links");
    mkfifoat(CWD, root.path().join("fifo"), Mode::RWXU).expect("a FIFO");
    let fifo = look(root.path(), own(), LIMIT).objection;
    assert_eq!(fifo, Some(("a FIFO".into(), PathBuf::from("fifo"))));
}

#[test]
fn folders_with_private_files_or_links_to_them_are_refused() {
    let root = folder();
    let path = root.path().canonicalize().expect("it is there");
    for folder in ["data/deep", "other", "links", "far"] {
        fs::create_dir_all(path.join(folder)).expect("a folder");
    }
    fs::write(path.join("data/deep/token"), "secret").expect("a file");
    // Through a link to its folder, in another folder.
    symlink("../data", path.join("links/way")).expect("a link");
    symlink(path.join("links/way/deep"), path.join("far/on")).expect("a link");
    let objection = |file: &str, folder: &str| {
        let private = [PrivateFile { what: "a token".into(), path: path.join(file), is_folder: false }];
        ProtectedFolders::default().objection(&path.join(folder), &private)
    };
    for file in
        ["data/deep/token", "links/way/deep/token", "far/on/token", "data/deep/not-there", "other/../data/deep/x"]
    {
        for folder in ["data/deep", "data", ""] {
            let why = objection(file, folder).expect(folder);
            assert_eq!(why, format!("contains a token: {}", path.join(file).display()));
        }
        assert_eq!(objection(file, "other"), None);
    }
    // A user who can change a link can replace the token.
    assert!(objection("far/on/token", "links").is_some() && objection("far/on/token", "far").is_some());
    assert_eq!(objection("data/deep/token", "links"), None);
    // Under another name.
    fs::hard_link(path.join("data/deep/token"), path.join("other/harmless")).expect("a link");
    let private = [PrivateFile { what: "a token".into(), path: path.join("far/on/token"), is_folder: false }];
    let other = File::open(path.join("other")).expect("a folder");
    let found = survey(&other, own(), LIMIT, &identities(&private)).expect("it can be read");
    assert_eq!(found.objection, Some(("a token by another name".into(), PathBuf::from("harmless"))));
}

#[test]
fn protected_folders_are_refused_with_what_contains_them() {
    let root = folder();
    let path = root.path().canonicalize().expect("it is there");
    let protected = ProtectedFolders { trees: vec![path.join("tree/not-there")], tops: vec![path.join("top")] };
    let objects = |below: &str| protected.objection(&path.join(below), &[]).is_some();
    for bad in ["tree", "tree/not-there", "tree/not-there/in/it", "top", "a/.ssh", ".gnupg/x/y"] {
        assert!(objects(bad), "{bad}");
    }
    for good in ["tree/other", "tree/not-there-either", "top/in-it", "topmost", "other"] {
        assert!(!objects(good), "{good}");
    }
    assert!(protected.objection(&path, &[]).is_some() && protected.objection(Path::new("/"), &[]).is_some());
}

fn ledger(folder: &Path, quota: u64) -> Ledger {
    let root = Arc::new(File::open(folder).expect("a folder"));
    let usage = look(folder, own(), LIMIT).usage;
    Ledger::new(root, quota, usage, own())
}

fn request(path: &str, how: OpenFlags, flags: DescriptorFlags) -> Request {
    Request { path: path.into(), at: PathFlags::SYMLINK_FOLLOW, how, flags }
}

#[test]
fn a_ledger_charges_growth_only() {
    let root = folder();
    let dir = File::open(root.path()).expect("a folder");
    // One entry and 10,000 bytes.
    let mut ledger = ledger(root.path(), 4096 + 10_000);
    let file = ledger.create(|| File::create_new(root.path().join("file"))).expect("there is room");
    for _ in 0..3 {
        ledger.write(&file, &[1; 10_000], Some(0)).expect("overwritten");
    }
    let over = |done: std::io::Result<()>| done.expect_err("over the quota").kind();
    assert_eq!(over(ledger.write(&file, &[1], None)), std::io::ErrorKind::QuotaExceeded);
    assert_eq!(over(ledger.write(&file, &[1], Some(10_000))), std::io::ErrorKind::QuotaExceeded);
    ledger.write(&file, &[1], Some(9_999)).expect("the last byte");
    ledger.write(&file, &[], Some(1 << 50)).expect("no bytes, beyond the end");
    ledger.set_size(&file, 4000).expect("truncated");
    ledger.write(&file, &[2; 6000], None).expect("the freed bytes can be used");
    assert_eq!(over(ledger.create_folder(&dir, Path::new("sub"))), std::io::ErrorKind::QuotaExceeded);
    drop(file);
    ledger.remove_file(&dir, Path::new("file")).expect("removed");
    ledger.create_folder(&dir, Path::new("sub")).expect("bytes were freed");
    let file = ledger.create(|| File::create_new(root.path().join("file")));
    assert!(file.is_ok(), "an entry is all that the folder takes: {file:?}");
}

/// Also one that replaces a file between the check and the opening.
#[test]
fn special_files_are_not_opened_and_do_not_block() {
    let root = folder();
    fs::create_dir(root.path().join("sub")).expect("a folder");
    fs::write(root.path().join("file"), "").expect("a file");
    mkfifoat(CWD, root.path().join("fifo"), Mode::RWXU).expect("a FIFO");
    let dir = File::open(root.path()).expect("a folder");
    let mut ledger = ledger(root.path(), 1 << 20);
    for flags in [DescriptorFlags::READ, DescriptorFlags::WRITE, DescriptorFlags::READ | DescriptorFlags::WRITE] {
        let fifo = request("fifo", OpenFlags::empty(), flags);
        let refused = fifo.open_counted(&dir, &mut ledger).map(|_| ()).expect_err("a FIFO");
        assert_eq!(refused.kind(), std::io::ErrorKind::PermissionDenied);
        let late = fifo.existing(&dir, FsPerms::ReadWrite).map(|_| ());
        assert!(late.is_err(), "{late:?}");
    }
    let read = |path: &str, how| request(path, how, DescriptorFlags::READ).open(&dir).map(|_| ());
    assert!(read("file", OpenFlags::empty()).is_ok() && read("sub", OpenFlags::DIRECTORY).is_ok());
    let no_folder = read("file", OpenFlags::DIRECTORY).expect_err("no folder");
    assert_eq!(no_folder.kind(), std::io::ErrorKind::NotADirectory);
}

/// Deeper than a path may be long.
#[test]
fn folders_of_any_depth_are_surveyed() {
    let root = tempfile::tempdir().expect("a folder");
    let name = PathBuf::from("d".repeat(200));
    let mut at = File::open(root.path()).expect("a folder");
    for _ in 0..40 {
        create_dir(&at, &name, &DirOptions::new()).expect("created");
        at = open_dir(&at, &name).expect("it is there");
    }
    let found = survey(&File::open(root.path()).expect("a folder"), own(), LIMIT, &[]).expect("it can be read");
    assert_eq!((found.usage.entries, found.cut), (40, false));
}
