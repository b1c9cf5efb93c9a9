//! Where a store is, and which engine it has.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use wharf_report::ShowPath as _;

use super::{Sqlite, Store};

/// Where a store is. As text it is for people, and has no password.
#[derive(Debug, Clone)]
pub enum Place {
    /// Of SQLite.
    File(PathBuf),
    #[cfg(feature = "postgres")]
    Postgres(Box<super::PostgresSettings>),
    #[cfg(feature = "nats")]
    Nats(Box<super::NatsSettings>),
}

impl Place {
    /// The store there, which is connected when it is first needed.
    pub fn open(&self) -> Arc<dyn Store> {
        match self {
            Self::File(path) => Sqlite::new(path.clone()),
            #[cfg(feature = "postgres")]
            Self::Postgres(settings) => super::Postgres::new((**settings).clone()),
            #[cfg(feature = "nats")]
            Self::Nats(settings) => super::Nats::new((**settings).clone()),
        }
    }

    /// Whether nodes on several machines use it.
    pub fn is_shared(&self) -> bool {
        !matches!(self, Self::File(_))
    }

    /// Whether anything may be there: who only looks makes no file.
    pub fn may_have_entries(&self) -> bool {
        match self {
            Self::File(path) => path.exists(),
            #[cfg(feature = "postgres")]
            Self::Postgres(_) => true,
            #[cfg(feature = "nats")]
            Self::Nats(_) => true,
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(f, "{}", path.shown()),
            #[cfg(feature = "postgres")]
            Self::Postgres(settings) => write!(f, "{settings}"),
            #[cfg(feature = "nats")]
            Self::Nats(settings) => write!(f, "{settings}"),
        }
    }
}
