//! Notifications that a plugin can send at any time. Progress is in `call`.

#[cfg(target_family = "wasm")]
pub(crate) use crate::abi::host as sys;
#[cfg(not(target_family = "wasm"))]
pub(crate) use crate::testing::record as sys;

pub use crate::abi::host::Listing;

/// One of this plugin's lists has changed. The host lists it again and notifies
/// clients if it really changed.
///
/// ```
/// use wharf_plugin::{Listing, list_changed};
/// list_changed(Listing::Resources);
/// ```
pub fn list_changed(listing: Listing) {
    sys::list_changed(listing);
}

/// A resource of this plugin has new contents; the host notifies its subscribers.
///
/// ```
/// wharf_plugin::resource_updated("note://1");
/// ```
pub fn resource_updated(uri: &str) {
    sys::resource_updated(uri);
}
