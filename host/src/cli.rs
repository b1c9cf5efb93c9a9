//! The command line: parses arguments, runs commands, maps results to exit codes.
//!
//! stdout carries data or the protocol; all else goes to stderr through [`crate::report`].

mod absent;
mod add;
mod approvals;
mod approve;
mod approve_all;
mod arguments;
mod ask;
mod audit;
mod beside;
mod bind;
mod budgets;
mod call;
mod candidate;
mod changes;
mod check;
mod commented_json;
mod confirm;
mod conversation;
mod describe;
mod described;
#[cfg_attr(not(feature = "dev"), path = "cli/server_only.rs")]
mod dev;
mod diff;
mod doctor;
mod entry;
mod examine;
mod extra;
mod fetch;
mod finding;
mod folder;
mod grant;
mod http;
mod install;
mod json_text;
mod left_behind;
mod list;
mod load_file;
mod local;
mod metrics;
mod nodes;
mod oauth;
mod options;
mod origins;
mod os_sandbox;
#[cfg_attr(not(feature = "page"), path = "cli/no_page.rs")]
mod page;
mod personal;
mod place;
mod prompt;
mod proposals;
mod push;
mod read;
mod record;
mod recorder;
mod recordings;
mod reloadable;
mod replay;
mod request;
mod rights;
mod search;
mod serve;
#[cfg(all(test, feature = "dev"))]
mod server_only;
mod shadow;
mod shared;
mod shown;
mod signals;
mod skills;
mod status;
mod store;
mod summary;
mod survey;
mod suspected;
mod sync;
mod target;
mod tasks;
mod telemetry;
mod test;
mod top;
mod typed_input;
mod unapproved;
mod usage;
mod wiring;
mod wrapped;
mod writable;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{CommandFactory as _, Parser, Subcommand, ValueEnum};
use wharf_report::ShowPath as _;

use crate::config::Config;
use crate::os::memory;
use crate::os::signals::survive_file_size_limit;
use crate::plugin::{self, EngineKind};
use crate::report::{self, Failure, Log, LogStyle, Screen};
pub use beside::program_beside;
use folder::served_folder;
use options::Options;

/// An MCP server whose tools are sandboxed WebAssembly components in a folder.
#[derive(Parser)]
#[command(name = "wharf", version, about, max_term_width = 100, after_help = AFTER_HELP)]
struct Cli {
    #[command(flatten)]
    options: Options,
    #[command(subcommand)]
    command: Command,
}

const AFTER_HELP: &str = "\
Exit codes: 0 success; 1 check or tool failed; 2 invalid usage or configuration.";

#[derive(Subcommand)]
enum Command {
    /// Serve the plugins of a folder over MCP, on stdin and stdout or over HTTP
    Serve {
        /// Folder of .wasm files [default: $XDG_DATA_HOME/wharf/plugins, created on first use]
        dir: Option<PathBuf>,
        #[command(flatten)]
        http: http::HttpOptions,
        #[command(flatten)]
        page: page::PageOptions,
        /// How the log is written: text, or one JSON object to a line
        #[arg(long, value_name = "FORMAT", default_value = "text", env = "WHARF_LOG_FORMAT")]
        log_format: LogFormat,
        /// As `wharf dev` starts it: log what plugins print as plain lines, name what each plugin offers, end with stdin
        #[arg(long, hide = true)]
        for_dev: bool,
        /// Run every version of this plugin without approval, and pin none; for wharf dev
        #[arg(long, value_name = "NAME", hide = true)]
        trust: Option<String>,
    },
    #[command(flatten)]
    Dev(dev::Command),
    /// Validate plugins: exports, imports, missing grants
    Check {
        /// Files, or folders of .wasm files
        #[arg(required = true, value_name = "PATH")]
        paths: Vec<PathBuf>,
        /// Print JSON, one line per file
        #[arg(long)]
        json: bool,
    },
    /// List the tools, resources and prompts that clients see, or show one in detail
    List(list::ListOptions),
    /// Call one tool
    Call(call::CallOptions),
    /// Call one tool, and keep a recording: what it asked of the host and what it was answered, without secrets
    Record(record::RecordOptions),
    /// Run a recorded call again, without network, and show what is different: also with another version
    Replay(replay::ReplayOptions),
    /// Test a plugin with recorded calls
    Test(test::TestOptions),
    /// Run the calls that a server records again with another version, as they come, and show what is different
    Shadow(shadow::ShadowOptions),
    /// Read one resource
    Read(read::ReadOptions),
    /// Get the messages of one prompt
    Prompt(prompt::PromptOptions),
    /// Show which versions run, which are pending approval, and what those would change
    Status {
        /// Folder of .wasm files [default: as for serve], or one file in it
        dir: Option<PathBuf>,
        /// Show only this plugin, and all that it offers
        name: Option<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Approve the plugin version currently in the folder, or with --all all versions in it
    #[command(override_usage = "wharf approve [OPTIONS] <NAME> [DIR]\n       wharf approve [OPTIONS] --all [DIR]")]
    Approve {
        /// The plugin's name: its file name without .wasm; or its file
        #[arg(required_unless_present = "all")]
        name: Option<PathBuf>,
        /// Folder of .wasm files [default: as for serve]
        dir: Option<PathBuf>,
        /// All versions in the folder that are not approved: a summary of each, and one question
        #[arg(long)]
        all: bool,
        /// Skip the confirmation. Approves the version only; grants are set in the configuration
        #[arg(long)]
        yes: bool,
    },
    /// Revoke the pinned version of a plugin, and that in its folder, until it is approved again
    Revoke {
        /// The plugin's name, or its file
        name: String,
        /// Plugin folder, whose version is revoked too if it would run [default: as for serve]. What is revoked
        /// runs in no folder
        dir: Option<PathBuf>,
    },
    /// Add grants of a plugin to the configuration file
    Grant(grant::Arguments),
    /// Remove grants of a plugin from the configuration file
    Ungrant(grant::Arguments),
    /// Write what a command-line program says of itself (--help) into the description of its tool
    Describe(describe::DescribeOptions),
    /// Add a plugin from a registry, a URL or a file: shows who signed it, what it offers and needs, and asks
    Add(add::AddOptions),
    /// Get the newest versions of plugins that were added, and show what is different
    Update(add::UpdateOptions),
    /// Make a folder equal to a committed wharf.lock: the same versions, from the same places
    Sync(sync::SyncOptions),
    /// Save versions from registries into a folder in OCI's image layout, for use without them
    Save(sync::SaveOptions),
    /// List the repositories of a registry, or the tags of one
    Search(search::SearchOptions),
    /// Publish a component to a registry, with what is shown of it there, and signed
    Push(push::PushOptions),
    /// Remove a plugin's file, and forget where it is from
    Remove(add::RemoveOptions),
    /// Show the plugins that models proposed (server.proposals), or forget them
    Proposals(proposals::ProposalOptions),
    /// Show calls that wait for your decision ([rights], ask) and what was decided, or decide
    Approvals(approvals::ApprovalOptions),
    /// Show the tasks that a server keeps, or cancel one
    Tasks(tasks::TaskOptions),
    /// Move what servers keep to another store, publish plugins to all nodes, or get them
    #[command(subcommand)]
    Store(store::StoreCommand),
    /// Show what somebody may use, and by which rule ([rights])
    Rights(rights::RightsOptions),
    /// Show what calls cost, per plugin, tool or user: live in the terminal, or as one table
    Top(top::TopOptions),
    /// Add the server to the configuration of an MCP client
    Install(install::Arguments),
    /// Show what a server and a build find on this machine, and what to do about what is missing
    Doctor(doctor::DoctorOptions),
    /// Inspect the audit log
    #[command(subcommand)]
    Audit(audit::AuditCommand),
    /// Print the default configuration file
    Config,
    /// Compile the component on stdin; started by the sandbox as a separate process
    #[command(hide = true)]
    CompileWorker {
        #[arg(long)]
        without_os_sandbox: bool,
        #[arg(long)]
        asynchronous: bool,
    },
    /// Run one plugin, which the pipe on stdin says; started by the sandbox as a process of its own
    #[command(hide = true)]
    SandboxWorker {
        #[arg(long)]
        log_style: WorkerLog,
        /// For people who look at processes
        plugin: String,
    },
}

/// How the process of a plugin writes its log: as its server does.
#[derive(Clone, Copy, ValueEnum)]
enum WorkerLog {
    Text,
    Json,
    Author,
    Command,
}

impl WorkerLog {
    /// As an argument.
    fn arguments(self, filter: &str) -> Vec<String> {
        let style = self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned());
        [plugin::process::worker::WORKER, "--log", filter, "--log-style", &style].map(str::to_owned).to_vec()
    }
}

/// How a server writes its log.
#[derive(Clone, Copy, ValueEnum)]
enum LogFormat {
    Text,
    Json,
}

/// Runs the command given on the command line.
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return usage::report(error),
    };
    if let Command::CompileWorker { without_os_sandbox, asynchronous } = cli.command {
        let kind = if asynchronous { EngineKind::Asynchronous } else { EngineKind::Synchronous };
        let code = plugin::compile::worker::run(!without_os_sandbox, kind);
        return ExitCode::from(u8::try_from(code).unwrap_or(u8::MAX));
    }
    let ended = match cli.command {
        Command::SandboxWorker { log_style, .. } => run_worker(&cli.options, log_style),
        _ => run(cli),
    };
    match ended {
        Ok(code) => code,
        Err(failure) => {
            report::failure(&failure);
            ExitCode::from(failure.code)
        }
    }
}

/// Serves one plugin, with the log of the server beside it.
fn run_worker(options: &Options, style: WorkerLog) -> Result<ExitCode, Failure> {
    let (log, screen) = (Log::new(matches!(style, WorkerLog::Json)), Screen::default());
    let log_style = match style {
        WorkerLog::Text => LogStyle::Server(&log),
        WorkerLog::Json => LogStyle::ServerInJson(&log),
        WorkerLog::Author => LogStyle::ServerOfAuthor(&log),
        WorkerLog::Command => LogStyle::Command(&screen),
    };
    report::start_log(options.log.as_deref().unwrap_or("warn"), &log_style)?;
    memory::retain_buffers();
    let confined = || match style {
        WorkerLog::Command => Ok(()),
        _ => log.start().map_err(|error| format!("start a thread for the log: {error}")),
    };
    let ended = plugin::process::worker::run(confined);
    log.finish();
    ended.map(|()| ExitCode::SUCCESS).map_err(Failure::new)
}

fn run_server(
    options: Options,
    dir: Option<PathBuf>,
    (http, page, is_for_people): (&http::HttpOptions, &page::PageOptions, bool),
    author: serve::Author,
    log: &Log,
) -> Result<ExitCode, Failure> {
    let config = options.config()?;
    let dir = served_folder(&options, dir)?;
    // Both must run while there is one thread.
    memory::retain_buffers();
    os_sandbox::enter(&options, &config, &dir, http);
    log.start().map_err(|error| Failure::new(format!("start a thread for the log: {error}")))?;
    on_runtime(serve::run(options, config, dir, (http, page, is_for_people), author))
}

fn run(cli: Cli) -> Result<ExitCode, Failure> {
    let mut options = cli.options;
    // Interactive commands print their result; only servers log each loaded plugin.
    if let Command::Serve { dir, http, page, log_format, for_dev, trust } = cli.command {
        let is_json = matches!(log_format, LogFormat::Json);
        let log = Log::new(is_json);
        let style = match log_format {
            LogFormat::Json => LogStyle::ServerInJson(&log),
            LogFormat::Text if for_dev => LogStyle::ServerOfAuthor(&log),
            LogFormat::Text => LogStyle::Server(&log),
        };
        let filter = options.log.as_deref().unwrap_or("info");
        report::start_log(filter, &style)?;
        options.log_of_workers = match log_format {
            LogFormat::Json => WorkerLog::Json,
            LogFormat::Text if for_dev => WorkerLog::Author,
            LogFormat::Text => WorkerLog::Text,
        }
        .arguments(filter);
        let trusts = trust.as_deref().map(target::plugin).transpose()?;
        let author = serve::Author { trusts, is_dev: for_dev };
        let ended = run_server(options, dir, (&http, &page, !is_json), author, &log);
        let ended = if is_json { Ok(ended.unwrap_or_else(report::log_failure)) } else { ended };
        log.finish();
        return ended;
    }
    let filter = match &cli.command {
        Command::Call(_) | Command::Record(_) | Command::Read(_) | Command::Prompt(_) => call::LOG_FILTER,
        // What a guest logs is compared, and nothing that it lacks is to be granted.
        Command::Replay(_) | Command::Test(_) | Command::Shadow(_) => "warn,guest=off,wharf::missing_grant=off",
        // A plugin that crashes in its listing prints the reason.
        Command::Dev(_) | Command::Check { .. } => "warn,guest=info",
        _ => "warn",
    };
    let screen = Screen::default();
    let filter = options.log.as_deref().unwrap_or(filter);
    report::start_log(filter, &LogStyle::Command(&screen))?;
    options.log_of_workers = WorkerLog::Command.arguments(filter);
    on_runtime(async {
        match cli.command {
            Command::Dev(command) => dev::run(&options, command, Cli::command, &screen).await,
            Command::Check { paths, json } => check::run(&options, &paths, json, &screen).await,
            Command::List(how) => list::run(&options, how, &screen).await,
            Command::Call(how) => call::run(&options, how, &screen).await,
            Command::Record(how) => record::run(&options, how, &screen).await,
            Command::Replay(how) => replay::run(&options, how, &screen).await,
            Command::Test(how) => test::run(&options, how, &screen).await,
            Command::Shadow(how) => shadow::run(&options, how, &screen).await,
            Command::Read(how) => read::run(&options, how, &screen).await,
            Command::Prompt(how) => prompt::run(&options, how, &screen).await,
            Command::Status { dir, name, json } => status::run(&options, dir, name.as_deref(), json, &screen).await,
            Command::Approve { name: None, dir, yes, .. } => approve_all::run(&options, dir, yes, &screen).await,
            Command::Approve { name: Some(first), dir, all: true, yes } => {
                // Without a name, the first word is the folder.
                if let Some(more) = dir {
                    let more = more.shown();
                    return Err(Failure::usage(format!("approve --all: it takes one folder, and no name: {more}")));
                }
                approve_all::run(&options, Some(first), yes, &screen).await
            }
            Command::Approve { name: Some(name), dir, yes, .. } => {
                approve::run(&options, &name.to_string_lossy(), dir.as_deref(), yes, &screen).await
            }
            Command::Revoke { name, dir } => approve::revoke(&options, &name, dir.as_deref()).await,
            Command::Grant(arguments) => grant::run(&options, &arguments, grant::Edit::Add),
            Command::Ungrant(arguments) => grant::run(&options, &arguments, grant::Edit::Remove),
            Command::Describe(how) => describe::run(&options, &how, &screen).await,
            Command::Add(how) => add::run(&options, how, &screen).await,
            Command::Update(how) => add::update(&options, how, &screen).await,
            Command::Sync(how) => sync::run(&options, how, &screen).await,
            Command::Save(how) => sync::save_to(&options, how, &screen).await,
            Command::Search(how) => search::run(&options, how, &screen).await,
            Command::Proposals(how) => proposals::run(&options, how),
            Command::Approvals(how) => approvals::run(&options, how),
            Command::Store(command) => store::run(&options, command, &screen).await,
            Command::Tasks(how) => tasks::run(&options, how).await,
            Command::Push(how) => push::run(&options, how, &screen).await,
            Command::Remove(how) => add::remove(&options, how, &screen).await,
            Command::Rights(how) => rights::run(&options, how, &screen).await,
            Command::Top(how) => top::run(&options, how).await,
            Command::Install(arguments) => install::run(&options, arguments),
            Command::Doctor(how) => doctor::run(&options, how).await,
            Command::Audit(command) => audit::run(&options, command),
            Command::Config => report::print(&Config::defaults()).map(|()| ExitCode::SUCCESS),
            Command::Serve { .. } | Command::CompileWorker { .. } | Command::SandboxWorker { .. } => {
                unreachable!("dispatched above")
            }
        }
    })
}

fn on_runtime(work: impl Future<Output = Result<ExitCode, Failure>>) -> Result<ExitCode, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .thread_name("wharf")
        .enable_all()
        .build()
        .map_err(|error| Failure::new(format!("start: {error}")))?;
    let code = runtime.block_on(async {
        survive_file_size_limit();
        work.await
    });
    // A blocking read of stdin may be pending; do not wait for it.
    runtime.shutdown_background();
    code
}
