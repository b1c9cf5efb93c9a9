//! The folder `wharf/` of a project: who commits it, who writes it again, and how it gets newer.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Output;

use rustix::fs::{CWD, Mode, mkfifoat};

use super::{Project, err, succeed};
use crate::support::home::{Home, component, repository};
use crate::support::process::run;

/// All files in a folder with their contents, but not those in `left_out`.
fn files(folder: &Path, left_out: &str) -> BTreeMap<PathBuf, Vec<u8>> {
    let (mut found, mut folders) = (BTreeMap::new(), vec![folder.to_owned()]);
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path == folder.join(left_out) {
                continue;
            } else if path.is_dir() {
                folders.push(path);
            } else {
                found.insert(path.clone(), fs::read(path).expect("a file"));
            }
        }
    }
    found
}

fn upgrade(home: &Home, dir: &Path, more: &[&str]) -> Output {
    run(home, [&["upgrade".as_ref(), dir.as_os_str()][..], &more.iter().map(OsStr::new).collect::<Vec<_>>()].concat())
}

#[test]
fn a_new_repository_has_only_the_authors_files_unless_it_is_vendored() {
    for language in ["rust", "python", "typescript", "javascript", "go", "c", "cpp"] {
        let home = Home::new();
        let made = err(&run(&home, ["new", "one", "--lang", language]));
        let dir = home.path("home/one");
        let count = files(&dir, "wharf").len();
        assert!(count < 12, "{language}: {count}");
        assert!(
            made.contains(&format!("in {language}, {count} files, and the library in wharf/, which git")),
            "{made}"
        );
        let ignored = fs::read_to_string(dir.join(".gitignore")).expect("a file");
        assert!(ignored.lines().any(|line| line == "/wharf/"), "{ignored}");
        let readme = fs::read_to_string(dir.join("README.md")).expect("a file");
        assert!(readme.contains("After a clone, run `wharf build`"), "{readme}");
        assert!(run(&home, ["new", "two", "--lang", language, "--vendor"]).status.success());
        let ignored = fs::read_to_string(home.path("home/two/.gitignore")).expect("a file");
        assert!(!ignored.contains("wharf"), "{ignored}");
        assert!(home.path("home/two/wharf/version.toml").is_file());
    }
}

/// A project may be of others.
#[test]
fn links_and_fifos_of_a_project_are_refused() {
    let home = Home::new();
    assert!(run(&home, ["new", "p", "--lang", "c"]).status.success());
    let dir = home.path("home/p");
    let victim = home.path("home/victim");
    fs::create_dir_all(victim.join(".build/keep")).expect("a folder");
    symlink(&victim, dir.join("dist")).expect("a link");
    let build = || err(&run(&home, ["build".as_ref(), dir.as_os_str()]));
    let reported = build();
    assert!(reported.contains("outside of the project") && reported.contains("is a link"), "{reported}");
    assert!(victim.join(".build/keep").is_dir());
    fs::remove_file(dir.join("plugin.toml")).expect("it goes");
    mkfifoat(CWD, dir.join("plugin.toml"), Mode::RWXU).expect("a FIFO");
    for reported in [build(), err(&upgrade(&home, &dir, &[]))] {
        assert!(reported.contains("it is not a regular file"), "{reported}");
    }
}

#[test]
fn build_restores_the_library_of_a_clone() {
    let project = Project::new(&succeed(&component("echo")));
    let built = project.build(&[]);
    assert!(
        built.status.success() && err(&built).contains("restored wharf/, the library, from Wharf "),
        "{}",
        err(&built)
    );
    let library = project.dir.join("wharf");
    let written = files(&library, "");
    assert!(library.join("wharf_plugin/__init__.py").is_file() && library.join("wit/tools.wit").is_file());
    let again = project.build(&[]);
    assert!(again.status.success() && !err(&again).contains("wharf/"), "{}", err(&again));
    fs::remove_dir_all(&library).expect("it goes");
    assert!(upgrade(&project.home, &project.dir, &[]).status.success());
    assert_eq!(files(&library, ""), written);
}

#[test]
fn build_says_that_the_library_is_of_another_version_or_was_changed() {
    let project = Project::new(&succeed(&component("echo")));
    assert!(project.build(&[]).status.success());
    let record = fs::read_to_string(project.dir.join("wharf/version.toml")).expect("a record");
    let version = format!("version = \"{}\"", env!("CARGO_PKG_VERSION"));
    assert!(record.contains(&version), "{record}");
    let reported = |record: &str| {
        project.put("wharf/version.toml", record);
        err(&project.build(&[]))
    };
    // The content is the same.
    let older = record.replace(&version, "version = \"0.0.9\"");
    assert!(!reported(&older).contains("upgrade"));
    assert!(!reported("no record").contains("wharf/"), "its content is that of this version");
    project.put("wharf/wit/tools.wit", "package mine;");
    assert!(reported("no record").contains("wharf/ is of an unknown version of Wharf; `wharf upgrade` takes"));
    let changed = reported(&record);
    let warning =
        format!("warning: wharf/ was changed after Wharf {} wrote it: wit/tools.wit; ", env!("CARGO_PKG_VERSION"));
    assert!(changed.contains(&warning), "{changed}");
    // The command of the warning.
    let forced = upgrade(&project.home, &project.dir, &["--force"]);
    assert!(changed.contains(&format!("wharf upgrade --force {}\n", project.dir.display())), "{changed}");
    assert!(forced.status.success() && !err(&project.build(&[])).contains("wharf/"));
}

#[test]
fn upgrade_shows_what_it_would_discard_and_leaves_the_authors_files() {
    let home = Home::new();
    assert!(run(&home, ["new", "made", "--lang", "c"]).status.success());
    let dir = home.path("home/made");
    let (own, library) = (files(&dir, "wharf"), files(&dir.join("wharf"), ""));
    let done = upgrade(&home, &dir, &[]);
    assert!(done.status.success() && err(&done).contains("already"), "{}", err(&done));
    fs::write(dir.join("wharf/wharf.h"), "mine").expect("a file");
    fs::write(dir.join("wharf/mine\u{1b}[31m.h"), "").expect("a file");
    for folder in ["wit", "src"] {
        fs::remove_dir_all(dir.join("wharf").join(folder)).expect("it goes");
    }
    let refused = upgrade(&home, &dir, &[]);
    let reported = err(&refused);
    assert_eq!(refused.status.code(), Some(1), "{reported}");
    assert!(reported.contains("would be changed: 1 changed, ") && reported.contains(" new, 1 removed\n"), "{reported}");
    for line in ["\n  changed  wharf.h\n", "\n  new      src/", "it was changed after Wharf "] {
        assert!(reported.contains(line), "no {line:?} in {reported}");
    }
    assert!(reported.lines().filter(|line| line.starts_with("  ")).count() <= 21, "{reported}");
    assert!(
        reported.contains("\n  and ") && reported.contains(" more\n") && !reported.contains('\u{1b}'),
        "{reported}"
    );
    assert_eq!(fs::read(dir.join("wharf/wharf.h")).expect("a file"), b"mine");
    // The command of the hint.
    let forced = upgrade(&home, &dir, &["--force"]);
    assert!(reported.contains(&format!("wharf upgrade --force {}", dir.display())), "{reported}");
    assert!(forced.status.success() && err(&forced).contains("Next: wharf build"), "{}", err(&forced));
    assert_eq!((files(&dir, "wharf"), files(&dir.join("wharf"), "")), (own, library));
    // Not a project, and one that has its wrapper elsewhere.
    let none = upgrade(&home, &home.path("home"), &[]);
    assert!(none.status.code() == Some(2) && err(&none).contains("wharf new"), "{}", err(&none));
    fs::write(dir.join("plugin.toml"), "name = \"made\"\nlanguage = \"c\"\nwrapper = \"../x\"\n").expect("a file");
    let other = upgrade(&home, &dir, &["--force"]);
    assert!(other.status.code() == Some(2) && err(&other).contains("does not use it"), "{}", err(&other));
}

/// The manifest of docs/plugins.md.
#[test]
fn upgrade_writes_the_library_of_a_crate_that_was_begun_by_hand() {
    let home = Home::new();
    let page = fs::read_to_string(repository().join("docs/plugins.md")).expect("a page");
    let section = page.split("## Rust from an empty folder").nth(1).expect("its section");
    let manifest = section.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).expect("a manifest");
    fs::write(home.path("home/plugin.toml"), "name = \"hello\"\nlanguage = \"rust\"\n").expect("a file");
    fs::write(home.path("home/Cargo.toml"), manifest).expect("a file");
    let done = run(&home, ["upgrade"]);
    assert!(done.status.success() && home.path("home/wharf/src/lib.rs").is_file(), "{}", err(&done));
}
