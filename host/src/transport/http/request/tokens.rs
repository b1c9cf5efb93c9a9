//! Static bearer tokens, stored as hashes.

use std::sync::Arc;

use arc_swap::ArcSwap;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::identity::{Identity, TokenHash};

/// One token and its owner, who may have several tokens.
#[derive(Clone, Debug)]
pub struct Token {
    identity: Arc<Identity>,
    hash: TokenHash,
    /// Cancelled when the token is no longer in the set.
    revoked: CancellationToken,
}

impl Token {
    /// The secret itself is not stored.
    pub fn new(name: &str, secret: &str) -> Self {
        Self {
            identity: Arc::new(Identity::token(name)),
            hash: TokenHash::of(secret.as_bytes()),
            revoked: CancellationToken::new(),
        }
    }

    /// Whether it is the same secret of the same owner.
    fn is(&self, other: &Self) -> bool {
        self.hash == other.hash && self.identity == other.identity
    }
}

/// Tokens that can be replaced at runtime; clones share them.
#[derive(Clone, Debug, Default)]
pub struct TokenSet {
    tokens: Arc<ArcSwap<Vec<Token>>>,
    replaced: watch::Sender<()>,
}

impl TokenSet {
    pub fn is_empty(&self) -> bool {
        self.tokens.load().is_empty()
    }

    /// Replaces all tokens. What was started with one that is no longer there is ended.
    pub fn replace(&self, mut tokens: Vec<Token>) {
        let old = self.tokens.load_full();
        for token in &mut tokens {
            if let Some(same) = old.iter().find(|old| old.is(token)) {
                token.revoked = same.revoked.clone();
            }
        }
        let tokens = Arc::new(tokens);
        self.tokens.store(tokens.clone());
        for removed in old.iter().filter(|old| !tokens.iter().any(|token| token.is(old))) {
            removed.revoked.cancel();
        }
        self.replaced.send_replace(());
    }

    /// The owner of a token, and what is cancelled when it is no longer valid. Compares with all tokens.
    pub(super) fn find(&self, hash: &TokenHash) -> Option<(Arc<Identity>, CancellationToken)> {
        let tokens = self.tokens.load();
        let found = tokens.iter().filter(|token| token.hash == *hash).fold(None, |_, token| Some(token));
        found.map(|token| (token.identity.clone(), token.revoked.clone()))
    }

    /// Changes when the tokens are replaced.
    pub(super) fn replaced(&self) -> watch::Receiver<()> {
        self.replaced.subscribe()
    }

    /// Whether somebody of that name has a token.
    pub(super) fn has(&self, name: &str) -> bool {
        self.tokens.load().iter().any(|token| **token.identity.name() == *name)
    }
}

impl From<Vec<Token>> for TokenSet {
    fn from(tokens: Vec<Token>) -> Self {
        Self { tokens: Arc::new(ArcSwap::from_pointee(tokens)), ..Self::default() }
    }
}
