//! Options common to all commands: configuration, log and cache; and the sandbox created from them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;

use super::personal::Secrets;
use super::{shared, writable};
use crate::audit::Audit;
use crate::config::{self, Base, Config};
use crate::os::key_folders;
use crate::os::paths::folder_of;
use crate::os::process::this_program;
use crate::plugin::{Compiler, ProtectedFolders, Recorder, Sandbox, SandboxSettings, WorkerProgram};
use crate::report::Failure;

#[derive(Args, Clone)]
pub(super) struct Options {
    /// Configuration file [default: $XDG_CONFIG_HOME/wharf/wharf.toml, if it exists]
    #[arg(long, global = true, value_name = "FILE", env = "WHARF_CONFIG")]
    pub(super) config: Option<PathBuf>,
    /// Log level on stderr: error, warn, info, debug, trace, or a tracing filter [default: info for serve,
    /// else warn]
    #[arg(long, global = true, value_name = "LEVEL", env = "WHARF_LOG")]
    pub(super) log: Option<String>,
    /// Cache folder of compiled plugins [default: $XDG_CACHE_HOME/wharf]
    #[arg(long, global = true, value_name = "DIR", env = "WHARF_CACHE")]
    pub(super) cache: Option<PathBuf>,
    /// Records the calls of its sandbox.
    #[arg(skip)]
    pub(super) recorder: Recorder,
    /// How a process of this command writes its log, as arguments of `sandbox-worker`.
    #[arg(skip)]
    pub(super) log_of_workers: Vec<String>,
}

impl Options {
    pub(super) fn config(&self) -> Result<Config, Failure> {
        let path = match &self.config {
            Some(path) => path.clone(),
            None => match config::base().map(|base| base.default_file()) {
                Some(path) if path.exists() => path,
                file => return Ok(Config { file, ..Config::default() }),
            },
        };
        Config::read(&path).map_err(|error| Failure::usage(error.to_string()).hint(error.hint))
    }

    /// As [`Config::program`], for messages about what comes before the configuration is read.
    pub(super) fn program(&self) -> String {
        Config { file: self.config.clone(), ..Config::default() }.program()
    }

    /// Creates the sandbox, off the threads that serve clients: it takes milliseconds. `plugins` are
    /// the folders and files that plugins are loaded from.
    pub(super) async fn sandbox(
        &self,
        config: &Config,
        plugins: &[PathBuf],
        audit: Audit,
    ) -> Result<Arc<Sandbox>, Failure> {
        let secrets = Secrets::Fixed(Arc::new(config.clone()));
        self.sandbox_for(config, plugins, audit, false, secrets).await
    }

    /// As [`Self::sandbox`]; `shared` if there may be several callers, who have those secrets of their own.
    pub(super) async fn sandbox_for(
        &self,
        config: &Config,
        plugins: &[PathBuf],
        audit: Audit,
        shared: bool,
        personal: Secrets,
    ) -> Result<Arc<Sandbox>, Failure> {
        writable::warn(plugins);
        let base = config::base();
        let protected = self.protected(config, plugins, base.as_ref());
        let keyvalue = shared::keyvalue(config)?;
        let settings = SandboxSettings {
            keyvalue,
            protected,
            audit,
            shared,
            schemas: config.server.schemas.into(),
            personal: Arc::new(personal),
            recorder: self.recorder.clone(),
            ..self.compiling(config, base.map(|base| base.cache))?
        };
        start(settings).await
    }

    /// A sandbox for recorded calls: it keeps nothing, and has nothing to give.
    pub(super) async fn sandbox_of_replays(&self, config: &Config) -> Result<Arc<Sandbox>, Failure> {
        start(self.compiling(config, config::base().map(|base| base.cache))?).await
    }

    /// How components are compiled, and where the code is kept.
    fn compiling(&self, config: &Config, default: Option<PathBuf>) -> Result<SandboxSettings, Failure> {
        let program = this_program().map_err(|error| unstarted(&error.to_string()))?;
        Ok(SandboxSettings {
            cache_dir: self.cache.clone().or(default),
            compiler: Compiler::ChildProcess(program.clone()),
            worker: Some(WorkerProgram { program, arguments: self.log_of_workers.clone() }),
            os_sandbox: config.sandbox.os_sandbox,
            ..SandboxSettings::default()
        })
    }

    /// The folders of Wharf's own files: the cache, the key-value store and the pins.
    pub(super) fn own_folders(&self, base: Option<&Base>) -> Vec<PathBuf> {
        let cache = self.cache.clone().or_else(|| base.map(|base| base.cache.clone()));
        let store = base.and_then(|base| base.store.parent().map(Path::to_owned));
        [cache, store, base.map(|base| base.state.clone())].into_iter().flatten().collect()
    }

    /// What no plugin is given of the file system.
    pub(super) fn protected(&self, config: &Config, plugins: &[PathBuf], base: Option<&Base>) -> ProtectedFolders {
        let mut protected = ProtectedFolders::default();
        if let Some(base) = base {
            protected.trees.extend([base.data.clone(), base.cache.clone(), base.state.clone()]);
            protected.tops.extend([base.home.clone(), base.config.clone()]);
        }
        protected.trees.extend(key_folders());
        protected.trees.extend(self.cache.clone());
        let parent = |file: &Path| folder_of(file).unwrap_or(file).to_owned();
        protected.tops.extend(config.file.as_deref().map(parent));
        for plugins in plugins {
            if plugins.is_dir() {
                protected.trees.push(plugins.clone());
            } else {
                protected.tops.push(parent(plugins));
            }
        }
        protected
    }
}

async fn start(settings: SandboxSettings) -> Result<Arc<Sandbox>, Failure> {
    match tokio::task::spawn_blocking(move || Sandbox::new(settings)).await {
        Ok(Ok(sandbox)) => Ok(sandbox),
        Ok(Err(error)) => Err(unstarted(&format!("{error:#}"))),
        Err(error) => Err(unstarted(&error.to_string())),
    }
}

fn unstarted(why: &str) -> Failure {
    Failure::new(format!("start the sandbox: {why}"))
}
