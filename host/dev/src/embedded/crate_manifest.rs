//! The manifest of `wharf-plugin` for use outside its workspace.

use toml::{Table, Value};

/// `manifest` with values inherited from `root`, and without what only its own tests need.
pub(super) fn standalone(manifest: &str, root: &str) -> String {
    // Both are part of this program, and a test reads the outcome.
    let mut manifest: Table = manifest.parse().unwrap_or_default();
    let root: Table = root.parse().unwrap_or_default();
    manifest.remove("dev-dependencies");
    manifest.remove("lints");
    if let Some(Value::Table(package)) = manifest.get_mut("package") {
        for (key, value) in package.iter_mut().filter(|(_, value)| inherits(value)) {
            if let Some(inherited) = root.get("workspace").and_then(|w| w.get("package")).and_then(|p| p.get(key)) {
                *value = inherited.clone();
            }
        }
    }
    manifest.to_string()
}

fn inherits(value: &Value) -> bool {
    value.get("workspace").and_then(Value::as_bool) == Some(true)
}
