//! The command line: parses arguments, runs commands, maps results to exit codes.
//!
//! stdout carries data or the protocol; all else goes to stderr through [`crate::report`].

mod approve;
mod ask;
mod audit;
mod call;
mod changes;
mod check;
#[cfg_attr(not(feature = "dev"), path = "cli/server_only.rs")]
mod dev;
mod heap;
mod http;
mod list;
mod local;
mod pins;
mod serve;
#[cfg(all(test, feature = "dev"))]
mod server_only;
mod signals;
mod status;
mod wall;
mod writable;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::{Args, Parser, Subcommand};
use tokio::signal::unix::{SignalKind, signal};

use crate::audit::Audit;
use crate::config::{self, Base, Config};
use crate::pins::shell_word;
use crate::plugin::{self, Closed, Compiler, Sandbox, SandboxSettings};
use crate::report::{self, Failure, Log};

/// An MCP server whose tools are sandboxed WebAssembly components in a folder.
#[derive(Parser)]
#[command(version, about, max_term_width = 100, after_help = AFTER_HELP)]
struct Cli {
    #[command(flatten)]
    options: Options,
    #[command(subcommand)]
    command: Command,
}

const AFTER_HELP: &str = "\
Exit codes: 0 success; 1 check or tool failed; 2 invalid usage or configuration.";

#[derive(Args)]
struct Options {
    /// Configuration file [default: $XDG_CONFIG_HOME/wharf/wharf.toml, if it exists]
    #[arg(long, global = true, value_name = "FILE", env = "WHARF_CONFIG")]
    config: Option<PathBuf>,
    /// Log level on stderr: error, warn, info, debug, trace, or a tracing filter [default: info for serve,
    /// else warn]
    #[arg(long, global = true, value_name = "LEVEL", env = "WHARF_LOG")]
    log: Option<String>,
    /// Cache folder of compiled plugins [default: $XDG_CACHE_HOME/wharf]
    #[arg(long, global = true, value_name = "DIR", env = "WHARF_CACHE")]
    cache: Option<PathBuf>,
}

#[derive(Subcommand)]
enum Command {
    /// Serve the plugins of a folder over MCP, on stdin and stdout or over HTTP
    Serve {
        /// Folder of .wasm files [default: $XDG_DATA_HOME/wharf/plugins, created on first use]
        dir: Option<PathBuf>,
        #[command(flatten)]
        http: http::HttpOptions,
    },
    #[command(flatten)]
    Dev(dev::Command),
    /// Validate plugins: exports, imports, missing grants
    Check {
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
        /// Print JSON, one line per file
        #[arg(long)]
        json: bool,
    },
    /// List the tools that clients see
    List {
        /// Folder of .wasm files [default: as for serve]
        dir: Option<PathBuf>,
        /// Print the list as MCP's JSON
        #[arg(long)]
        json: bool,
    },
    /// Call one tool
    Call {
        /// A folder of plugins, or one .wasm file
        path: PathBuf,
        /// The tool's name, as `wharf list` shows it
        tool: String,
        /// The arguments, a JSON object; `-` reads it from stdin
        #[arg(value_name = "JSON", default_value = "{}")]
        arguments: String,
        /// Print the result as MCP's JSON
        #[arg(long)]
        json: bool,
    },
    /// Show which versions run, which are pending approval, and what those would change
    Status {
        /// Folder of .wasm files [default: as for serve]
        dir: Option<PathBuf>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Approve the plugin version currently in the folder
    Approve {
        /// The plugin's name: its file name without .wasm
        name: String,
        /// Folder of .wasm files [default: as for serve]
        dir: Option<PathBuf>,
        /// Skip the confirmation. Approves the version only; grants are set in the configuration
        #[arg(long)]
        yes: bool,
    },
    /// Revoke the running version of a plugin until it is approved again
    Revoke {
        /// The plugin's name
        name: String,
        /// Folder of its file, for the command that undoes this [default: as for serve]. The version
        /// is revoked in all folders
        dir: Option<PathBuf>,
    },
    /// Inspect the audit log
    #[command(subcommand)]
    Audit(audit::AuditCommand),
    /// Print the default configuration file
    Config,
    /// Compile the component on stdin; started by the sandbox as a separate process
    #[command(hide = true)]
    CompileWorker {
        #[arg(long)]
        without_second_wall: bool,
    },
}

/// Runs the command given on the command line.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    if let Command::CompileWorker { without_second_wall } = cli.command {
        let code = plugin::compile::worker::run(!without_second_wall);
        return ExitCode::from(u8::try_from(code).unwrap_or(u8::MAX));
    }
    match run(cli) {
        Ok(code) => code,
        Err(failure) => {
            report::failure(&failure);
            ExitCode::from(failure.code)
        }
    }
}

fn run_server(
    options: Options,
    dir: Option<PathBuf>,
    http: &http::HttpOptions,
    log: &Log,
) -> Result<ExitCode, Failure> {
    let config = options.config()?;
    let dir = plugin_folder(dir)?;
    // Must run before a second thread is started.
    heap::keep_buffers();
    wall::raise(&options, &config, &dir, http);
    log.start().map_err(|error| Failure::new(format!("start a thread for the log: {error}")))?;
    on_runtime(serve::run(options, config, dir, http))
}

fn run(cli: Cli) -> Result<ExitCode, Failure> {
    let options = cli.options;
    // Interactive commands print their result; only servers log each loaded plugin.
    if let Command::Serve { dir, http } = cli.command {
        let log = Log::default();
        report::start_log(options.log.as_deref().unwrap_or("info"), Some(&log))?;
        let ended = run_server(options, dir, &http, &log);
        log.finish();
        return ended;
    }
    report::start_log(options.log.as_deref().unwrap_or("warn"), None)?;
    on_runtime(async {
        match cli.command {
            Command::Dev(command) => dev::run(&options, command).await,
            Command::Check { files, json } => check::run(&options, &files, json).await,
            Command::List { dir, json } => list::run(&options, dir, json).await,
            Command::Call { path, tool, arguments, json } => call::run(&options, &path, &tool, arguments, json).await,
            Command::Status { dir, json } => status::run(&options, dir, json).await,
            Command::Approve { name, dir, yes } => approve::run(&options, &name, dir, yes).await,
            Command::Revoke { name, dir } => approve::revoke(&options, &name, dir.as_deref()),
            Command::Audit(command) => audit::run(&options, command),
            Command::Config => report::print(&Config::defaults()).map(|()| ExitCode::SUCCESS),
            Command::Serve { .. } | Command::CompileWorker { .. } => unreachable!("dispatched above"),
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
        // Handling SIGXFSZ turns a file size limit (`ulimit -f`) into a write error; by default it kills.
        let _handled = signal(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw()));
        work.await
    });
    // A blocking read of stdin may be pending; do not wait for it.
    runtime.shutdown_background();
    code
}

impl Options {
    fn config(&self) -> Result<Config, Failure> {
        let path = match &self.config {
            Some(path) => path.clone(),
            None => match config::base().map(|base| base.config.join("wharf.toml")) {
                Some(path) if path.exists() => path,
                file => return Ok(Config { file, ..Config::default() }),
            },
        };
        Config::read(&path).map_err(|error| Failure::usage(error.to_string()).hint(error.hint))
    }

    /// Builds the engine: milliseconds of work, on a blocking thread. `plugins` are the folders and
    /// files that plugins are loaded from.
    async fn sandbox(&self, config: &Config, plugins: &[PathBuf], audit: Audit) -> Result<Arc<Sandbox>, Failure> {
        self.sandbox_of(config, plugins, audit, false).await
    }

    /// The same; `shared` if several callers use it.
    async fn sandbox_of(
        &self,
        config: &Config,
        plugins: &[PathBuf],
        audit: Audit,
        shared: bool,
    ) -> Result<Arc<Sandbox>, Failure> {
        writable::tell(plugins);
        let base = config::base();
        let closed = closed(config, plugins, self.cache.as_deref(), base.as_ref());
        let store = base.as_ref().map(|base| base.store.clone());
        let cache_dir = self.cache.clone().or_else(|| base.map(|base| base.cache));
        let failed = |error: String| Failure::new(format!("start the sandbox: {error}"));
        let compiler = Compiler::ChildProcess(this_program().map_err(|error| failed(error.to_string()))?);
        let second_wall = config.sandbox.second_wall;
        let settings = SandboxSettings {
            cache_dir,
            compiler,
            second_wall,
            store,
            closed,
            audit,
            shared,
            ..SandboxSettings::default()
        };
        match tokio::task::spawn_blocking(move || Sandbox::new(settings)).await {
            Ok(Ok(sandbox)) => Ok(sandbox),
            Ok(Err(error)) => Err(failed(format!("{error:#}"))),
            Err(error) => Err(failed(error.to_string())),
        }
    }
}

/// Paths that no plugin may be granted.
fn closed(config: &Config, plugins: &[PathBuf], cache: Option<&Path>, base: Option<&Base>) -> Closed {
    let mut closed = Closed::default();
    if let Some(base) = base {
        closed.trees.extend([base.data.clone(), base.cache.clone(), base.state.clone()]);
        closed.tops.extend([base.home.clone(), base.config.clone()]);
    }
    closed.trees.extend(cache.map(Path::to_owned));
    let parent = |file: &Path| match file.parent() {
        Some(folder) if folder.as_os_str().is_empty() => PathBuf::from("."),
        folder => folder.unwrap_or(file).to_owned(),
    };
    closed.tops.extend(config.file.as_deref().map(parent));
    for plugins in plugins {
        if plugins.is_dir() {
            closed.trees.push(plugins.clone());
        } else {
            closed.tops.push(parent(plugins));
        }
    }
    closed
}

/// The path to execute this program again: the running file, even if another was installed since.
fn this_program() -> std::io::Result<PathBuf> {
    #[cfg(target_os = "linux")]
    return Ok("/proc/self/exe".into());
    #[cfg(not(target_os = "linux"))]
    std::env::current_exe()
}

/// The folder to serve: the given one, or the user's default, which is created if missing.
fn plugin_folder(dir: Option<PathBuf>) -> Result<PathBuf, Failure> {
    let (dir, own) = match dir {
        Some(dir) => (dir, false),
        None => {
            let base = config::base().ok_or_else(|| {
                Failure::usage("find the plugin folder: no home folder")
                    .hint("name a folder after the command".to_owned())
            })?;
            (base.plugins, true)
        }
    };
    if own {
        std::fs::create_dir_all(&dir).map_err(|error| Failure::usage(format!("create {}: {error}", dir.display())))?;
    }
    match std::fs::metadata(&dir) {
        Ok(found) if found.is_dir() => Ok(dir),
        Ok(_) => Err(Failure::usage(format!("read the plugin folder: not a folder: {}", dir.display())).hint(
            is_component(&dir)
                .then(|| format!("wharf serves folders; to try one file: wharf call {} TOOL", shell_word(&dir))),
        )),
        Err(error) => Err(Failure::usage(format!("read the plugin folder: {error}: {}", dir.display()))
            .hint(format!("create it first: mkdir -p {}", shell_word(&dir)))),
    }
}

fn is_component(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "wasm")
}
