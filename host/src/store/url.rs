//! What URLs of stores have in common.

use std::net::IpAddr;

/// Why a URL cannot be used; both without what is in it, which may be a password.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnusableUrl {
    pub why: &'static str,
    pub hint: &'static str,
}

/// Whether that is this machine.
pub(super) fn is_local(host: &str) -> bool {
    host.eq_ignore_ascii_case("localhost") || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}
