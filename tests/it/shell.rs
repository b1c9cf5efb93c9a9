//! What shells and `man` learn of the commands.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use crate::support::home::Home;
use crate::support::process::run;

fn script(shell: &str) -> String {
    let output = run(&Home::new(), ["completions", shell]);
    assert!(output.status.success(), "{shell}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// What bash offers for the last of these words.
fn offered(words: &[&str]) -> Vec<String> {
    let [.., before, last] = words else { panic!("two words") };
    let program = format!(
        "{}\nCOMP_WORDS=({}) COMP_CWORD={}\n_wharf wharf '{last}' '{before}'\nprintf '%s\\n' \"${{COMPREPLY[@]}}\"",
        script("bash"),
        words.join(" "),
        words.len() - 1,
    );
    let bash = Command::new("bash").args(["--norc", "-c", &program]).output().expect("bash runs");
    assert!(bash.status.success(), "{}", String::from_utf8_lossy(&bash.stderr));
    String::from_utf8(bash.stdout).expect("UTF-8").lines().map(str::to_owned).collect()
}

#[test]
fn bash_completes_commands_options_and_values() {
    assert_eq!(offered(&["wharf", "ser"]), ["serve"]);
    assert_eq!(offered(&["wharf", "serve", "--ht"]), ["--http"]);
    assert_eq!(offered(&["wharf", "completions", "z"]), ["zsh"]);
    // A command that help does not show.
    assert_eq!(offered(&["wharf", "compile-"]), [""]);
}

#[test]
fn each_shell_has_a_script_for_all_commands() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = script(shell);
        for word in ["wharf", "serve", "import-policy", "allow-remote-without-auth"] {
            assert!(script.contains(word), "{shell} has no {word}");
        }
    }
    let output = run(&Home::new(), ["completions", "tcsh"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("powershell"), "the shells are named");
}

#[test]
fn each_command_that_help_shows_has_a_page() {
    let home = Home::new();
    let help = String::from_utf8(run(&home, ["--help"]).stdout).expect("UTF-8");
    let (_, commands) = help.split_once("Commands:\n").expect("a list of commands");
    let commands = commands.lines().take_while(|line| !line.is_empty()).map(|line| line.split_whitespace().next());
    let mut expected: BTreeSet<String> = commands.map(|name| format!("wharf-{}.1", name.expect("a name"))).collect();
    expected.remove("wharf-help.1");
    assert!(expected.len() > 20, "{expected:?}");
    expected.extend(["wharf.1", "wharf-audit-show.1", "wharf-audit-verify.1"].map(str::to_owned));
    expected.extend(["allow", "deny", "show"].map(|name| format!("wharf-approvals-{name}.1")));
    expected.extend(["migrate", "publish", "pull"].map(|name| format!("wharf-store-{name}.1")));
    expected.extend(["cancel", "show"].map(|name| format!("wharf-tasks-{name}.1")));

    let folder = home.path("share/man");
    let output = run(&home, ["man-pages".as_ref(), folder.as_os_str()]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut pages = BTreeSet::new();
    for page in fs::read_dir(&folder).expect("a folder") {
        let page = page.expect("a file");
        let name = page.file_name().into_string().expect("UTF-8");
        let text = fs::read_to_string(page.path()).expect("a page");
        // Its name, section, date, source and manual: all five, or `man` shows one in another's place.
        let title = name.strip_suffix(".1").expect("a page of section 1");
        let first = format!(".TH {title} 1 \" \" \"Wharf {}\" Wharf\n", env!("CARGO_PKG_VERSION"));
        assert!(text.contains(&first), "{text}");
        pages.insert(name);
    }
    assert_eq!(pages, expected);
}

#[test]
fn a_folder_for_pages_that_cannot_be_made_is_an_error() {
    let home = Home::new();
    home.configure("");
    let below = home.path("config/wharf/wharf.toml/pages");
    let output = run(&home, ["man-pages".as_ref(), below.as_os_str()]);
    assert_eq!(output.status.code(), Some(1));
    let reported = String::from_utf8_lossy(&output.stderr);
    assert!(reported.contains("failed to create") && reported.contains("pages"), "{reported}");
}
