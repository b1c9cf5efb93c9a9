//! The commands of the manual's pages work as they are printed.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use crate::support::home::{Home, component, repository};
use crate::support::process::binary;

/// The lines of a page's shell blocks.
fn commands(page: &str) -> Vec<String> {
    let text = fs::read_to_string(repository().join(page)).expect("a page");
    let mut commands = Vec::new();
    let mut is_shell = false;
    for line in text.lines() {
        if line.starts_with("```") {
            is_shell = !is_shell && line == "```sh";
        } else if is_shell && !line.trim().is_empty() {
            commands.push(line.to_owned());
        }
    }
    commands
}

#[test]
fn commands_that_find_a_missing_tool_work() {
    let home = Home::new();
    let (bin, user) = (home.path("bin"), home.path("home"));
    fs::create_dir(&bin).expect("a folder");
    symlink(binary(), bin.join("wharf")).expect("a link");
    let served = home.path("data/wharf/plugins");
    fs::create_dir_all(&served).expect("the user's folder");
    for file in [user.join("weather.wasm"), served.join("weather.wasm")] {
        fs::copy(component("text"), file).expect("a plugin");
    }
    let commands = commands("docs/missing-tool.md");
    assert_eq!(commands.len(), 3, "{commands:?}");
    for command in commands {
        let path = format!("{}:/usr/bin:/bin", bin.display());
        let mut shell = Command::new("sh");
        shell.args(["-c", &command]).current_dir(&user).env_clear().envs(home.environment()).env("PATH", path);
        let run = shell.output().expect("a shell");
        let said = String::from_utf8_lossy(&run.stdout).into_owned();
        assert!(run.status.success(), "{command}: {said}{}", String::from_utf8_lossy(&run.stderr));
        assert!(said.contains("weather"), "{command}: {said}");
    }
}
