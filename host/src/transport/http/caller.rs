//! Who sent a request, and its key for fair sharing: the name of its identity, or the client's network
//! if all clients have the same identity.

use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;
use std::time::Instant;

use tokio_util::sync::CancellationToken;

use crate::identity::Identity;

/// The remote end of a connection.
pub(super) struct Peer {
    /// `None` for a Unix socket.
    pub(super) network: Option<IpAddr>,
    /// The key of a client without an identity of its own.
    key: Arc<str>,
}

/// The sender of a request.
pub(super) struct Caller {
    pub(super) identity: Arc<Identity>,
    /// Limits are shared fairly between keys.
    pub(super) key: Arc<str>,
    /// Cancelled when the token of the request is no longer valid; `None`: it needed none.
    pub(super) revoked: Option<CancellationToken>,
    /// When its token expires; `None`: it does not, or there is none.
    pub(super) expires: Option<Instant>,
}

impl Caller {
    /// Resolves when its token expires.
    pub(super) fn expired(&self) -> impl Future<Output = ()> + Send + 'static {
        let expires = self.expires;
        async move {
            match expires {
                Some(at) => tokio::time::sleep_until(at.into()).await,
                None => std::future::pending().await,
            }
        }
    }
}

impl Peer {
    pub(super) fn new(address: Option<IpAddr>) -> Self {
        let network = address.map(network);
        let key = match network {
            Some(network) if !network.is_loopback() => network.to_string().into(),
            // A local client can use any loopback address.
            _ => Identity::local().name().clone(),
        };
        Self { network, key }
    }

    /// A verified identity is one caller, from whatever address.
    pub(super) fn caller(&self, identity: Arc<Identity>, has_token: bool) -> Caller {
        let key = if has_token { identity.name() } else { &self.key }.clone();
        Caller { identity, key, revoked: None, expires: None }
    }
}

/// The network of one client: an IPv4 address, or an IPv6 /64.
pub(super) fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) if !address.is_loopback() => {
            IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX)))
        }
        address => address,
    }
}

#[cfg(test)]
mod tests {
    use super::{Caller, Peer};
    use crate::identity::Identity;

    fn caller(address: &str, has_token: bool) -> Caller {
        let address = (!address.is_empty()).then(|| address.parse().expect("an address"));
        Peer::new(address).caller(Identity::local().into(), has_token)
    }

    #[test]
    fn callers_without_a_token_are_distinguished_by_network() {
        let key = |address: &str| caller(address, false).key;
        assert_ne!(key("192.0.2.1"), key("192.0.2.2"));
        assert_eq!(key("192.0.2.1"), key("::ffff:192.0.2.1"));
        assert_eq!(key("2001:db8:1:1::1"), key("2001:db8:1:1:ffff::2"));
        assert_ne!(key("2001:db8:1:1::1"), key("2001:db8:1:2::1"));
        for local in ["127.0.0.1", "127.9.9.9", "::1", ""] {
            assert_eq!(&*key(local), "local", "{local:?}");
        }
    }

    #[test]
    fn an_identity_with_a_token_is_one_caller_from_any_address() {
        for address in ["192.0.2.1", "2001:db8::1", "127.0.0.1"] {
            assert_eq!(&*caller(address, true).key, "local");
            assert_eq!(&**caller(address, false).identity.name(), "local");
        }
    }
}
