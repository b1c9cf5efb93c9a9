//! Where plugins' values are: in a file of this machine, or in the store of several nodes.

use std::path::PathBuf;
use std::sync::Arc;

use tokio::runtime::Handle;

use super::local::LocalValues;
use super::remote::{AskServer, RemoteValues};
use super::shared::{SharedStore, SharedValues};
use super::store::Store;
use super::values::{Owner, Values};
use crate::seldom::Seldom;
use crate::store;

/// Where plugins' values are.
#[derive(Clone, Default)]
pub enum KeyvaluePlace {
    /// Until the process ends, for what keeps nothing.
    #[default]
    Memory,
    /// The same, for lack of a folder: the log says so once it is used.
    NoFolder,
    /// A database file, created when first needed.
    File(PathBuf),
    /// The store of several nodes. It is used in that runtime alone.
    Shared(Arc<dyn store::Store>, Handle),
    /// Where the server of this process has them, which is asked.
    Server(Arc<dyn AskServer>),
}

/// The values of all plugins.
#[derive(Clone)]
pub(in crate::plugin) enum Keyvalue {
    Local(Arc<Store>),
    Shared(Arc<SharedStore>),
    Remote(Arc<dyn AskServer>, Arc<Seldom>),
}

impl Keyvalue {
    pub(in crate::plugin) fn new(place: KeyvaluePlace) -> Self {
        match place {
            KeyvaluePlace::Memory => Self::Local(Store::in_memory(false)),
            KeyvaluePlace::NoFolder => Self::Local(Store::in_memory(true)),
            KeyvaluePlace::File(path) => Self::Local(Store::in_file(path)),
            KeyvaluePlace::Server(server) => Self::Remote(server, Arc::default()),
            KeyvaluePlace::Shared(store, runtime) => Self::Shared(SharedStore::new(store, runtime)),
        }
    }

    /// What is said of failures, of whatever plugin's calls.
    pub(super) fn failures(&self) -> &Seldom {
        match self {
            Self::Local(store) => &store.failures,
            Self::Shared(data) => &data.failures,
            Self::Remote(_, failures) => failures,
        }
    }

    pub(super) fn of(&self, owner: Owner) -> Box<dyn Values> {
        match self {
            Self::Local(store) => Box::new(LocalValues { store: store.clone(), owner }),
            Self::Remote(server, _) => Box::new(RemoteValues { server: server.clone(), owner }),
            Self::Shared(data) => Box::new(SharedValues::new(data.clone(), &owner)),
        }
    }
}
