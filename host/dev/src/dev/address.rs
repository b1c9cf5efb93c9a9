//! The address that `wharf dev` serves at.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};

use tokio::process::Command;
use wharf_report::{Failure, message};

use crate::os;

/// The port if none is given.
const FIRST_PORT: u16 = 8080;
/// How many ports are tried from there.
const PORTS: u16 = 50;

/// The address as the server takes it, and in numbers if it is known.
pub(super) struct Chosen {
    pub(super) written: String,
    pub(super) socket: Option<SocketAddr>,
    /// Bound once, for each server that is started: nobody else takes the port meanwhile.
    listener: Option<TcpListener>,
}

impl Chosen {
    /// Whether no other program can have taken the port.
    pub(super) fn is_bound(&self) -> bool {
        self.listener.is_some()
    }

    /// Starts a server that listens there, with the command that is made for an address.
    pub(super) fn start<T>(
        &self,
        command: impl FnOnce(&str) -> Result<Command, Failure>,
        start: impl FnOnce(Command) -> io::Result<T>,
    ) -> Result<T, Failure> {
        let failed = |error| Failure::new(format!("start the server: {error}"));
        let Some(listener) = &self.listener else { return start(command(&self.written)?).map_err(failed) };
        let mut command = command("systemd")?;
        let passed = os::pass_socket(listener, &mut command).map_err(failed)?;
        let started = start(command).map_err(failed);
        drop(passed);
        started
    }
}

/// The given address, or the first free port from 8080. A server that cannot be given a socket binds the port a moment
/// later: if another program has taken it meanwhile, the server says so and exits, and this is asked again.
pub(super) fn choose(given: Option<&str>) -> Result<Chosen, Failure> {
    if let Some(given) = given {
        let socket = given.replacen("localhost:", "127.0.0.1:", 1).parse::<SocketAddr>().ok();
        // Only the server knows which port it gets in place of 0.
        let socket = socket.filter(|socket| socket.port() != 0);
        return Ok(Chosen { written: given.to_owned(), socket, listener: None });
    }
    for port in FIRST_PORT..FIRST_PORT + PORTS {
        let socket = SocketAddr::new(Ipv4Addr::LOCALHOST.into(), port);
        match TcpListener::bind(socket) {
            Ok(listener) => {
                if port != FIRST_PORT {
                    message(&format!("port {FIRST_PORT} is in use: serving on port {port}"));
                }
                let listener = os::PASSES_SOCKETS.then_some(listener);
                return Ok(Chosen { written: socket.to_string(), socket: Some(socket), listener });
            }
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {}
            Err(error) => return Err(Failure::new(format!("listen on {socket}: {error}"))),
        }
    }
    let last = FIRST_PORT + PORTS - 1;
    Err(Failure::new(format!("find a free port from {FIRST_PORT} to {last}"))
        .hint("choose an address with --http, or 127.0.0.1:0 for any free port".to_owned()))
}
