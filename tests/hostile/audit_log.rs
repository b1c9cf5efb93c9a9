//! The audit log of a row: it must have one record for each call and each refused file.

use std::collections::HashMap;
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};

use serde_json::Value;

use crate::support::home::Home;

/// The log as far as it has been read; it is read incrementally, since a flood makes it long.
#[derive(Default)]
pub(crate) struct AuditLog {
    records: Vec<Value>,
    read: u64,
    /// Its path in the home, unless it is the default.
    path: Option<&'static str>,
}

impl AuditLog {
    pub(crate) fn at(path: Option<&'static str>) -> Self {
        Self { path, ..Self::default() }
    }

    /// All complete records so far.
    pub(crate) fn records(&mut self, home: &Home) -> &[Value] {
        let mut text = String::new();
        if let Ok(mut file) = File::open(home.path(self.path.unwrap_or("state/wharf/audit.jsonl"))) {
            file.seek(SeekFrom::Start(self.read)).and_then(|_| file.read_to_string(&mut text)).expect("it is text");
        }
        for line in text.split_inclusive('\n').filter(|line| line.ends_with('\n')) {
            self.read += line.len() as u64;
            self.records.push(serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")));
        }
        &self.records
    }
}

#[derive(Default)]
pub(crate) struct Expected {
    /// By request id: the plugin, and the code of the fault if there was one.
    calls: HashMap<u64, (String, Option<String>)>,
    /// Names of plugins, one for each refused file.
    refused: Vec<String>,
    /// By plugin: the digests of its files.
    contents: HashMap<String, Vec<String>>,
}

impl Expected {
    pub(crate) fn put(&mut self, plugin: &str, bytes: &[u8]) -> String {
        let hash = blake3::hash(bytes).to_hex().to_string();
        self.contents.entry(plugin.to_owned()).or_default().push(hash.clone());
        hash
    }

    /// All plugins that were put into the folder.
    pub(crate) fn plugins(&self) -> impl Iterator<Item = &str> {
        self.contents.keys().map(String::as_str)
    }

    pub(crate) fn refused(&mut self, plugin: &str) {
        self.refused.push(plugin.to_owned());
    }

    /// Adds an answered request; `plugin` is empty for requests without a plugin.
    pub(crate) fn answered(&mut self, id: u64, plugin: &str, answer: &Value) {
        let fault = [&answer["result"]["_meta"]["wharf/fault"]["code"], &answer["error"]["data"]["code"]];
        let code = fault.into_iter().find_map(Value::as_str).map(str::to_owned);
        self.calls.insert(id, (plugin.to_owned(), code));
    }

    /// The first record that is missing, repeated or wrong.
    pub(crate) fn missing(&self, records: &[Value]) -> Option<String> {
        for (id, (plugin, code)) in &self.calls {
            let of_it = |record: &&Value| record["id"] == id.to_string().as_str();
            let found: Vec<&Value> = records.iter().filter(of_it).collect();
            let [record] = found.as_slice() else {
                return Some(format!("{} records of request {id} to {plugin}", found.len()));
            };
            let is_of = |hash: &String| record["content"] == hash.as_str();
            let is_known = self.contents.get(plugin).is_some_and(|all| all.iter().any(is_of));
            let is_correct = (plugin.is_empty() || record["plugin"] == plugin.as_str() && is_known)
                && record["dur_us"].is_u64()
                && record["code"].as_str().is_some_and(|found| code.as_ref().is_none_or(|code| found == code));
            if !is_correct {
                return Some(format!("request {id} to {plugin} ({code:?}) is recorded as {record}"));
            }
        }
        for plugin in &self.refused {
            let wanted = self.refused.iter().filter(|other| *other == plugin).count();
            let of_it = |record: &&Value| record["event"] == "reject" && record["plugin"] == plugin.as_str();
            let found = records.iter().filter(of_it).count();
            if found != wanted {
                return Some(format!("{found} records of {wanted} refused files of {plugin}"));
            }
        }
        None
    }
}
