//! Converts a policy to grants that allow exactly the same.
//!
//! A policy has patterns and exceptions, and grants have neither: entries that need one are left out,
//! and reported.

use std::fmt::Write as _;
use std::path::Path;

use bytesize::ByteSize;
use serde_json::{Map, Value};
use wharf_report::{ShowPath as _, line};

use crate::plugin::{FolderGrant, FolderMode, HttpGrant, Limits, PluginId};

/// A policy allows a host with any method.
const METHODS: &str = r#"["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]"#;

/// The grants; and the entries that were left out, and those that would not be given.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Imported {
    pub(super) toml: String,
    pub(super) warnings: Vec<String>,
}

/// Parses a policy. `objection`: why a folder would not be given to a plugin.
///
/// # Errors
/// If it is not a policy.
pub(super) fn import(
    policy: &Value,
    plugin: &PluginId,
    objection: impl Fn(&FolderGrant) -> Option<String>,
) -> Result<Imported, String> {
    let policy = policy.as_object().ok_or("not a policy: needs the keys version and permissions")?;
    let version = policy.get("version").map(plain).ok_or("it has no version")?;
    if !matches!(version.as_str(), "1.0" | "1") {
        return Err(format!("unsupported version, not 1.0: {version}"));
    }
    let empty = Map::new();
    let permissions = match policy.get("permissions") {
        Some(Value::Object(permissions)) => permissions,
        None | Some(Value::Null) => &empty,
        Some(_) => return Err("its permissions are not a mapping".into()),
    };
    let mut grants = Grants::default();
    for (kind, permission) in permissions {
        match kind.as_str() {
            _ if permission.is_null() => {}
            "storage" => grants.storage(permission, &objection),
            "network" => grants.network(permission),
            "environment" => grants.environment(permission),
            "resources" => grants.resources(permission),
            "runtime" => grants.leave_out("runtime", "it does not apply to this sandbox"),
            "ipc" => grants.leave_out("ipc", "plugins have no pipes or sockets"),
            other => grants.leave_out(other, "it is unknown"),
        }
    }
    let is_unknown = |key: &&String| !matches!(key.as_str(), "$schema" | "version" | "description" | "permissions");
    for key in policy.keys().filter(is_unknown) {
        grants.leave_out(key, "it is unknown");
    }
    Ok(Imported { toml: grants.toml(plugin), warnings: grants.warnings })
}

/// A value as text.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[derive(Default)]
struct Grants {
    folders: Vec<String>,
    hosts: Vec<String>,
    secrets: Vec<String>,
    memory: Option<String>,
    warnings: Vec<String>,
}

impl Grants {
    fn leave_out(&mut self, what: &str, why: &str) {
        self.warnings.push(format!("left out {what}: {why}"));
    }

    /// The entries of a list of a permission, each of them a mapping.
    fn entries<'a>(&mut self, of: &str, permission: &'a Value, list: &str) -> Vec<&'a Map<String, Value>> {
        let entries = match permission.get(list) {
            None | Some(Value::Null) => return Vec::new(),
            Some(entries) => entries.as_array(),
        };
        let Some(entries) = entries else {
            self.leave_out(&format!("{of}.{list}"), "it is not a list");
            return Vec::new();
        };
        let mut mappings = Vec::new();
        for entry in entries {
            match entry.as_object() {
                Some(entry) => mappings.push(entry),
                None => self.leave_out(&format!("{of}.{list} {entry}"), "it is not a mapping"),
            }
        }
        mappings
    }

    fn storage(&mut self, permission: &Value, objection: impl Fn(&FolderGrant) -> Option<String>) {
        let texts = |entries: Vec<&Map<String, Value>>| -> Vec<String> {
            entries.iter().filter_map(|entry| entry.get("uri")?.as_str()).map(str::to_owned).collect()
        };
        let denied = texts(self.entries("storage", permission, "deny"));
        for entry in self.entries("storage", permission, "allow") {
            let Some(uri) = entry.get("uri").and_then(Value::as_str) else {
                self.leave_out(&format!("storage {}", Value::Object(entry.clone())), "it has no uri");
                continue;
            };
            match folder(uri, entry.get("access"), &denied) {
                Ok((grant, folder)) => {
                    // Kept, since what is in the folder may change.
                    let beside = objection(&grant).map(|why| {
                        let why = format!("not given: the folder {} {why}", grant.host.shown());
                        self.warnings.push(format!("storage {uri}: {why}"));
                        format!("# {}\n  ", line(&why))
                    });
                    self.folders.push(beside.unwrap_or_default() + &folder);
                }
                Err(why) => self.leave_out(&format!("storage {uri}"), &why),
            }
        }
    }

    fn network(&mut self, permission: &Value) {
        let denied: Vec<Map<String, Value>> =
            self.entries("network", permission, "deny").into_iter().cloned().collect();
        for entry in self.entries("network", permission, "allow") {
            let Some(host) = entry.get("host").and_then(Value::as_str) else {
                let shown = Value::Object(entry.clone());
                self.leave_out(&format!("network {shown}"), "a grant needs a host name");
                continue;
            };
            match url(host, &denied) {
                Ok(url) => self.hosts.push(format!("{{ url = {}, methods = {METHODS} }}", quoted(&url))),
                Err(why) => self.leave_out(&format!("network {host}"), &why),
            }
        }
    }

    fn environment(&mut self, permission: &Value) {
        for entry in self.entries("environment", permission, "allow") {
            let key = entry.get("key").map(plain).unwrap_or_default();
            let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
            if key.is_empty() || !key.chars().all(is_name) {
                self.leave_out(&format!("environment {key}"), "not a valid secret name");
            } else if !self.secrets.contains(&key) {
                self.secrets.push(key);
            }
        }
    }

    /// Memory limits have the units of Kubernetes. There is no equivalent of CPU shares.
    fn resources(&mut self, permission: &Value) {
        let limits = permission.get("limits").unwrap_or(permission);
        for (name, limit) in limits.as_object().into_iter().flatten() {
            let size = limit.as_str().and_then(|size| {
                let digits = size.trim_end_matches(|c: char| c.is_ascii_alphabetic());
                let unit = ["Ki", "Mi", "Gi"].into_iter().find(|unit| size[digits.len()..] == **unit)?;
                (!digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit()))
                    .then(|| format!("{digits}{unit}B"))
            });
            match (name.as_str(), size) {
                ("memory", Some(size))
                    if size.parse::<ByteSize>().is_ok_and(|size| size.as_u64() <= Limits::MAX_MEMORY) =>
                {
                    self.memory = Some(size);
                }
                ("memory", Some(size)) => {
                    self.leave_out(&format!("memory {size}"), "a plugin has at most 256 MiB, which it gets instead");
                    self.memory = Some("256MiB".into());
                }
                ("memory", None) => self.leave_out(&format!("memory {}", plain(limit)), "its unit is not Ki, Mi or Gi"),
                _ => self.leave_out(&format!("resources.{name}"), "there is no such limit"),
            }
        }
    }

    fn toml(&self, plugin: &PluginId) -> String {
        let mut text = "# From a Wassette policy file.\n".to_owned();
        if !self.secrets.is_empty() {
            text += "[secrets]\n";
            for name in &self.secrets {
                let _ = writeln!(text, "{name} = {{ env = {} }}", quoted(name));
            }
            text.push('\n');
        }
        if let Some(memory) = &self.memory {
            let _ = writeln!(text, "[plugins.{plugin}.limits]\nmemory = {}\n", quoted(memory));
        }
        let _ = writeln!(text, "[plugins.{plugin}.grants]");
        for (key, entries) in [("fs", &self.folders), ("http", &self.hosts)] {
            if !entries.is_empty() {
                let _ = writeln!(text, "{key} = [\n  {},\n]", entries.join(",\n  "));
            }
        }
        if !self.secrets.is_empty() {
            let variables: Vec<String> =
                self.secrets.iter().map(|name| format!("{name} = {}", quoted(&format!("${{{name}}}")))).collect();
            let _ = writeln!(text, "env = {{ {} }}", variables.join(", "));
            let names: Vec<String> = self.secrets.iter().map(|name| quoted(name)).collect();
            let _ = writeln!(text, "secrets = [{}]", names.join(", "));
        }
        text
    }
}

fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

/// A folder tree as a grant, and as an entry of `fs`.
fn folder(uri: &str, access: Option<&Value>, denied: &[String]) -> Result<(FolderGrant, String), String> {
    let path = uri.strip_prefix("fs://").ok_or("its scheme is not fs://")?;
    let path = path.strip_suffix("/**").unwrap_or(path);
    if path.contains('*') {
        return Err("a grant covers a whole folder tree, without other patterns".into());
    }
    if !path.starts_with('/') {
        return Err("it is in Wassette's own folder; grant the intended folder instead".into());
    }
    let path = path.trim_end_matches('/');
    if path.is_empty() {
        return Err("the whole file system is never granted".into());
    }
    if path.split('/').any(|part| matches!(part, "." | "..")) || path.contains("//") {
        return Err("its path has empty, `.` or `..` segments".into());
    }
    if let Some(exception) = denied.iter().find(|denied| overlaps(path, denied)) {
        return Err(format!("grants have no exceptions, and {exception} is denied"));
    }
    if Path::new(path).is_file() {
        return Err("it is a file, and grants are for folders".into());
    }
    let access: Vec<&str> = access.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
    let (mode, written) = match (access.contains(&"read"), access.contains(&"write")) {
        (true, true) => (FolderMode::Write { quota: FolderGrant::QUOTA }, ", mode = \"write\""),
        (true, false) => (FolderMode::Read, ""),
        (false, true) => return Err("it allows write without read, and a writable grant can also be read".into()),
        (false, false) => return Err("it allows neither read nor write".into()),
    };
    let grant = FolderGrant { host: path.into(), guest: path.to_owned(), mode, per_subject: None, found: None };
    Ok((grant, format!("{{ host = {0}, guest = {0}{written} }}", quoted(path))))
}

/// Whether one of the two may be inside the other.
fn overlaps(path: &str, denied: &str) -> bool {
    let denied = denied.strip_prefix("fs://").unwrap_or(denied);
    // Only the part before a pattern is certain.
    let denied = denied.split('*').next().unwrap_or_default();
    path.starts_with(denied) || denied.starts_with(path)
}

/// The URL of a host, HTTPS by default.
fn url(host: &str, denied: &[Map<String, Value>]) -> Result<String, String> {
    let url = if host.contains("://") { host.to_owned() } else { format!("https://{host}") };
    if host.contains('*') {
        return Err("a grant covers one host, without patterns".into());
    }
    let name = url.split("://").nth(1).unwrap_or_default().split(['/', ':']).next().unwrap_or_default();
    if name.eq_ignore_ascii_case("localhost") || name.starts_with('[') || name.parse::<std::net::Ipv4Addr>().is_ok() {
        return Err("an address is granted with its port, and with `private = true` if it is not public".into());
    }
    for entry in denied {
        let exception = match entry.get("host").and_then(Value::as_str) {
            Some(pattern) => matches(pattern, name).then(|| pattern.to_owned()),
            // An address range: the host's addresses are unknown.
            None => Some(Value::Object(entry.clone()).to_string()),
        };
        if let Some(exception) = exception {
            return Err(format!("grants have no exceptions, and {exception} is denied"));
        }
    }
    HttpGrant::new(&url)?;
    Ok(url)
}

fn matches(pattern: &str, name: &str) -> bool {
    match pattern.strip_prefix('*') {
        Some(end) => name.to_ascii_lowercase().ends_with(&end.to_ascii_lowercase()),
        None => pattern.eq_ignore_ascii_case(name),
    }
}

#[cfg(test)]
mod tests;
