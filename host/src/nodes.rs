//! The nodes of one server: who they are, whether they live, and connections between them, on which both sides know who
//! the other one is.
//!
//! A node makes a key at its start, which is in its memory alone, and its id is the hash of the public part. Under that
//! id it says in the store where it listens and until when it lives. So who can write to the store can be a node, and
//! nobody else.

mod tls;

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep, timeout};
use tokio_rustls::{client, server};
use tokio_util::sync::CancellationToken;

use self::tls::{OtherNode, OwnKey};
use crate::json;
use crate::store::{OwnEntry, Store, StoreError, now};
use crate::sync::lock;

/// What the keys of all nodes begin with.
pub const PREFIX: &str = "nodes/";
/// For how long a node counts as alive after it said so.
const LEASE: Duration = Duration::from_secs(6);
/// How often it says so.
const RENEWAL: Duration = Duration::from_secs(2);
/// How soon it is said again if that failed.
const RETRY: Duration = Duration::from_millis(200);
/// For how long it is known what the store said of another node.
const FRESH: Duration = Duration::from_secs(1);
/// How long a connection to another node may take, its handshake included.
const CONNECTING: Duration = Duration::from_secs(3);
/// Nodes that are remembered.
const MOST: usize = 4096;

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
    /// Milliseconds since 1970.
    until: u64,
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
    /// What the store said of the others, and when.
    known: Mutex<HashMap<NodeId, (Option<String>, Instant)>>,
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
            store,
            known: Mutex::default(),
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
            // Soon again: others take this one for dead otherwise, although the store is back.
            let pause = if failed { RETRY } else { RENEWAL };
            drop(timeout(pause, self.has_left.cancelled()).await);
        }
    }

    /// Says once that this node lives.
    ///
    /// # Errors
    /// If the store cannot be used.
    pub async fn say(&self) -> Result<(), StoreError> {
        let until = now() + LEASE.as_millis() as u64;
        let said = Said { address: self.address.clone(), until };
        let value = serde_json::to_vec(&said).map_err(|error| StoreError(error.to_string()))?;
        self.said.put(&*self.store, value, Some(until)).await
    }

    /// This node does not live any more, and says so no longer.
    ///
    /// # Errors
    /// If the store cannot be used.
    pub async fn leave(&self) -> Result<(), StoreError> {
        self.has_left.cancel();
        self.said.remove(&*self.store).await
    }

    /// Where a node listens. `None`: it does not live.
    async fn find(&self, node: NodeId) -> Result<Option<String>, StoreError> {
        let known = lock(&self.known).get(&node).filter(|(_, read)| read.elapsed() < FRESH).cloned();
        if let Some((address, _)) = known {
            return Ok(address);
        }
        // Before it is read: this process may be stopped for a while just after that.
        let now = now();
        let entry = self.store.get(&key_of(node)).await?;
        let said = entry.and_then(|entry| json::read::<Said>(str::from_utf8(&entry.value).ok()?).ok());
        let address = said.filter(|said| said.until > now).map(|said| said.address);
        let mut known = lock(&self.known);
        if known.len() >= MOST {
            known.clear();
        }
        known.insert(node, (address.clone(), Instant::now()));
        Ok(address)
    }

    /// Resolves when a node does not live any more.
    pub async fn gone(&self, node: NodeId) {
        while !matches!(self.find(node).await, Ok(None)) {
            sleep(RENEWAL).await;
        }
    }

    /// A connection to a node, which has proved that it is that one.
    ///
    /// # Errors
    /// If it does not live, or cannot be reached.
    pub async fn connect(&self, node: NodeId) -> Result<client::TlsStream<TcpStream>, Unreachable> {
        let address = self.find(node).await?.ok_or(Unreachable::Gone)?;
        let once = || async {
            let stream = TcpStream::connect(&address).await?;
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
                Some(OtherNode(other)) if self.find(other).await? == Some(address) => Err(Unreachable::Gone),
                _ => Err(error.into()),
            },
            Err(_) => Err(io::Error::from(io::ErrorKind::TimedOut).into()),
        }
    }

    /// A connection from another node, which has proved that it is one that lives.
    ///
    /// # Errors
    /// If it has not.
    pub async fn accept(&self, stream: TcpStream) -> io::Result<server::TlsStream<TcpStream>> {
        let accepting = async {
            stream.set_nodelay(true)?;
            let (node, stream) = self.own.accept(stream).await?;
            match self.find(node).await.map_err(io::Error::other)? {
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
