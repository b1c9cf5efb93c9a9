//! Messages to the host's log, and to the client if it asked for them.
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

/// Logs a text at a level.
///
/// ```
/// use wharf_plugin::log::{Level, message};
/// message(Level::Notice, "three files left");
/// ```
pub fn message(level: Level, message: &str) {
    sys::log(level, message);
}

/// Logs a structured value; `logger` names the part of the plugin. A value that does not
/// serialise to JSON is not logged.
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

/// Details for the plugin's author.
///
/// ```
/// wharf_plugin::log::debug("as it is");
/// ```
pub fn debug(text: &str) {
    message(Level::Debug, text);
}

/// Normal operation.
///
/// ```
/// wharf_plugin::log::info("as it is");
/// ```
pub fn info(text: &str) {
    message(Level::Info, text);
}

/// Normal but significant events.
///
/// ```
/// wharf_plugin::log::notice("as it is");
/// ```
pub fn notice(text: &str) {
    message(Level::Notice, text);
}

/// Possible problems.
///
/// ```
/// wharf_plugin::log::warning("as it is");
/// ```
pub fn warning(text: &str) {
    message(Level::Warning, text);
}

/// Errors.
///
/// ```
/// wharf_plugin::log::error("as it is");
/// ```
pub fn error(text: &str) {
    message(Level::Error, text);
}

/// Failures of a part of the plugin.
///
/// ```
/// wharf_plugin::log::critical("as it is");
/// ```
pub fn critical(text: &str) {
    message(Level::Critical, text);
}

/// Conditions that need immediate action.
///
/// ```
/// wharf_plugin::log::alert("as it is");
/// ```
pub fn alert(text: &str) {
    message(Level::Alert, text);
}

/// The plugin is unusable.
///
/// ```
/// wharf_plugin::log::emergency("as it is");
/// ```
pub fn emergency(text: &str) {
    message(Level::Emergency, text);
}
