//! Limits the open connections: in total and per address.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard};

use crate::sync::lock;
use crate::transport::http::caller::network;

pub(super) struct Admission {
    max: usize,
    max_per_address: usize,
    open: Arc<Open>,
}

#[derive(Default)]
struct Open(Mutex<Counts>);

#[derive(Default)]
struct Counts {
    all: usize,
    by_address: HashMap<IpAddr, usize>,
}

/// The permit of one connection, released on drop.
pub(super) struct ConnectionPermit {
    open: Arc<Open>,
    address: Option<IpAddr>,
}

impl Admission {
    pub(super) fn new(max: usize, max_per_address: usize) -> Self {
        Self { max, max_per_address, open: Arc::default() }
    }

    /// A permit for a connection from `address`, if the limits allow it. A Unix socket has no
    /// address: only the total applies.
    pub(super) fn admit(&self, address: Option<IpAddr>) -> Option<ConnectionPermit> {
        let address = address.map(network);
        let mut counts = self.open.counts();
        if counts.all >= self.max {
            return None;
        }
        if let Some(address) = address {
            let of_address = counts.by_address.entry(address).or_default();
            if *of_address >= self.max_per_address {
                return None;
            }
            *of_address += 1;
        }
        counts.all += 1;
        Some(ConnectionPermit { open: self.open.clone(), address })
    }
}

impl Open {
    fn counts(&self) -> MutexGuard<'_, Counts> {
        lock(&self.0)
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        let mut counts = self.open.counts();
        counts.all -= 1;
        if let Some(address) = self.address
            && let Some(of_address) = counts.by_address.get_mut(&address)
        {
            *of_address -= 1;
            if *of_address == 0 {
                counts.by_address.remove(&address);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::Admission;

    fn address(text: &str) -> Option<IpAddr> {
        Some(text.parse().expect("an address"))
    }

    #[test]
    fn permits_are_released() {
        let admission = Admission::new(3, 2);
        let one = admission.admit(address("10.0.0.1")).expect("free");
        let _two = admission.admit(address("::ffff:10.0.0.1")).expect("free");
        assert!(admission.admit(address("10.0.0.1")).is_none(), "two of one address");
        let _three = admission.admit(address("10.0.0.2")).expect("free");
        assert!(admission.admit(address("10.0.0.3")).is_none(), "three in all");
        drop(one);
        assert!(admission.admit(address("10.0.0.1")).is_some());
        assert!(admission.admit(None).is_some());
    }

    #[test]
    fn an_ipv6_network_counts_as_one_address() {
        let admission = Admission::new(10, 1);
        let _one = admission.admit(address("2001:db8:1:1::1")).expect("free");
        assert!(admission.admit(address("2001:db8:1:1:ffff::2")).is_none());
        assert!(admission.admit(address("2001:db8:1:2::1")).is_some());
    }
}
