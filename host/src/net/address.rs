//! Which addresses are public.
//!
//! From IANA's registries of special-purpose addresses, RFC 6890 and its successors.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Whether every machine may reach it.
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

/// Where an address that is not public leads, in plain words; `None` for public ones.
pub fn reach(address: IpAddr) -> Option<&'static str> {
    // Where clouds answer requests of their machines: 169.254.170.2 those of containers.
    const METADATA: [IpAddr; 4] = [
        IpAddr::V4(Ipv4Addr::new(169, 254, 169, 254)),
        IpAddr::V4(Ipv4Addr::new(169, 254, 170, 2)),
        IpAddr::V4(Ipv4Addr::new(100, 100, 100, 200)),
        IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254)),
    ];
    let address = address.to_canonical();
    if is_public(address) {
        None
    } else if METADATA.contains(&address) {
        Some("the metadata service of a cloud, which gives out this machine's own credentials")
    } else if address.is_loopback() || address.is_unspecified() {
        Some(LOOPBACK)
    } else {
        Some("a private address: a machine of this network, which others may not reach")
    }
}

/// Of addresses of this machine, in plain words.
pub const LOOPBACK: &str = "this machine itself, also to what listens for its own programs alone";

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    !(address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_documentation()
        || a == 0
        // Shared by providers (100.64.0.0/10), protocols, relays to IPv6, benchmarks.
        || a == 100 && b & 0xc0 == 64
        || [(192, 0, 0), (192, 88, 99)].contains(&(a, b, c))
        || a == 198 && b & 0xfe == 18
        // Multicast, reserved and broadcast.
        || a >= 224)
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let s = address.segments();
    // IPv4 addresses embedded in IPv6 (NAT64): RFC 6052.
    if s[..6] == [0x64, 0xff9b, 0, 0, 0, 0] {
        let [.., a, b, c, d] = address.octets();
        return is_public_v4(Ipv4Addr::new(a, b, c, d));
    }
    // Global unicast is 2000::/3, and in it: protocols and Teredo (2001::/23), documentation
    // (2001:db8::/32, 3fff::/20), and 6to4 (2002::/16), which may lead to a private address.
    s[0] & 0xe000 == 0x2000
        && !(s[0] == 0x2001 && (s[1] < 0x200 || s[1] == 0xdb8) || s[0] == 0x2002 || s[0] == 0x3fff && s[1] < 0x1000)
}
