//! The servers that are compared: how each is started, and what its tools are called.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use crate::client::Client;
use crate::home::Home;

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Serves its home's plugin folder.
    Wharf,
    /// Has its tools compiled in.
    Native,
}

pub struct Contender {
    pub kind: Kind,
    pub program: PathBuf,
}

impl Contender {
    /// What its column is called.
    pub fn name(&self) -> &'static str {
        match self.kind {
            Kind::Wharf => "Wharf",
            Kind::Native => "native",
        }
    }

    /// The tool that says back its argument `message`.
    pub fn echo(&self) -> &'static str {
        "echo"
    }

    /// The tool that adds `a` and `b`, called so when the guest `echo` is the plugin `echo`.
    pub fn add(&self) -> &'static str {
        match self.kind {
            Kind::Wharf => "echo_add",
            Kind::Native => "add",
        }
    }

    pub fn start(&self, home: &Home) -> Result<Client> {
        let mut command = Command::new(&self.program);
        if self.kind == Kind::Wharf {
            command.arg("serve").arg(home.plugins());
        }
        Client::start(command, home)
    }
}
