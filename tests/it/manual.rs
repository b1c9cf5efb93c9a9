//! The commands of the pages work as they are printed.
//!
//! Those that build projects are only parsed here, and run by `tests/languages.sh`; those of docs/team.md by
//! `tests/team.sh`.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::support::home::{Home, component, repository};
use crate::support::process::binary;

/// What usages stand for, where not any word is valid.
const MEANINGS: [(&str, &str); 11] = [
    ("ADDR", "127.0.0.1:8080"),
    ("ANSWER", "yes"),
    ("CLIENT", "cursor"),
    ("COLUMN", "cpu"),
    ("COMMAND", "check"),
    ("GRANT", "keyvalue"),
    ("LANG", "python"),
    ("N", "5"),
    ("SHELL", "bash"),
    ("TIME", "1h"),
    ("WHAT", "tool"),
];

/// What these do is not up to Wharf, or needs the tools of a language, or a server that records calls.
const ELSEWHERE: [&str; 14] = [
    "apt-get",
    "cargo",
    "cd",
    "claude",
    "install",
    "npm",
    "npx",
    "python3",
    "rustup",
    "wharf build",
    "wharf dev",
    "wharf new",
    "wharf shadow",
    "wharf upgrade",
];

/// The component of docs/plain-components.md.
const TIME: &str = r#"(component
    (core module $m
        (memory (export "memory") 1)
        (func (export "realloc") (param i32 i32 i32 i32) (result i32) i32.const 1024)
        (func (export "now") (param i32 i32 i32) (result i32) i32.const 16)
        (data (i32.const 16) "\00\00\00\00\20\00\00\00\14\00\00\00")
        (data (i32.const 32) "2026-01-01T00:00:00Z"))
    (core instance $i (instantiate $m))
    (func $now (param "zone" (option string)) (result (result string (error string)))
        (canon lift (core func $i "now") (memory (core memory $i "memory")) (realloc (core func $i "realloc"))))
    (instance $time (export "get-current-time" (func $now)))
    (export "local:time-server/time" (instance $time)))"#;

/// A user's home with what the commands of the pages name.
struct User {
    home: Home,
    /// The server that a page has started, and its address.
    server: Option<(Child, String)>,
}

impl User {
    fn new() -> Self {
        let home = Home::new();
        let (bin, user, served) = (home.path("bin"), home.path("home"), home.path("data/wharf/plugins"));
        for folder in [&bin, &served, &user.join("plugins/prebuilt"), &home.path("config/Claude")] {
            fs::create_dir_all(folder).expect("a folder");
        }
        symlink(binary(), bin.join("wharf")).expect("a link");
        for folder in [&user, &served, &home.plugins()] {
            fs::copy(component("text"), folder.join("weather.wasm")).expect("a plugin");
        }
        for folder in [user.join("dist"), user.join("target/wasm32-wasip2/release")] {
            fs::create_dir_all(&folder).expect("a folder");
            fs::copy(component("hello"), folder.join("hello.wasm")).expect("a plugin");
        }
        fs::write(user.join("time.wasm"), wat::parse_str(TIME).expect("valid text")).expect("a component");
        for policy in ["time.policy.yaml", "policy.yaml"] {
            fs::write(user.join(policy), "version: \"1.0\"\npermissions: {}\n").expect("a file");
        }
        for plugin in fs::read_dir(repository().join("plugins/prebuilt")).expect("a folder") {
            let plugin = plugin.expect("a file");
            fs::copy(plugin.path(), user.join("plugins/prebuilt").join(plugin.file_name())).expect("a plugin");
        }
        let skill = Path::new("plugins/skills/timesheet");
        for file in ["SKILL.md", "references/rounding.md"] {
            let copy = user.join(skill).join(file);
            fs::create_dir_all(copy.parent().expect("a folder")).expect("a folder");
            fs::copy(repository().join(skill).join(file), copy).expect("a file");
        }
        Self { home, server: None }
    }

    fn shell(&self, command: &str) -> Command {
        let path = format!("{}:/usr/bin:/bin", self.home.path("bin").display());
        let mut shell = Command::new("sh");
        shell.args(["-c", command]).current_dir(self.home.path("home")).stdin(Stdio::null());
        shell.env_clear().envs(self.home.environment()).env("PATH", path);
        shell
    }

    /// Runs a command to its end, or until it listens; returns what it printed.
    fn run(&mut self, printed: &str) -> String {
        let mut command = printed.replace("/path/to/plugins", &self.home.plugins().display().to_string());
        if ["approve", "grant", "ungrant", "install"].iter().any(|asks| command.starts_with(&format!("wharf {asks} ")))
        {
            command += " --yes";
        }
        if let Some((_, address)) = &self.server {
            command = command.replace("http://127.0.0.1:8080/mcp", address);
        }
        if command.contains("--http 127.0.0.1:8080") {
            return self.serve(&command.replace("127.0.0.1:8080", "127.0.0.1:0"));
        }
        let run = self.shell(&command).output().expect("a shell");
        let reported = String::from_utf8_lossy(&run.stdout).into_owned();
        assert!(run.status.success(), "{printed}: {reported}{}", String::from_utf8_lossy(&run.stderr));
        assert!(!reported.contains("\"error\""), "{printed}: {reported}");
        reported
    }

    fn serve(&mut self, command: &str) -> String {
        self.stop();
        let mut server = self.shell(&format!("exec {command}")).stderr(Stdio::piped()).spawn().expect("a shell");
        let mut log = BufReader::new(server.stderr.take().expect("a pipe")).lines().map_while(Result::ok);
        let address = log.find_map(|line| line.strip_prefix("listening on ").map(str::to_owned)).expect("an address");
        // So that the server never waits for a reader.
        std::thread::spawn(move || log.for_each(drop));
        self.server = Some((server, address.clone()));
        address
    }

    fn stop(&mut self) {
        if let Some((mut server, _)) = self.server.take() {
            server.kill().expect("a running server");
            server.wait().expect("its end");
        }
    }
}

impl Drop for User {
    fn drop(&mut self) {
        self.stop();
    }
}

/// The commands of a page's shell blocks, without comments.
fn commands(page: &Path) -> Vec<String> {
    let text = fs::read_to_string(page).expect("a page").replace("\\\n", "");
    let mut commands = Vec::new();
    let mut is_shell = false;
    for line in text.lines() {
        let command = line.split(" # ").next().unwrap_or(line).trim();
        if line.starts_with("```") {
            is_shell = !is_shell && line == "```sh";
        } else if is_shell && !command.is_empty() {
            commands.push(command.to_owned());
        }
    }
    commands
}

/// The commands that a page's sentences and tables name, with all that is optional.
fn usages(page: &Path) -> Vec<String> {
    let text = fs::read_to_string(page).expect("a page");
    let sentences = text.split("```").step_by(2);
    let usages =
        sentences.flat_map(|text| text.split('`').skip(1).step_by(2)).filter(|code| code.starts_with("wharf "));
    let meant = |word: &str| {
        let found = MEANINGS.iter().find(|(placeholder, _)| *placeholder == word);
        found.map_or(word, |(_, meaning)| meaning).to_owned()
    };
    let words = |usage: &str| usage.replace(['[', ']', '…'], "").split_whitespace().map(meant).collect::<Vec<_>>();
    usages.map(|usage| words(usage).join(" ")).collect()
}

fn pages() -> Vec<PathBuf> {
    let (docs, plugins) = (repository().join("docs"), repository().join("plugins"));
    let docs = fs::read_dir(docs).expect("a folder").map(|entry| entry.expect("an entry").path());
    let plugins = fs::read_dir(plugins).expect("a folder").map(|entry| entry.expect("an entry").path());
    let mut pages: Vec<_> = docs.filter(|page| page.extension().is_some_and(|kind| kind == "md")).collect();
    pages.extend(plugins.map(|plugin| plugin.join("README.md")).filter(|page| page.is_file()));
    pages.push(repository().join("README.md"));
    pages
}

fn is_of_this_test(command: &str) -> bool {
    // Without a folder it is for a new project, which `tests/languages` builds.
    command != "wharf test"
        && !ELSEWHERE.iter().any(|program| command == *program || command.starts_with(&format!("{program} ")))
}

#[test]
fn commands_of_the_pages_work() {
    let mut ran = 0;
    for page in
        pages().into_iter().filter(|page| !page.ends_with("docs/team.md") && !page.ends_with("docs/registry.md"))
    {
        let mut user = User::new();
        for command in commands(&page).iter().filter(|command| is_of_this_test(command)) {
            user.run(command);
            ran += 1;
        }
    }
    assert!(ran > 30, "{ran}");
}

/// Those too that are not run: `--help` is shown once all that is before it has been parsed.
#[test]
fn the_pages_name_commands_and_options_that_exist() {
    let (user, mut parsed, mut unknown) = (User::new(), 0, String::new());
    for page in pages() {
        let written = commands(&page).into_iter().filter(|command| command.starts_with("wharf "));
        for command in written.chain(usages(&page)) {
            let run = user.shell(&format!("{command} --help")).output().expect("a shell");
            parsed += 1;
            if !run.status.success() {
                unknown += &format!("{}: {command}: {}", page.display(), String::from_utf8_lossy(&run.stderr));
            }
        }
    }
    assert!(unknown.is_empty(), "{unknown}");
    assert!(parsed > 100, "{parsed}");
}

#[test]
fn commands_that_find_a_missing_tool_name_the_plugin() {
    let mut user = User::new();
    let commands = commands(&repository().join("docs/missing-tool.md"));
    assert_eq!(commands.len(), 3, "{commands:?}");
    for command in commands {
        let reported = user.run(&command);
        assert!(reported.contains("weather"), "{command}: {reported}");
    }
}
