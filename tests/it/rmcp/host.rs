//! Connects the official Rust client to the real binary, and shuts both down.

use std::process::Stdio;

use rmcp::service::{RoleClient, RunningService};
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::transport::{StreamableHttpClientTransport, TokioChildProcess, UnixSocketHttpClient};
use rmcp::{ClientHandler, ClientLifecycleMode, ClientServiceExt};
use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncBufReadExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStderr, Command};

use super::within;
use crate::support::home::Home;
use crate::support::process;

#[derive(Clone, Copy)]
pub(super) enum Way {
    Stdio,
    /// Over a Unix socket: the same HTTP, without a full HTTP client library.
    Http,
}

/// Generates a test per transport for each function that takes a [`Way`].
macro_rules! both_ways {
    ($($check:ident),+) => {
        mod stdio {
            $(#[tokio::test]
            async fn $check() {
                super::$check(super::Way::Stdio).await;
            })+
        }
        mod http {
            $(#[tokio::test]
            async fn $check() {
                super::$check(super::Way::Http).await;
            })+
        }
    };
}
pub(super) use both_ways;

/// The host that a client is connected to.
pub(super) struct Host {
    log: Log,
    /// `None` over stdio: the client owns the process, and ends it.
    process: Option<Child>,
}

type Log = Lines<BufReader<ChildStderr>>;

/// Serves the home's plugin folder, and connects a client.
pub(super) async fn connect<H: ClientHandler>(
    home: &Home,
    way: Way,
    handler: H,
    mode: ClientLifecycleMode,
) -> (RunningService<RoleClient, H>, Host) {
    let mut command = Command::from(process::command(home, ["serve".as_ref(), home.plugins().as_os_str()]));
    command.kill_on_drop(true);
    match way {
        Way::Stdio => {
            let starting = TokioChildProcess::builder(command).stderr(Stdio::piped()).spawn();
            let (transport, stderr) = starting.expect("the binary starts");
            let client = within(handler.serve_with_lifecycle(transport, mode)).await.expect("a connection");
            (client, Host { log: lines(stderr), process: None })
        }
        Way::Http => {
            let socket = format!("{}", home.path("runtime/mcp.sock").display());
            command.arg("--http").arg(format!("unix:{socket}")).stdin(Stdio::null()).stderr(Stdio::piped());
            let mut process = command.spawn().expect("the binary starts");
            let mut host = Host { log: lines(process.stderr.take()), process: Some(process) };
            host.log_with("listening on").await;
            let url = "http://localhost/mcp";
            let client = UnixSocketHttpClient::new(&socket, url);
            let config = StreamableHttpClientTransportConfig::with_uri(url);
            let transport = StreamableHttpClientTransport::with_client(client, config);
            let client = within(handler.serve_with_lifecycle(transport, mode)).await.expect("a connection");
            (client, host)
        }
    }
}

fn lines(stderr: Option<ChildStderr>) -> Log {
    BufReader::new(stderr.expect("a pipe")).lines()
}

impl Host {
    /// Reads the log until a line contains that text.
    pub(super) async fn log_with(&mut self, wanted: &str) {
        while let Some(line) = within(self.log.next_line()).await.expect("the host's log") {
            if line.contains(wanted) {
                return;
            }
        }
        panic!("no {wanted:?} in the host's log");
    }

    /// Closes the client; the host must exit with success.
    pub(super) async fn end<H: ClientHandler>(self, client: RunningService<RoleClient, H>) {
        within(client.cancel()).await.expect("an end");
        let Some(mut process) = self.process else { return };
        let id = process.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        kill_process(id.expect("a host that runs"), Signal::TERM).expect("it can be signalled");
        let status = within(process.wait()).await.expect("a child of ours");
        assert!(status.success(), "{status}");
    }
}
