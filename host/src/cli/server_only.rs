//! Replaces `dev.rs` in a server-only build: reports the commands it lacks.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Subcommand;

use super::options::Options;
use crate::report::{Failure, Screen};

#[derive(Subcommand)]
pub(super) enum Command {
    #[command(hide = true, disable_help_flag = true)]
    New(Arguments),
    #[command(hide = true, disable_help_flag = true)]
    Build(Arguments),
    #[command(hide = true, disable_help_flag = true)]
    Dev(Arguments),
    #[command(hide = true, disable_help_flag = true)]
    Upgrade(Arguments),
    #[command(hide = true, disable_help_flag = true)]
    Embed(Arguments),
    #[command(hide = true, disable_help_flag = true)]
    ImportPolicy(Arguments),
    #[command(hide = true, disable_help_flag = true)]
    Completions(Arguments),
    #[command(hide = true, disable_help_flag = true)]
    ManPages(Arguments),
}

/// Any arguments.
#[derive(clap::Args)]
pub(super) struct Arguments {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    _all: Vec<OsString>,
}

/// This build has no need of toolchains.
#[cfg(not(feature = "dev"))]
pub(super) async fn findings() -> Vec<super::finding::Finding> {
    Vec::new()
}

/// Policies are converted by the commands for authors.
#[cfg(not(feature = "dev"))]
pub(super) async fn grants_of_policy(
    _options: &Options,
    _id: &crate::plugin::PluginId,
    _text: &str,
) -> Option<Vec<String>> {
    None
}

pub(super) async fn run(
    _options: &Options,
    command: Command,
    _whole: fn() -> clap::Command,
    _screen: &Screen,
) -> Result<ExitCode, Failure> {
    let name = match command {
        Command::New(_) => "new",
        Command::Build(_) => "build",
        Command::Dev(_) => "dev",
        Command::Upgrade(_) => "upgrade",
        Command::Embed(_) => "embed",
        Command::ImportPolicy(_) => "import-policy",
        Command::Completions(_) => "completions",
        Command::ManPages(_) => "man-pages",
    };
    Err(Failure::usage(format!("run wharf {name}: this build of Wharf has only the server")).hint(
        "install Wharf with its default features, in a clone of its repository: cargo install --locked --path host"
            .to_owned(),
    ))
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory as _, Parser};

    use super::{Command, Options, Screen, run};

    #[derive(Parser)]
    struct TestCli {
        #[command(flatten)]
        options: Options,
        #[command(subcommand)]
        command: Command,
    }

    #[tokio::test]
    async fn missing_commands_are_hidden_and_fail_with_a_hint() {
        let help = TestCli::command().render_long_help().to_string();
        for line in [
            "new a --lang rust",
            "build . --install",
            "dev",
            "dev --help",
            "upgrade",
            "embed a.wasm",
            "import-policy a.policy.yaml",
            "completions bash",
            "man-pages man",
        ] {
            let arguments = ["wharf"].into_iter().chain(line.split(' '));
            let TestCli { options, command } = TestCli::try_parse_from(arguments).expect("any arguments are accepted");
            let failure =
                run(&options, command, TestCli::command, &Screen::default()).await.expect_err("it is missing");
            let name = line.split(' ').next().expect("a name");
            assert!(!help.contains(name), "{help}");
            assert_eq!(failure.code, 2);
            let text = format!("{failure:?}");
            assert!(text.contains(&format!("run wharf {name}: this build of Wharf has only the server")), "{text}");
            assert!(text.contains("cargo install"), "{text}");
        }
    }
}
