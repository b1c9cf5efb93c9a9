//! Requests to a local server, with names that resolve as each test defines.

mod corpus;
mod exchange;
mod parts;
mod reuse;
mod server;

use std::collections::BTreeMap;
use std::io;
use std::net::IpAddr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use async_trait::async_trait;

use super::failure::Stage;
use super::*;
use crate::plugin::abi::Http;
use crate::plugin::id::PluginId;
use crate::plugin::policy::denial::Denial;
use crate::plugin::policy::secret::{Missing, Secret};
use crate::plugin::sandbox::{Sandbox, SandboxSettings};
use server::Server;

/// A resolver that knows only these names.
#[derive(Debug)]
struct Names(BTreeMap<&'static str, Vec<IpAddr>>);

#[async_trait]
impl Resolve for Names {
    async fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        if name == "silent.example" {
            std::future::pending::<()>().await;
        }
        self.0.get(name).cloned().ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

fn names() -> Arc<Names> {
    let name = |name, addresses: &[&str]| {
        (name, addresses.iter().map(|address| address.parse().expect("an address")).collect())
    };
    Arc::new(Names(BTreeMap::from([
        name("api.example", &["127.0.0.1"]),
        name("other.example", &["127.0.0.1"]),
        name("xn--bcher-kva.example", &["127.0.0.1"]),
        name("inside.example", &["127.0.0.1"]),
        name("rebind.example", &["93.184.215.14", "127.0.0.1"]),
        name("mapped.example", &["::ffff:127.0.0.1"]),
        name("none.example", &[]),
    ])))
}

/// A sandbox shared by all tests.
fn sandbox() -> &'static Sandbox {
    static SANDBOX: OnceLock<Arc<Sandbox>> = OnceLock::new();
    SANDBOX.get_or_init(|| with_caps(Caps::default()))
}

/// One with short timeouts.
fn short_timeouts() -> &'static Sandbox {
    static SANDBOX: OnceLock<Arc<Sandbox>> = OnceLock::new();
    SANDBOX.get_or_init(|| {
        let short = Duration::from_millis(300);
        with_caps(Caps { connect: short, tls: short, first_byte: short, whole: 3 * short, ..Caps::default() })
    })
}

fn with_caps(caps: Caps) -> Arc<Sandbox> {
    let outbound = OutboundSettings { resolver: names(), caps };
    Sandbox::new(SandboxSettings { outbound, workers: 1, ..SandboxSettings::default() }).expect("a sandbox")
}

/// A call of a plugin with that grant.
fn call_of(sandbox: &Sandbox, http: Vec<HttpGrant>, secrets: Vec<Secret>) -> Sender {
    let id = PluginId::parse("guest").expect("an id");
    let grants = Grants { http, secrets, ..Grants::default() };
    Sender {
        granted: Granted::new(id, grants, &sandbox.runtime.resources),
        events: Some(Arc::default()),
        caller: None,
        redaction: Redaction::default(),
        cost: None,
        within: None,
        tape: None,
    }
}

fn grant(url: &str) -> HttpGrant {
    HttpGrant::new(url).expect("a grant")
}

fn get(url: impl Into<String>) -> Http::Request {
    Http::Request { method: "GET".into(), url: url.into(), headers: Vec::new(), body: None, timeout_ms: None }
}

fn field(name: &str, value: &str) -> Http::Header {
    Http::Header { name: name.into(), value: value.into() }
}
