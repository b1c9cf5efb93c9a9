//! The nodes of one server: who they are, whether they live, and connections between them, on which both sides know who
//! the other one is.
//!
//! A node makes a key at its start, which is in its memory alone, and its id is the hash of the public part. Under that
//! id it says in the store where it listens and until when it lives. So who can write to the store can be a node, and
//! nobody else.

mod known;
mod tls;

use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};
use tokio_rustls::{client, server};
use tokio_util::sync::CancellationToken;

use self::known::{Found, Known};
use self::tls::{OtherNode, OwnKey};
use crate::store::lease::{self, RENEWAL, RETRY};
use crate::store::{OwnEntry, Store, StoreError, now};

/// What the keys of all nodes begin with.
pub const PREFIX: &str = "nodes/";
/// How long a connection to another node may take, its handshake included.
const CONNECTING: Duration = Duration::from_secs(3);

/// The id of a node: a part of the hash of its public key.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct NodeId(pub [u8; 16]);

impl NodeId {
    /// Of the node with that public key, in DER.
    fn of(key: &[u8]) -> Self {
        let mut id = [0; 16];
        id.copy_from_slice(&blake3::hash(key).as_bytes()[..16]);
        Self(id)
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NodeId({self})")
    }
}

/// What a node says of itself.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Said {
    /// Where it listens: `HOST:PORT`.
    address: String,
}

/// Why there is no connection to a node.
#[derive(Debug, thiserror::Error)]
pub enum Unreachable {
    /// It does not live any more.
    #[error("it is gone")]
    Gone,
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("{0}")]
    Store(#[from] StoreError),
}

/// This node, among the others.
pub struct Nodes {
    own: OwnKey,
    /// Where the others find this one.
    address: String,
    store: Arc<dyn Store>,
    /// What this one says of itself.
    said: OwnEntry,
    known: Known,
    /// Held while it is tried whether a node that is late lives: one at a time, however many streams ask.
    trying: tokio::sync::Mutex<()>,
    has_left: CancellationToken,
}

impl fmt::Debug for Nodes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Nodes").field(&self.own()).finish()
    }
}

impl Nodes {
    /// `address`: where the others find this one, `HOST:PORT`.
    ///
    /// # Errors
    /// If no key can be made.
    pub fn new(store: Arc<dyn Store>, address: String) -> io::Result<Self> {
        let own = OwnKey::generate()?;
        Ok(Self {
            said: OwnEntry::new(key_of(own.id)),
            own,
            address,
            known: Known::new(store.clone()),
            store,
            trying: tokio::sync::Mutex::default(),
            has_left: CancellationToken::new(),
        })
    }

    pub fn own(&self) -> NodeId {
        self.own.id
    }

    /// Says that this node lives, until it leaves.
    pub async fn announce(&self) {
        let mut failed = false;
        while !self.has_left.is_cancelled() {
            match self.say().await {
                Ok(()) if std::mem::take(&mut failed) => tracing::info!("the other nodes find this one again"),
                Ok(()) => {}
                Err(error) if !std::mem::replace(&mut failed, true) => {
                    tracing::warn!("failed to tell the other nodes of this one: {error}");
                }
                Err(_) => {}
            }
            let pause = if failed { RETRY } else { RENEWAL };
            drop(timeout(pause, self.has_left.cancelled()).await);
        }
    }

    /// Says once that this node lives.
    ///
    /// # Errors
    /// If the store cannot be used.
    pub async fn say(&self) -> Result<(), StoreError> {
        let said = Said { address: self.address.clone() };
        let value = serde_json::to_vec(&said).map_err(|error| StoreError(error.to_string()))?;
        self.said.put(&*self.store, value, Some(lease::expires(now()))).await
    }

    /// This node does not live any more, and says so no longer.
    ///
    /// # Errors
    /// If the store cannot be used.
    pub async fn leave(&self) -> Result<(), StoreError> {
        self.has_left.cancel();
        self.said.remove(&*self.store).await
    }

    /// Resolves when a node does not live any more.
    pub async fn gone(&self, node: NodeId) {
        while !self.is_gone(node).await {
            sleep(RENEWAL).await;
        }
    }

    async fn is_gone(&self, node: NodeId) -> bool {
        let mut found = self.known.find(node).await;
        if matches!(&found, Ok(Some(found)) if found.is_late) {
            let _trying = self.trying.lock().await;
            // Another one may have tried meanwhile.
            found = self.known.find(node).await;
            if matches!(&found, Ok(Some(found)) if found.is_late) {
                return matches!(self.connect(node).await, Err(Unreachable::Gone));
            }
        }
        matches!(found, Ok(None))
    }

    /// A connection to a node, which has proved that it is that one.
    ///
    /// # Errors
    /// If it does not live, or cannot be reached.
    pub async fn connect(&self, node: NodeId) -> Result<client::TlsStream<TcpStream>, Unreachable> {
        let found = self.known.find(node).await?.ok_or(Unreachable::Gone)?;
        let connected = self.connect_to(node, &found.address).await;
        if !found.is_late {
            return connected;
        }
        match connected {
            Ok(stream) => {
                self.known.remember(node, Some(Found { is_late: false, ..found }));
                Ok(stream)
            }
            Err(Unreachable::Store(error)) => Err(error.into()),
            Err(Unreachable::Gone | Unreachable::Io(_)) => {
                self.known.remember(node, None);
                Err(Unreachable::Gone)
            }
        }
    }

    async fn connect_to(&self, node: NodeId, address: &str) -> Result<client::TlsStream<TcpStream>, Unreachable> {
        let once = || async {
            let stream = TcpStream::connect(address).await?;
            stream.set_nodelay(true)?;
            self.own.connect(node, stream).await
        };
        let connecting = async {
            match once().await {
                // It sheds connections that say nothing when there are many, and may have taken this one for such.
                Err(error) if is_lost(&error) => once().await,
                connected => connected,
            }
        };
        match timeout(CONNECTING, connecting).await {
            Ok(Ok(stream)) => Ok(stream),
            // Nobody listens there: its process has ended, and could not say so.
            Ok(Err(error)) if error.kind() == io::ErrorKind::ConnectionRefused => Err(Unreachable::Gone),
            Ok(Err(error)) => match OtherNode::of(&error) {
                // One process at a time listens at an address: that of the node has ended, and another one has begun.
                Some(OtherNode(other))
                    if self.known.find(other).await?.is_some_and(|found| found.address == address) =>
                {
                    Err(Unreachable::Gone)
                }
                _ => Err(error.into()),
            },
            Err(_) => Err(io::Error::from(io::ErrorKind::TimedOut).into()),
        }
    }

    /// A connection from another node, which has proved that it is one. It may be late: it lives, as it shows.
    ///
    /// # Errors
    /// If it has not.
    pub async fn accept(&self, stream: TcpStream) -> io::Result<server::TlsStream<TcpStream>> {
        let accepting = async {
            stream.set_nodelay(true)?;
            let (node, stream) = self.own.accept(stream).await?;
            match self.known.find(node).await.map_err(io::Error::other)? {
                Some(_) => Ok(stream),
                None => Err(io::Error::new(io::ErrorKind::PermissionDenied, "it is no node of this server")),
            }
        };
        timeout(CONNECTING, accepting).await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
    }
}

fn is_lost(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
    matches!(error.kind(), BrokenPipe | ConnectionAborted | ConnectionReset | UnexpectedEof)
}

fn key_of(node: NodeId) -> String {
    format!("{PREFIX}{node}")
}

#[cfg(test)]
mod tests;
