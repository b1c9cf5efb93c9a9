//! An in-memory transport to the library in this process. It loads the plugin folder once without
//! watching it, and applies only the settings of plugins and the rights. Only its tasks are in a file.

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Runtime;
use tokio::sync::mpsc;
use tokio::time::timeout;
use wharf::catalog::{Catalog, Folder, Naming, PluginSettings};
use wharf::config::Config;
use wharf::identity::Identity;
use wharf::plugin::{Compiler, PluginId, Sandbox, SandboxSettings};
use wharf::server::{Connection, Outgoing, Server, Settings, TaskSettings};
use wharf::store::Sqlite;
use wharf::tasks::Ledger;

use super::home::{Home, scratch};
use super::process::binary;
use super::wire::{Received, Wire};

pub struct Memory {
    runtime: Arc<Runtime>,
    server: Arc<Server>,
    connection: Option<Arc<Connection>>,
    messages: mpsc::Receiver<Outgoing>,
}

impl Memory {
    pub fn serve(home: &Home) -> Self {
        let ledger = Ledger::new(Sqlite::new(home.path("memory/tasks.db")), "memory");
        let tasks = TaskSettings { ledger: Some(ledger), ..TaskSettings::default() };
        let rights = Arc::new(config(home).rights());
        Self::serve_with(home, Settings { rights, tasks, ..Settings::default() })
    }

    pub fn serve_with(home: &Home, settings: Settings) -> Self {
        let runtime = Arc::new(Runtime::new().expect("a runtime"));
        let catalog = Arc::new(Catalog::default());
        let server = Server::new(catalog.clone(), settings);
        runtime.block_on(load(home, catalog));
        Self::connect(runtime, server)
    }

    /// Another connection to the same server.
    pub fn second_connection(&self) -> Self {
        Self::connect(self.runtime.clone(), self.server.clone())
    }

    fn connect(runtime: Arc<Runtime>, server: Arc<Server>) -> Self {
        // Large, since the test reads only after it has sent.
        let (outbox, messages) = mpsc::channel(4096);
        let connection = runtime.block_on(async { server.connect(outbox, &Arc::new(Identity::local())) });
        Self { runtime, server, connection: Some(connection), messages }
    }
}

fn config(home: &Home) -> Config {
    let file = home.path("config/wharf/wharf.toml");
    if file.exists() { Config::read(&file).expect("a valid configuration") } else { Config::default() }
}

/// Loads the plugins of that home into the catalog.
pub async fn load(home: &Home, catalog: Arc<Catalog>) -> Arc<Sandbox> {
    let settings = SandboxSettings {
        cache_dir: Some(scratch("memory-cache")),
        compiler: Compiler::ChildProcess(binary()),
        ..SandboxSettings::default()
    };
    let sandbox = Sandbox::new(settings).expect("a sandbox");
    let config = config(home);
    let plugins = move |id: &PluginId| PluginSettings {
        limits: config.limits(id),
        grants: config.grants(id),
        naming: if config.prefix(id) { Naming::Prefixed } else { Naming::Plain },
    };
    let (events, _) = mpsc::unbounded_channel();
    let mut folder = Folder::new(home.plugins(), catalog, sandbox.clone(), plugins, events);
    folder.load_once().await.expect("a readable folder");
    sandbox
}

impl Wire for Memory {
    fn send(&mut self, frame: &str) {
        let connection = self.connection.as_ref().expect("not closed by the test");
        self.runtime.block_on(connection.receive(frame.as_bytes()));
    }

    fn receive(&mut self, time_limit: Duration) -> Received {
        match self.runtime.block_on(async { timeout(time_limit, self.messages.recv()).await }) {
            Ok(Some(message)) => Received::Frame(message.text),
            Ok(None) => Received::Closed,
            Err(_) => Received::TimedOut,
        }
    }

    fn close(&mut self) {
        if let Some(connection) = self.connection.take() {
            self.runtime.block_on(connection.close(Duration::from_secs(1)));
        }
    }
}
