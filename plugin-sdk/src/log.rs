//! Messages to whoever watches: the host's log, and the client if it wants them.
//!
//! ```
//! use wharf_plugin::log;
//!
//! log::info("opened the archive");
//! log::data(log::Level::Warning, "archive", &wharf_plugin::json!({ "skipped": 2 }));
//! ```

use serde::Serialize;

use crate::host::sys;

pub use crate::abi::host::LogLevel as Level;

/// Says something at a level.
///
/// ```
/// use wharf_plugin::log::{Level, message};
/// message(Level::Notice, "three files left");
/// ```
pub fn message(level: Level, message: &str) {
    sys::log(level, message);
}

/// Says something structured; `logger` names the part of the plugin that speaks. What
/// does not become JSON is not said.
///
/// ```
/// use wharf_plugin::{json, log};
/// log::data(log::Level::Info, "cache", &json!({ "hits": 7 }));
/// ```
pub fn data(level: Level, logger: &str, data: &impl Serialize) {
    if let Ok(data) = serde_json::to_string(data) {
        sys::log_data(level, logger, &data);
    }
}

/// What only the plugin's author wants to know.
///
/// ```
/// wharf_plugin::log::debug("as it is");
/// ```
pub fn debug(text: &str) {
    message(Level::Debug, text);
}

/// What goes on.
///
/// ```
/// wharf_plugin::log::info("as it is");
/// ```
pub fn info(text: &str) {
    message(Level::Info, text);
}

/// What is normal but worth a look.
///
/// ```
/// wharf_plugin::log::notice("as it is");
/// ```
pub fn notice(text: &str) {
    message(Level::Notice, text);
}

/// What may become a problem.
///
/// ```
/// wharf_plugin::log::warning("as it is");
/// ```
pub fn warning(text: &str) {
    message(Level::Warning, text);
}

/// What went wrong.
///
/// ```
/// wharf_plugin::log::error("as it is");
/// ```
pub fn error(text: &str) {
    message(Level::Error, text);
}

/// What stops a part from working.
///
/// ```
/// wharf_plugin::log::critical("as it is");
/// ```
pub fn critical(text: &str) {
    message(Level::Critical, text);
}

/// What somebody must see to at once.
///
/// ```
/// wharf_plugin::log::alert("as it is");
/// ```
pub fn alert(text: &str) {
    message(Level::Alert, text);
}

/// What stops everything.
///
/// ```
/// wharf_plugin::log::emergency("as it is");
/// ```
pub fn emergency(text: &str) {
    message(Level::Emergency, text);
}
