//! H04, H37: tries sockets and name lookups, and returns the outcomes.

use std::net::{TcpListener, TcpStream, ToSocketAddrs as _, UdpSocket};

use wharf_plugin::*;

#[derive(Deserialize, JsonSchema)]
struct At {
    /// Of a server on this machine.
    port: u16,
}

pub(crate) fn tools(tools: &mut Tools<'_>) {
    tools.add("sockets", "Tries sockets.", |_, at: At| {
        let here = ("127.0.0.1", at.port);
        let send = || UdpSocket::bind("0.0.0.0:0")?.send_to(b"secret", here).map(|_| ());
        let tried = [
            TcpStream::connect(here).map(|_| ()),
            TcpStream::connect(("::1", at.port)).map(|_| ()),
            TcpListener::bind("127.0.0.1:0").map(|_| ()),
            send(),
            "localhost:80".to_socket_addrs().map(|_| ()),
        ];
        let told: Vec<String> =
            tried.iter().map(|outcome| format!("{:?}", outcome.as_ref().map_err(|e| e.kind()))).collect();
        Ok(told.join(" "))
    });
}
