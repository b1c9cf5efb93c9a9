//! The compared servers: how each is started, and the names of its tools.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use crate::client::Client;
use crate::home::Home;
use crate::process::Process;

#[derive(Clone, PartialEq, Eq)]
pub enum Kind {
    /// Serves its home's plugin folder.
    Wharf,
    /// Has its tools compiled in.
    Native,
    /// A server that does only HTTP and JSON. HTTP only.
    Bare,
    /// Another server with the same two tools, started with these arguments. Stdio only.
    Other { name: &'static str, arguments: Vec<String> },
}

pub struct Contender {
    pub kind: Kind,
    pub program: PathBuf,
}

impl Contender {
    /// The name of its column.
    pub fn name(&self) -> &'static str {
        match &self.kind {
            Kind::Wharf => "Wharf",
            Kind::Native => "native",
            Kind::Bare => "HTTP only",
            Kind::Other { name, .. } => name,
        }
    }

    /// The tool that returns its argument `message`.
    pub fn echo(&self) -> &'static str {
        "echo"
    }

    /// The tool that adds `a` and `b`. The guest `echo` must be the plugin `echo`.
    pub fn add(&self) -> &'static str {
        match self.kind {
            Kind::Wharf => "echo_add",
            _ => "add",
        }
    }

    /// The command that serves this home on stdio.
    fn serve(&self, home: &Home) -> Command {
        let mut command = Command::new(&self.program);
        match &self.kind {
            Kind::Wharf => drop(command.arg("serve").arg(home.plugins())),
            Kind::Native => {}
            Kind::Bare => drop(command.arg("--bare")),
            Kind::Other { arguments, .. } => drop(command.args(arguments)),
        }
        command
    }

    pub fn start(&self, home: &Home) -> Result<Client> {
        Client::start(self.serve(home), home)
    }

    /// Starts Wharf with these settings.
    fn start_configured(&self, home: &Home, settings: &str) -> Result<Client> {
        let mut command = self.serve(home);
        command.arg("--config").arg(home.settings(settings)?);
        Client::start(command, home)
    }

    /// Starts Wharf with these settings, and waits until it has `tools` tools.
    pub fn start_with(&self, home: &Home, settings: &str, tools: usize) -> Result<Client> {
        let mut client = self.start_configured(home, settings)?;
        client.tools_until(tools)?;
        Ok(client)
    }

    /// Starts Wharf with these settings, and waits until it has that tool.
    pub fn start_for(&self, home: &Home, settings: &str, tool: &str) -> Result<Client> {
        let mut client = self.start_configured(home, settings)?;
        client.tools_with(tool)?;
        Ok(client)
    }

    /// Starts it on the first `cores` cores of the machine.
    pub fn start_on(&self, home: &Home, cores: usize) -> Result<Client> {
        let serve = self.serve(home);
        let mut command = Command::new("taskset");
        command.arg("--cpu-list").arg(format!("0-{}", cores - 1));
        command.arg(serve.get_program()).args(serve.get_args());
        Client::start(command, home)
    }

    /// Starts it with `more` tools besides `echo` and `add`; Wharf's home must have plugins for them.
    pub fn start_wide(&self, home: &Home, more: usize) -> Result<Client> {
        let mut command = self.serve(home);
        if self.kind == Kind::Native {
            command.arg("--tools").arg(more.to_string());
        }
        let mut client = Client::start(command, home)?;
        client.tools_until(2 + more)?;
        Ok(client)
    }

    /// Starts it on a free port, with a connection limit above what the suites need, and with `more`
    /// tools besides `echo` and `add`. `settings` are added to `[server.http]` of Wharf.
    pub fn start_http(&self, home: &Home, more: usize, settings: &str) -> Result<(Process, SocketAddr)> {
        let mut command = self.serve(home);
        if self.kind == Kind::Wharf {
            let limits = "[server.http]\nconnections = 20000\nconnections-per-address = 20000\n";
            let settings = home.settings(&format!("{limits}{settings}"))?;
            command.args(["--http", "127.0.0.1:0", "--config"]).arg(settings);
        } else {
            command.arg("--http").arg("--tools").arg(more.to_string());
        }
        let process = Process::start(command, home)?;
        let address = process.address()?;
        Ok((process, address))
    }
}
