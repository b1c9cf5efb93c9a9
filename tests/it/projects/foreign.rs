//! Projects that somebody else has written: their files are no regular ones, and links lead out of them.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use rustix::process::Signal;

use super::{Project, command_in, err, succeed};
use crate::support::home::{Home, component};
use crate::support::process::{Process, command};

/// Each folder and file that builds write in `dist`.
#[test]
fn nothing_is_written_or_removed_through_a_link() {
    let home = Home::new();
    let (dir, victim) = (home.path("home/c"), home.path("home/victim"));
    for folder in ["src", "dist", "wharf/src", "wharf/abi", "wharf/yyjson"] {
        fs::create_dir_all(dir.join(folder)).expect("a folder");
    }
    fs::create_dir(&victim).expect("a folder");
    fs::write(victim.join("precious"), "kept").expect("a file");
    fs::write(dir.join("src/plugin.c"), "").expect("a file");
    fs::write(dir.join("plugin.toml"), "name = \"c\"\nlanguage = \"c\"\n").expect("a file");
    symlink(&victim, dir.join("dist/.objects")).expect("a link");
    let build = || {
        let built = command_in(&home, &dir).output().expect("the binary runs");
        assert_eq!(built.status.code(), Some(1), "{}", err(&built));
        err(&built)
    };
    let reported = build();
    assert!(reported.contains(".objects is a link") || reported.contains("failed to find clang"), "{reported}");
    fs::remove_file(dir.join("dist/.build.lock")).expect("the lock");
    symlink(victim.join("precious"), dir.join("dist/.build.lock")).expect("a link");
    assert!(build().contains("failed to lock "), "{}", build());
    fs::remove_file(dir.join("dist/.build.lock")).expect("the link");
    symlink(victim.join("precious"), dir.join("dist/.dev.lock")).expect("a link");
    let served = command(&home, ["dev".as_ref(), dir.as_os_str()]).output().expect("the binary runs");
    assert!(served.status.code() == Some(1) && err(&served).contains("failed to lock "), "{}", err(&served));
    assert_eq!(fs::read_to_string(victim.join("precious")).expect("the file"), "kept");
    assert_eq!(fs::read_dir(&victim).expect("a folder").count(), 1);
}

/// A pipe that nobody writes to, and a device without end. A build ends at once, and a signal ends `wharf dev`.
#[test]
fn what_is_no_regular_file_is_not_read() {
    let project = Project::new(&succeed(&component("echo")));
    for (number, file) in ["plugin.py", "requirements.txt", "more.py"].into_iter().enumerate() {
        let path = project.dir.join(file);
        let _ = fs::remove_file(&path);
        if number % 2 == 0 {
            assert!(Command::new("mkfifo").arg(&path).status().expect("it runs").success());
        } else {
            symlink("/dev/zero", &path).expect("a link");
        }
    }
    let built = project.build(&[]);
    assert!(err(&built).contains("failed to find the source: no such file: "), "{}", err(&built));
    fs::remove_file(project.dir.join("plugin.py")).expect("the pipe");
    let imports = format!(": <<'END'\nimport more\nEND\n{}", succeed(&component("echo")));
    project.put("plugin.py", &imports);
    let built = project.build(&[]);
    assert!(built.status.success(), "{}", err(&built));
    let mut dev =
        Process::start(command(&project.home, ["dev", &project.dir.display().to_string(), "--http", "127.0.0.1:0"]));
    dev.log_with("made offers tools");
    dev.signal(Signal::INT);
    assert!(dev.wait().success(), "{}", dev.log());
    fs::remove_file(project.dir.join("plugin.toml")).expect("the file");
    assert!(Command::new("mkfifo").arg(project.dir.join("plugin.toml")).status().expect("it runs").success());
    assert!(err(&project.build(&[])).contains("it is not a regular file"), "{}", err(&project.build(&[])));
}
