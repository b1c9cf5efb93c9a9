//! The address that `wharf dev` serves at.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};

use wharf_report::{Failure, message};

/// The port if none is given.
const FIRST_PORT: u16 = 8080;
/// How many ports are tried from there.
const PORTS: u16 = 50;

/// The address as the server takes it, and in numbers if it is known.
pub(super) struct Chosen {
    pub(super) written: String,
    pub(super) socket: Option<SocketAddr>,
}

/// The given address, or the first free port from 8080. The server binds it a moment later: if another program has
/// taken it meanwhile, the server says so and exits, and this is asked again.
pub(super) fn choose(given: Option<&str>) -> Result<Chosen, Failure> {
    if let Some(given) = given {
        let socket = given.replacen("localhost:", "127.0.0.1:", 1).parse::<SocketAddr>().ok();
        // Only the server knows which port it gets in place of 0.
        return Ok(Chosen { written: given.to_owned(), socket: socket.filter(|socket| socket.port() != 0) });
    }
    for port in FIRST_PORT..FIRST_PORT + PORTS {
        let socket = SocketAddr::new(Ipv4Addr::LOCALHOST.into(), port);
        match TcpListener::bind(socket) {
            Ok(_) => {
                if port != FIRST_PORT {
                    message(&format!("port {FIRST_PORT} is in use: serving on port {port}"));
                }
                return Ok(Chosen { written: socket.to_string(), socket: Some(socket) });
            }
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {}
            Err(error) => return Err(Failure::new(format!("listen on {socket}: {error}"))),
        }
    }
    let last = FIRST_PORT + PORTS - 1;
    Err(Failure::new(format!("find a free port from {FIRST_PORT} to {last}"))
        .hint("choose an address with --http, or 127.0.0.1:0 for any free port".to_owned()))
}
