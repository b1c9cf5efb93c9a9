//! Secrets of which each caller has their own.

use std::sync::Arc;

use async_trait::async_trait;

use super::secret::Missing;
use crate::identity::{Identity, SecretText};

/// Where they come from. Implemented above: a plugin does not know of files of secrets.
#[async_trait]
pub trait PersonalSecrets: Send + Sync {
    /// That of a caller, by the secret's name, as it is now. Does not block; may be dropped. `exchanged`: whether the
    /// grants have it as a token for the caller's own, which no plugin may read.
    ///
    /// # Errors
    /// If there is none, or it is of another kind by now.
    async fn value(&self, name: &str, exchanged: bool, of: &Arc<Identity>) -> Result<SecretText, Missing>;
}

/// There are none.
pub(in crate::plugin) struct NoPersonalSecrets;

#[async_trait]
impl PersonalSecrets for NoPersonalSecrets {
    async fn value(&self, _: &str, _: bool, _: &Arc<Identity>) -> Result<SecretText, Missing> {
        Err(Missing {
            why: "nobody has".into(),
            hint: "use a server that has a configuration".into(),
            temporary: false,
        })
    }
}
