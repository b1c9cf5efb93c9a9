//! Rules for the source: layering, length of files, names of types, and which modules may use
//! stdout, bindgen paths and `unsafe`. They are checked on the text of the files.

mod cycles;
mod documents;
mod floors;

use std::fs;
use std::path::{Path, PathBuf};

use regex::Regex;

use self::floors::FLOORS;
use crate::support::home::repository;

/// What floors below `config` may use of `wharf_report`: functions of text. The rest is for people at a terminal, or
/// reads files in formats.
const REPORTED_TEXT: [&str; 6] = ["ShowPath", "bounded", "did_you_mean", "line", "shell_text", "shell_word"];
const MAY_REPORT: [&str; 6] = ["config", "cli", "report", "lib", "main", "bin"];

/// Speaks MCP to components, and so writes the names that its module must not know.
const CLIENT_OF_COMPONENTS: &str = "host/src/plugin/dialects/server/";

/// Words without meaning in the name of a type.
const EMPTY_WORDS: [&str; 8] = ["Manager", "Service", "Helper", "Util", "Common", "Inner", "Data", "Info"];

const MOST_LINES: usize = 600;

/// The sources of the program.
const HOST: [&str; 3] = ["host/src", "host/dev/src", "host/report/src"];

struct Source {
    /// From the repository's root, with `/`.
    path: String,
    text: String,
}

impl Source {
    /// Numbered lines, without those that are only comments.
    fn code(&self) -> impl Iterator<Item = (usize, &str)> {
        (1..).zip(self.text.lines()).filter(|(_, line)| !line.trim_start().starts_with("//"))
    }

    /// The module of the host that the file belongs to.
    fn module(&self) -> Option<&str> {
        let below = self.path.strip_prefix("host/src/")?;
        below.split('/').next().map(|first| first.trim_end_matches(".rs"))
    }

    fn is_test(&self) -> bool {
        self.path.ends_with("tests.rs") || self.path.contains("/tests/") || !self.path.contains("/src/")
    }
}

/// All Rust files below that folder of the repository.
fn sources(folder: &str) -> Vec<Source> {
    let mut found = Vec::new();
    collect(&repository().join(folder), &mut found);
    found.sort();
    let read = |path: PathBuf| Source {
        text: fs::read_to_string(&path).expect("a source file is UTF-8"),
        path: path.strip_prefix(repository()).expect("below the root").display().to_string(),
    };
    found.into_iter().map(read).collect()
}

fn collect(folder: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for entry in entries {
        let path = entry.expect("a folder entry").path();
        let name = path.file_name().and_then(|name| name.to_str()).expect("a plain name");
        if path.is_dir() && name != "target" && name != "node_modules" {
            collect(&path, found);
        } else if name.ends_with(".rs") {
            found.push(path);
        }
    }
}

/// Fails with one line per offence.
fn none(offences: &[String]) {
    assert!(offences.is_empty(), "\n{}\n", offences.join("\n"));
}

/// Whether a floor may use that path: all of a module, or one module in it.
fn allowed(floor: &str, may_use: &[&str], path: &[String]) -> bool {
    let two = path.iter().take(2).map(String::as_str).collect::<Vec<_>>().join("::");
    may_use.contains(&"*") || path[0] == floor || may_use.contains(&path[0].as_str()) || may_use.contains(&two.as_str())
}

#[test]
fn a_floor_may_use_a_module_or_one_part_of_it() {
    let path = |text: &str| text.split("::").map(str::to_owned).collect::<Vec<_>>();
    assert!(!allowed("jsonrpc", &["json"], &path("server::scope::Scope")));
    assert!(allowed("transport", &["protocol::revision"], &path("protocol::revision::Revision")));
    assert!(!allowed("transport", &["protocol::revision"], &path("protocol::request")));
    assert!(allowed("cli", &["*"], &path("server")));
}

#[test]
fn each_floor_uses_only_what_it_may() {
    let sources = sources("host/src");
    let mut offences = Vec::new();
    for (path, uses) in cycles::Graph::of(&sources, "host/src", &[]).uses() {
        // The crate's own file has no floor.
        let Some(module) = path.first() else { continue };
        let Some((floor, may_use, _)) = FLOORS.iter().find(|(name, ..)| name == module) else {
            offences.push(format!("host/src/{}.rs: `{module}` has no floor", path.join("/")));
            continue;
        };
        let is_floor =
            |path: &cycles::Path| path.first().is_some_and(|name| FLOORS.iter().any(|(floor, ..)| floor == name));
        for used in uses.iter().filter(|used| is_floor(used) && !allowed(floor, may_use, used)) {
            offences.push(format!("host/src/{}.rs: `{floor}` must not use `{}`", path.join("/"), used.join("::")));
        }
    }
    let is_checked = |source: &&Source| !source.is_test() && !source.path.starts_with(CLIENT_OF_COMPONENTS);
    for source in sources.iter().filter(is_checked) {
        let module = source.module().expect("a file of the host");
        let must_not_know = FLOORS.iter().find(|(name, ..)| *name == module).map_or(&[][..], |(.., words)| words);
        for (line, code) in source.code() {
            for word in must_not_know.iter().filter(|word| code.contains(**word)) {
                offences.push(format!("{}:{line}: `{module}` must not know `{word}`", source.path));
            }
        }
    }
    none(&offences);
}

#[test]
fn below_config_only_functions_of_text_report() {
    let sources = sources("host/src");
    let below = |source: &&Source| !source.is_test() && source.module().is_some_and(|name| !MAY_REPORT.contains(&name));
    let mut offences = Vec::new();
    for source in sources.iter().filter(below) {
        let unlisted = reported_names(&source.text).into_iter().filter(|name| !REPORTED_TEXT.contains(&name.as_str()));
        offences.extend(unlisted.map(|name| format!("{}: must not use `wharf_report::{name}`", source.path)));
    }
    none(&offences);
}

/// The names of `wharf_report` that a file uses; an empty one if it names the crate alone.
fn reported_names(text: &str) -> Vec<String> {
    let used = Regex::new(r"\bwharf_report\b(?:::(\w+|\{[^}]*\}))?").expect("a pattern");
    let code = cycles::without_tests_and_comments(text);
    let names = used.captures_iter(&code).flat_map(|found| {
        let names = found.get(1).map_or("", |names| names.as_str()).trim_matches(['{', '}']);
        names.split(',').map(|name| name.split_whitespace().next().unwrap_or_default().to_owned()).collect::<Vec<_>>()
    });
    names.collect()
}

#[test]
fn names_of_the_report_crate_are_found() {
    let text =
        "use wharf_report::{ShowPath as _, Failure};\n// wharf_report::never\nfn f() { wharf_report::print(1) }\n";
    assert_eq!(reported_names(text), ["ShowPath", "Failure", "print"]);
    assert_eq!(reported_names("use wharf_report as report;"), [""], "the whole crate");
}

#[test]
fn files_are_short_and_named_after_their_module() {
    let mut offences = Vec::new();
    for folder in ["host", "plugin-sdk", "plugins", "tests", "bench"] {
        for source in sources(folder) {
            let lines = source.text.lines().count();
            if lines > MOST_LINES {
                offences.push(format!("{}: {lines} lines, of {MOST_LINES} at most", source.path));
            }
            if source.path.ends_with("/mod.rs") {
                offences.push(format!("{}: is called mod.rs", source.path));
            }
        }
    }
    none(&offences);
}

#[test]
fn modules_have_a_doc_comment() {
    let has_doc = |source: &Source| source.text.trim_start().starts_with("//!");
    let sources = HOST.iter().flat_map(|folder| sources(folder));
    let undocumented = sources.filter(|source| !has_doc(source) && !source.is_test()).map(|source| source.path);
    none(&undocumented.collect::<Vec<_>>());
}

#[test]
fn names_of_types_have_no_empty_words() {
    let mut offences = Vec::new();
    for folder in HOST.iter().chain(&["plugin-sdk/src"]) {
        for source in sources(folder) {
            // The name of an associated type is given by its trait.
            for (line, code) in source.code().filter(|(_, code)| !code.starts_with("    type ")) {
                let words: Vec<&str> = code.split(|c: char| !(c.is_alphanumeric() || c == '_')).collect();
                for pair in
                    words.windows(2).filter(|pair| ["struct", "enum", "trait", "type", "union"].contains(&pair[0]))
                {
                    if EMPTY_WORDS.iter().any(|word| is_word_of(word, pair[1])) {
                        offences.push(format!("{}:{line}: `{}`", source.path, pair[1]));
                    }
                }
            }
        }
    }
    none(&offences);
}

/// Whether a camel-case name has that word: `DataPath` has `Data`, `Database` has not.
fn is_word_of(word: &str, name: &str) -> bool {
    name.match_indices(word).any(|(at, _)| !name[at + word.len()..].starts_with(|next: char| next.is_lowercase()))
}

#[test]
fn words_of_camel_case_names_are_found() {
    assert!(is_word_of("Data", "PluginData") && is_word_of("Data", "DataPath"));
    assert!(!is_word_of("Data", "Database"));
}

/// Lines with one of these words, outside files whose path has one of those prefixes.
fn elsewhere(words: &[&str], homes: &[&str]) -> Vec<String> {
    let at_home = |source: &Source| homes.iter().any(|home| source.path.starts_with(home));
    let mut found = Vec::new();
    for source in sources("host/src").iter().filter(|source| !at_home(source)) {
        for (line, code) in source.code().filter(|(_, code)| words.iter().any(|word| code.contains(word))) {
            found.push(format!("{}:{line}: {}", source.path, code.trim()));
        }
    }
    found
}

/// Invariant 1. The command line's own output is data for the shell, and the compile worker's
/// goes to its parent; `serve` has none.
#[test]
fn only_the_stdio_transport_touches_stdout() {
    let words = ["io::stdout", "stdio::stdout", "inherit_stdout", "inherit_stdio", "print!(", "println!("];
    none(&elsewhere(
        &words,
        &[
            "host/src/transport/stdio",
            "host/src/cli",
            "host/src/plugin/component/compile/worker.rs",
            "host/src/plugin/process/worker.rs",
            "host/src/main.rs",
        ],
    ));
}

/// Invariant 2.
#[test]
fn only_the_abi_names_bindgen_paths() {
    let homes = ["host/src/plugin/abi", "host/src/plugin/imports/keyvalue/bindings.rs"];
    none(&elsewhere(&["bindgen!", "exports::wharf", "wharf::plugin::", "wasi::keyvalue::"], &homes));
    let serialised = |source: &Source| source.path.contains("/plugin/abi") && source.text.contains("Serialize");
    let wire_types = sources("host/src").into_iter().filter(serialised).map(|source| source.path);
    none(&wire_types.collect::<Vec<_>>());
}

/// JSON trees are made only by `json::tree` and `json::read`, which check the text first: the JSON
/// library gives some names a private meaning, and keeps the last of two members of one name.
#[test]
fn only_json_makes_trees_of_text() {
    let homes = [
        "host/src/json",
        // Deserialises by the type of the value, level by level.
        "host/src/plugin/dialects/plain/read.rs",
        // Reads two members of records that the host wrote; this floor may not use `json`.
        "host/src/audit/chain.rs",
    ];
    let words = [
        "serde_json::from_",
        "serde_json::to_value",
        "serde_json::Deserializer",
        "serde_json::StreamDeserializer",
        "serde_json::de::",
        "from_str::<Value",
        "from_slice::<Value",
        "from_value",
        "parse::<Value",
        " Value::from_str(",
        "(Value::from_str(",
        "Value::deserialize",
        "into_deserializer",
    ];
    let mut found = elsewhere(&words, &homes);
    // Functions imported by name are not found above.
    for source in sources("host/src").iter().filter(|source| !homes.iter().any(|home| source.path.starts_with(home))) {
        for (line, code) in source.code().filter(|(_, code)| code.trim_start().starts_with("use serde_json::")) {
            let functions = ["from_", "to_value", "Deserializer", "*"];
            if functions.iter().any(|function| code.contains(function)) {
                found.push(format!("{}:{line}: {}", source.path, code.trim()));
            }
        }
    }
    // A header value is not a tree.
    found.retain(|offence| !offence.contains("HeaderValue::from_str"));
    // Tests may make trees of their own texts.
    found.retain(|offence| !offence.contains("/tests/") && !offence.contains("tests.rs:"));
    none(&found);
}

/// A path in the configuration may be a FIFO or a huge file: `files` neither blocks on it nor reads
/// all of it.
#[test]
fn only_files_reads_configured_paths() {
    let homes =
        ["host/src/audit", "host/src/config", "host/src/pins", "host/src/plugin/component/file", "host/src/transport"];
    let words = [
        "fs::read(",
        "fs::read_to_string",
        "fs::{read",
        " File::open(",
        "(File::open(",
        "pem_file_iter",
        "from_pem_file",
    ];
    let mut found = elsewhere(&words, &[]);
    found.retain(|offence| homes.iter().any(|home| offence.starts_with(home)));
    found.retain(|offence| !offence.contains("tests.rs:"));
    none(&found);
}

/// The name of a file may have line breaks and escape sequences: `shown` spells them out, in the log, on
/// terminals and in errors.
#[test]
fn paths_are_shown_and_not_displayed() {
    let mut found = elsewhere(&[".display()"], &[]);
    found.retain(|offence| !offence.contains("/tests/") && !offence.contains("tests.rs:"));
    none(&found);
}

/// Only `os` has code for one operating system: types, constants or conditions. Tests may.
#[test]
fn only_os_depends_on_the_operating_system() {
    let homes = ["host/src/os", "host/dev/src/os.rs"];
    let words = [
        "rustix",
        "libc::",
        "std::os::",
        "target_os",
        "target_env",
        "(unix)",
        "(windows)",
        "(unix,",
        "(windows,",
        "signal::unix",
        "net::Unix",
    ];
    let mut offences = Vec::new();
    for source in HOST.iter().flat_map(|folder| sources(folder)) {
        if source.is_test() || homes.iter().any(|home| source.path.starts_with(home)) {
            continue;
        }
        // Unit tests are at the end of a file.
        let code = source.code().take_while(|(_, line)| !line.starts_with("#[cfg(test)]"));
        for (line, code) in code.filter(|(_, code)| words.iter().any(|word| code.contains(word))) {
            offences.push(format!("{}:{line}: {}", source.path, code.trim()));
        }
    }
    none(&offences);
}

/// Whether there is a static outside of items for tests.
fn has_static(text: &str) -> bool {
    let is_static = |line: &str| {
        let line = line.trim_start();
        // `pub`, and `pub(crate)` or the like.
        let private = line.strip_prefix("pub").map(|rest| match rest.strip_prefix('(') {
            Some(rest) => rest.split_once(')').map_or(rest, |(_, rest)| rest),
            None => rest,
        });
        private.unwrap_or(line).trim_start().starts_with("static ")
    };
    without_tests(text).into_iter().any(is_static)
}

/// The lines outside of items for tests. As rustfmt writes it, an item ends with the first line of its own
/// indentation that closes it.
fn without_tests(text: &str) -> Vec<&str> {
    let indentation = |line: &str| line.len() - line.trim_start().len();
    let (mut kept, mut lines) = (Vec::new(), text.lines());
    while let Some(line) = lines.next() {
        let condition = line.trim_start();
        if !condition.starts_with("#[cfg(test)]") && !condition.starts_with("#[cfg(all(test,") {
            kept.push(line);
            continue;
        }
        let own = indentation(line);
        for line in lines.by_ref().filter(|line| indentation(line) == own) {
            if line.trim_start().starts_with('}') || line.ends_with([';', ',', '}']) {
                break;
            }
        }
    }
    kept
}

#[test]
fn statics_are_found_outside_of_tests() {
    for line in ["static A: u8 = 0;", "pub static A: u8 = 0;", "pub(crate) static A: u8 = 0;", "pub(in a) static mut A"]
    {
        assert!(has_static(&format!("fn f() {{\n    {line}\n}}\n")), "{line}");
        let test = format!("#[cfg(test)]\nimpl A {{\n    {line}\n\n    {line}\n}}\n");
        assert!(!has_static(&test), "{line}");
        assert!(has_static(&format!("{test}\n{line}\n")), "{line} after an item for tests");
        assert!(has_static(&format!("#[cfg(test)]\nmod tests;\n{line}\n")), "{line} after a module of tests");
    }
    assert!(!has_static("fn f(a: &'static str) {}\npublic static\n"));
}

/// Statics that change: a number for names of temporary files, one for each thread, and the store of a command.
#[test]
fn three_files_have_statics() {
    let with = sources("host/src").into_iter().filter(|source| !source.is_test() && has_static(&source.text));
    let paths: Vec<String> = with.map(|source| source.path).collect();
    let expected =
        ["host/src/cli/shared.rs", "host/src/plugin/component/cache.rs", "host/src/plugin/instance/ready.rs"];
    assert_eq!(paths, expected);
}

#[test]
fn five_files_have_unsafe_code() {
    let is_unsafe = |line: &str| ["unsafe {", "unsafe fn", "unsafe impl"].iter().any(|word| line.contains(word));
    let with = sources("host/src").into_iter().filter(|source| source.code().any(|(_, line)| is_unsafe(line)));
    let paths: Vec<String> = with.map(|source| source.path).collect();
    assert_eq!(
        paths,
        [
            "host/src/os/absent.rs",
            "host/src/os/linux/memory.rs",
            "host/src/os/usage.rs",
            "host/src/plugin/component/cache/artifact.rs",
            "host/src/plugin/instance/function.rs",
        ]
    );
}

/// Deadlines, pauses and idle times use the monotonic clock, so that setting the system clock ends
/// nothing. The system clock is for times that other processes and people read.
#[test]
fn p36_deadlines_do_not_use_the_system_clock() {
    let homes = [
        // Expiry of a sealed state, which all processes behind one address must agree on.
        "host/src/server/handlers/rounds",
        "host/src/server/seal",
        "host/src/server/keys.rs",
        // Expiry of decisions on calls, which are in a file.
        "host/src/approvals",
        "host/src/cli/approvals.rs",
        "host/src/server/handlers/approval",
        // The time that guests see.
        "host/src/plugin/imports/state.rs",
        // When entries of the store expire, and which process lives: processes share them.
        "host/src/store/clock.rs",
        "host/src/tasks",
        // When tokens expire, which their issuer says.
        "host/src/oauth/clock.rs",
        // Timestamps of audit records, and how long ago they were.
        "host/src/audit",
        "host/src/cli/audit/filter.rs",
        // When a pin was made, and how long its file has been gone.
        "host/src/pins",
        // Of a line of the log.
        "host/src/report/clock.rs",
        // Processor time.
        "host/src/os/usage.rs",
        // When a line of the log was written.
        "host/src/report/log.rs",
        // Which system calls there are.
        "host/src/os/linux/seccomp.rs",
        // When spans and counting began, for whoever gets them.
        "host/src/traces/trace.rs",
        "host/src/telemetry/export.rs",
        // How old the file of another process is.
        "host/src/cli/budgets.rs",
        // When a recording was made, for its name.
        "host/src/plugin/tape/folder.rs",
        // Which files were used last.
        "host/src/plugin/component/cache",
        "host/src/cli/fetch.rs",
    ];
    none(&elsewhere(
        &["SystemTime::now", "UNIX_EPOCH.elapsed", "clock_gettime", "chrono::", "time::OffsetDateTime"],
        &homes,
    ));
}

/// Each row of the abuse suite has a test with its number, and a line in docs/security.md.
#[test]
fn each_row_of_the_abuse_suite_has_a_test() {
    let tests: String =
        ["host/src", "tests"].iter().flat_map(|folder| sources(folder)).map(|source| source.text).collect();
    let documentation = fs::read_to_string(repository().join("docs/security.md")).expect("a page");
    let mut missing = Vec::new();
    for row in 1..=36 {
        if !tests.contains(&format!("#[test]\nfn p{row:02}_")) {
            missing.push(format!("P{row:02} has no test"));
        }
        if !documentation.contains(&format!("| P{row:02} |")) {
            missing.push(format!("P{row:02} is not in docs/security.md"));
        }
    }
    none(&missing);
}

/// Rows of the hostile suite.
const HOSTILE: usize = 83;

/// The same for the hostile suite: its rows are complete, and docs/security.md lists them.
#[test]
fn each_row_of_the_hostile_suite_exists_and_is_documented() {
    let suite: String = sources("tests/hostile").into_iter().map(|source| source.text).collect();
    let documentation = fs::read_to_string(repository().join("docs/security.md")).expect("a page");
    let lists = suite.split("rows![").skip(1).filter_map(|list| list.split_once(']'));
    let functions = lists.flat_map(|(list, _)| list.split(',')).map(str::trim).filter(|name| !name.is_empty());
    let mut rows: Vec<String> = functions.map(|name| name.replacen('h', "H", 1)).collect();
    rows.sort();
    let numbers: Vec<String> = rows.iter().map(|row| row[..4].to_owned()).collect();
    assert_eq!(numbers, (1..=HOSTILE).map(|row| format!("H{row:02}_")).collect::<Vec<_>>());
    let documented = |line: &str| Some(format!("H{}", line.strip_prefix("| `H")?.split_once('`')?.0));
    let documented: Vec<String> =
        documentation.lines().filter_map(documented).filter(|name| name[1..].starts_with(char::is_numeric)).collect();
    assert_eq!(rows, documented, "docs/security.md has the rows under other names");
}
