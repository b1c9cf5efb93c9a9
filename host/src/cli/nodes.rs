//! The listener for the other nodes, and this one's place among them.

use std::net::TcpListener as StdListener;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};

use crate::config::NodesConfig;
use crate::nodes::Nodes;
use crate::report::Failure;
use crate::store::Store;
use crate::transport::http::NodeListener;

/// How long the store may take to record that this node has left.
const LEAVING: Duration = Duration::from_secs(2);
/// How long a start waits for the store, and how often it is tried meanwhile.
const STARTING: Duration = Duration::from_secs(5);
const RETRY: Duration = Duration::from_millis(250);

/// Listens for the other nodes, and tells them where.
///
/// # Errors
/// If the address is not free.
pub(super) fn join(config: &NodesConfig, store: Arc<dyn Store>) -> Result<NodeListener, Failure> {
    let failed = |error: std::io::Error| {
        Failure::new(format!("listen for the other nodes: {error}: {}", config.address))
            .hint("choose another port in server.http.nodes.address, or stop what listens there".to_owned())
    };
    let listener = StdListener::bind(&config.address).map_err(failed)?;
    listener.set_nonblocking(true).map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    let advertised = config.advertised(address);
    let advertised = advertised.map_err(|error| Failure::usage(error.to_string()).hint(error.hint))?;
    let nodes = Nodes::new(store, advertised.clone()).map(Arc::new).map_err(failed)?;
    let listener = Arc::new(TcpListener::from_std(listener).map_err(failed)?);
    tracing::info!(node = %nodes.own(), address = advertised, "listening for the other nodes");
    let announced = nodes.clone();
    tokio::spawn(async move { announced.announce().await });
    Ok(NodeListener { nodes, listener: Some(listener) })
}

/// Waits until the others can find this node, and `keys` says that it has the keys of all. A session that it opens before
/// is of no use to them. Without the store it serves all the same.
pub(super) async fn until_known(nodes: &Nodes, keys: &Notify) {
    let known = async {
        while nodes.say().await.is_err() {
            sleep(RETRY).await;
        }
        keys.notified().await;
    };
    if timeout(STARTING, known).await.is_err() {
        tracing::warn!("the store does not answer: until it does, other nodes do not know the sessions of this one");
    }
}

/// Tells the other nodes that this one has ended.
pub(super) async fn leave(nodes: &Nodes) {
    match timeout(LEAVING, nodes.leave()).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::warn!("failed to tell the other nodes that this one has ended: {error}"),
        Err(_) => tracing::warn!("failed to tell the other nodes that this one has ended: the store does not answer"),
    }
}
