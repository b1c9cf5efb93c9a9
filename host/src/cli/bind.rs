//! Listeners for operators, beside that of clients.

use std::net::SocketAddr;

use tokio::net::TcpListener;

use crate::report::Failure;

/// Listens on an address. `what` it is for; `from`: what chooses the address.
pub(super) async fn bind(address: SocketAddr, what: &str, from: &str) -> Result<(TcpListener, SocketAddr), Failure> {
    let failed = |error| {
        Failure::new(format!("listen for {what}: {error}: {address}"))
            .hint(format!("choose another port in {from}, or stop what listens there"))
    };
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    let bound = listener.local_addr().map_err(failed)?;
    Ok((listener, bound))
}
