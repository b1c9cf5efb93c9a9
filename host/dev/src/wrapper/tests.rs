use std::fs;
use std::path::{Path, PathBuf};

use clap::ValueEnum as _;

use super::{Record, Remark, digest, own, read, record, remark, restore};
use crate::language::Language;
use crate::new;
use crate::os::link_file;
use crate::project::Project;
use crate::upgrade;

/// A new project in C, whose library has few files.
fn project(root: &Path) -> Project {
    new::run("made", Language::C, Some(root.join("made")), false).expect("it is created");
    Project::read(&root.join("made")).expect("a project")
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder")
}

/// Why an upgrade was refused.
fn refused(project: &Project, force: bool) -> String {
    format!("{:?}", upgrade::run(&project.dir, force).expect_err("it is refused"))
}

#[test]
fn every_project_uses_the_folder_and_it_is_read_as_it_was_written() {
    for language in Language::value_variants() {
        let root = folder();
        let dir = root.path().join("made");
        new::run("made", *language, Some(dir.clone()), true).expect("it is created");
        let project = Project::read(&dir).expect("a project");
        assert!(project.uses_wrapper_folder(), "{}", language.name());
        let files = read(&dir).expect("it is read").expect("it is there");
        assert_eq!(files, own(*language), "{}", language.name());
        assert_eq!(record(&dir), Some(Record::own(&files)), "{}", language.name());
        // What tools generate is no change.
        for generated in ["wharf/__pycache__", "wharf/.mypy_cache", "wharf/target"] {
            fs::create_dir_all(dir.join(generated).join("deep")).expect("a folder");
            fs::write(dir.join(generated).join("deep/file"), "generated").expect("a file");
        }
        assert_eq!(read(&dir).expect("it is read"), Some(files));
    }
}

/// The wrapper's folder in a project, changed by hand.
struct Library<'p>(&'p Path);

impl Library<'_> {
    fn path(&self, path: &str) -> PathBuf {
        self.0.join("wharf").join(path)
    }

    fn put(&self, path: &str, text: &str) {
        fs::write(self.path(path), text).expect("a file");
    }

    /// Records its files as those of that version.
    fn record(&self, version: &str) {
        let digest = digest(&read(self.0).expect("it is read").expect("it is there"));
        self.put("version.toml", &format!("version = \"{version}\"\ndigest = \"{digest}\"\n"));
    }
}

#[test]
fn the_folder_is_restored_only_where_it_is_used() {
    let root = folder();
    let project = project(root.path());
    fs::remove_dir_all(project.dir.join("wharf")).expect("it goes");
    restore(&project).expect("it is restored");
    assert_eq!(read(&project.dir).expect("it is read"), Some(own(Language::C)));
    // One that is there stays as it is.
    fs::write(project.dir.join("wharf/wharf.h"), "mine").expect("a file");
    restore(&project).expect("nothing to do");
    assert_eq!(fs::read(project.dir.join("wharf/wharf.h")).expect("a file"), b"mine");
    fs::remove_dir_all(project.dir.join("wharf")).expect("it goes");
    let elsewhere = "name = \"made\"\nlanguage = \"c\"\nwrapper = \"../wharf\"\n";
    fs::write(project.dir.join("plugin.toml"), elsewhere).expect("a file");
    let project = Project::read(&project.dir).expect("a project");
    restore(&project).expect("nothing to do");
    assert!(!project.dir.join("wharf").exists());
    assert!(refused(&project, true).contains("the project does not use it"));
}

#[test]
fn an_older_folder_is_replaced_unless_it_was_changed() {
    let root = folder();
    let project = project(root.path());
    let library = Library(&project.dir);
    let put = |path: &str, text: &str| library.put(path, text);
    let current = || read(&project.dir).expect("it is read") == Some(own(Language::C));
    let done = |force| assert!(upgrade::run(&project.dir, force).is_ok() && current());
    put("wharf.h", "older");
    put("gone.c", "");
    library.record("0.0.9");
    fs::write(project.dir.join("src/plugin.c"), "mine").expect("a file");
    done(false);
    assert_eq!(fs::read(project.dir.join("src/plugin.c")).expect("a file"), b"mine");
    assert!(!library.path("gone.c").exists());
    assert_eq!(record(&project.dir), Some(Record::own(&own(Language::C))));
    // Changed by hand: a file, one more, one less.
    let changes =
        [("wharf.h", true), ("mine.c", true), (".notes", true), ("build/patch.c", true), ("wharf_host.h", false)];
    for change in changes {
        // An upgrade removes it.
        fs::create_dir_all(library.path("build")).expect("a folder");
        match change {
            (path, true) => put(path, "mine"),
            (path, false) => fs::remove_file(library.path(path)).expect("it goes"),
        }
        assert!(refused(&project, false).contains("it was changed after Wharf"), "{change:?}");
        assert!(!current(), "{change:?}");
        done(true);
    }
    put("wharf.h", "newer");
    library.record("999.0.0");
    assert!(refused(&project, false).contains("it is of a newer version, 999.0.0"));
    done(true);
    // Of a Wharf that left no record: recorded if it is the same, and otherwise perhaps changed.
    fs::remove_file(library.path("version.toml")).expect("it goes");
    done(false);
    assert!(record(&project.dir).is_some());
    let of = |version: &str| format!("version = \"{version}\"\ndigest = \"\"\n");
    let long = format!("1.0.0-{}", "a".repeat(1000));
    for no_record in [String::new(), of("\\u001b[31m"), of("1.0.0-\\u001b[31m"), of("1.0.0 \\u202e"), of(&long)] {
        put("wharf.h", "mine");
        put("version.toml", &no_record);
        assert!(refused(&project, false).contains("records no version of Wharf"));
        done(true);
    }
}

#[test]
fn a_build_says_what_was_changed_by_hand_and_what_is_of_another_version() {
    let root = folder();
    let project = project(root.path());
    let library = Library(&project.dir);
    let put = |path: &str, text: &str| library.put(path, text);
    let changed = || match remark(&project) {
        Some(Remark::Changed(text)) => text,
        other => panic!("{other:?}"),
    };
    let other_version = || match remark(&project) {
        Some(Remark::OtherVersion(text)) => text,
        other => panic!("{other:?}"),
    };
    assert!(remark(&project).is_none());
    put("wharf.h", "mine");
    put("mine.c", "mine");
    fs::remove_file(library.path("wharf_host.h")).expect("it goes");
    let text = changed();
    assert!(text.contains(" wrote it: mine.c, wharf.h, wharf_host.h; `wharf upgrade` refuses"), "{text}");
    assert!(
        text.contains("write wrapper = \"wharf-changed\" in plugin.toml; to discard them: wharf upgrade"),
        "{text}"
    );
    for number in 0..9 {
        put(&format!("a{number}.c"), "mine");
    }
    assert!(changed().contains(": a0.c, a1.c, a2.c, a3.c, a4.c and 7 more; "), "{}", changed());
    // Once its files are those of the record, it is of that version.
    library.record("0.0.9");
    assert!(other_version().starts_with("wharf/ is of Wharf 0.0.9; `wharf upgrade` takes"), "{}", other_version());
    library.record("999.0.0");
    assert!(other_version().contains("999.0.0, which is newer"), "{}", other_version());
    put("wharf.h", "other");
    let text = changed();
    assert!(text.contains("wharf/ was changed after Wharf 999.0.0 wrote it; `wharf upgrade` refuses"), "{text}");
    // What the warning says: the changes are kept.
    fs::rename(library.path(""), project.dir.join("wharf-changed")).expect("it is renamed");
    fs::write(project.dir.join("plugin.toml"), "name = \"made\"\nlanguage = \"c\"\nwrapper = \"wharf-changed\"\n")
        .expect("a file");
    let project = Project::read(&project.dir).expect("a project");
    restore(&project).expect("nothing to do");
    assert!(remark(&project).is_none() && !library.path("").exists());
}

/// Names that are not UTF-8, of files and of folders.
#[cfg(target_os = "linux")]
#[test]
fn names_of_any_bytes_are_a_persons() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;

    let root = folder();
    let project = project(root.path());
    let library = project.dir.join("wharf");
    let odd = |bytes: &[u8]| library.join(OsStr::from_bytes(bytes));
    fs::write(odd(b"\xff.h"), "mine").expect("a file");
    fs::write(odd(b"\xfe.h"), "mine").expect("a file");
    fs::create_dir(odd(b"d\xff")).expect("a folder");
    fs::write(odd(b"d\xff/a.h"), "mine").expect("a file");
    let found = read(&project.dir).expect("it is read").expect("it is there");
    for name in ["\"\\xFF.h\"", "\"\\xFE.h\"", "\"d\\xFF\"/a.h"] {
        assert!(found.contains_key(name), "{name}: {:?}", found.keys());
    }
    assert!(refused(&project, false).contains("it was changed after Wharf"));
    assert_eq!(fs::read(odd(b"\xff.h")).expect("a file"), b"mine");
    upgrade::run(&project.dir, true).expect("it is replaced");
    assert_eq!(read(&project.dir).expect("it is read"), Some(own(Language::C)));
}

#[test]
fn links_lead_no_write_out_of_the_project() {
    let root = folder();
    let project = project(root.path());
    let outside = root.path().join("outside");
    fs::create_dir_all(outside.join("src")).expect("a folder");
    fs::write(outside.join("file"), "theirs").expect("a file");
    let library = project.dir.join("wharf");
    let untouched = || {
        assert_eq!(fs::read(outside.join("file")).expect("a file"), b"theirs");
        assert_eq!(fs::read_dir(&outside).expect("a folder").count(), 2);
        assert_eq!(fs::read_dir(outside.join("src")).expect("a folder").count(), 0);
    };
    // In the folder they are changes.
    fs::remove_file(library.join("wharf.h")).expect("it goes");
    link_file(outside.join("file"), library.join("wharf.h")).expect("a link");
    fs::remove_dir_all(library.join("src")).expect("it goes");
    link_file(outside.join("src"), library.join("src")).expect("a link");
    assert!(refused(&project, false).contains("it was changed"));
    // Under the names of an interrupted upgrade they are replaced.
    for left in [".wharf.new", ".wharf.old"] {
        link_file(&outside, project.dir.join(left)).expect("a link");
    }
    upgrade::run(&project.dir, true).expect("it is replaced");
    assert_eq!(read(&project.dir).expect("it is read"), Some(own(Language::C)));
    untouched();
    assert!(!project.dir.join(".wharf.new").exists() && !project.dir.join(".wharf.old").exists());
    // The folder itself.
    fs::remove_dir_all(&library).expect("it goes");
    link_file(&outside, &library).expect("a link");
    assert!(refused(&project, true).contains("wharf"));
    restore(&project).expect("it is somebody's");
    untouched();
}

#[test]
fn what_an_interrupted_run_left_does_not_get_into_the_folder() {
    let root = folder();
    let project = project(root.path());
    for left in [".wharf.new/src", ".wharf.old/src"] {
        fs::create_dir_all(project.dir.join(left)).expect("a folder");
        fs::write(project.dir.join(left).join("half.c"), "int").expect("a file");
    }
    // Between its two renames.
    fs::remove_dir_all(project.dir.join("wharf")).expect("it goes");
    restore(&project).expect("it is restored");
    assert_eq!(read(&project.dir).expect("it is read"), Some(own(Language::C)));
    assert!(!project.dir.join(".wharf.new").exists() && !project.dir.join(".wharf.old").exists());
}
