//! The settings of a plugin as JSON, and back.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use crate::os::stamp::FolderState;
use crate::plugin::component::engine::EngineKind;
use crate::plugin::limits::{Isolation, Limits, TaskLimits};
use crate::plugin::policy::access::Access;
use crate::plugin::policy::command::CommandSettings;
use crate::plugin::policy::extra::{Extra, ExtraLimits, Extras};
use crate::plugin::policy::grants::{FolderGrant, FolderMode, Grants, KeyvalueGrant, PrivateFile};
use crate::plugin::policy::outbound::grant::HttpGrant;
use crate::plugin::policy::pages::Pages;
use crate::plugin::policy::secret::{Missing, Secret};
use crate::plugin::policy::template::SecretTemplate;
use crate::plugin::tape::kept::{Kept, member, records, variants};
use crate::rights::{Condition, Implications};

/// Nanoseconds.
impl Kept for Duration {
    fn keep(&self) -> Value {
        u64::try_from(self.as_nanos()).unwrap_or(u64::MAX).into()
    }

    fn read(value: &Value) -> Option<Self> {
        value.as_u64().map(Self::from_nanos)
    }
}

impl Kept for Arc<str> {
    fn keep(&self) -> Value {
        (**self).into()
    }

    fn read(value: &Value) -> Option<Self> {
        value.as_str().map(Self::from)
    }
}

/// Those of a configuration are UTF-8.
impl Kept for PathBuf {
    fn keep(&self) -> Value {
        self.to_string_lossy().into()
    }

    fn read(value: &Value) -> Option<Self> {
        value.as_str().map(Self::from)
    }
}

records! {
    Limits { timeout, cpu, memory, output, concurrency, queue, log, tasks, isolation }
    TaskLimits { after, timeout, cpu, concurrency, keep }
    KeyvalueGrant { quota, per_subject }
    PrivateFile { what, path, is_folder }
    CommandSettings { json, tool }
}

variants! {
    EngineKind { ; Synchronous = "synchronous", Asynchronous = "asynchronous" }
    Isolation { ; Shared = "shared", Process = "process" }
    Pages { ; Declared = "declared", Granted = "granted", None = "none" }
    Access {
        ;
        Keyvalue = "keyvalue", Http = "http", Fs = "fs", Env = "env", Config = "config", Secrets = "secrets",
        Elicit = "elicit", Sample = "sample", Roots = "roots"
    }
}

impl Kept for FolderGrant {
    fn keep(&self) -> Value {
        let Self { host, guest, mode, per_subject, found: _ } = self;
        let quota = match mode {
            FolderMode::Read => None,
            FolderMode::Write { quota } => Some(*quota),
        };
        json!([host.keep(), guest, quota, per_subject])
    }

    /// What is found there is looked at again.
    fn read(value: &Value) -> Option<Self> {
        let [host, guest, quota, per_subject] = value.as_array()?.as_slice() else { return None };
        let host = PathBuf::read(host)?;
        let mode = Option::read(quota)?.map_or(FolderMode::Read, |quota| FolderMode::Write { quota });
        let found = FolderState::of(&host);
        Some(Self { host, guest: Kept::read(guest)?, mode, per_subject: Kept::read(per_subject)?, found })
    }
}

impl Kept for HttpGrant {
    fn keep(&self) -> Value {
        let headers: Vec<(String, String)> =
            self.headers.iter().map(|(name, value)| (name.as_str().to_owned(), value.to_string())).collect();
        json!([self.url(), self.method_names(), self.private, headers])
    }

    fn read(value: &Value) -> Option<Self> {
        let [url, methods, private, headers] = value.as_array()?.as_slice() else { return None };
        let grant = Self::new(url.as_str()?).ok()?.methods(&Vec::<String>::read(methods)?).ok()?;
        let grant = grant.private(private.as_bool()?);
        let headers = Vec::<(String, String)>::read(headers)?;
        headers.iter().try_fold(grant, |grant, (name, value)| grant.header(name, value).ok())
    }
}

impl Kept for SecretTemplate {
    fn keep(&self) -> Value {
        self.to_string().into()
    }

    fn read(value: &Value) -> Option<Self> {
        Self::parse(value.as_str()?)
    }
}

impl Kept for Missing {
    fn keep(&self) -> Value {
        json!([self.why, self.hint, self.temporary])
    }

    fn read(value: &Value) -> Option<Self> {
        let [why, hint, temporary] = value.as_array()?.as_slice() else { return None };
        Some(Self { why: Kept::read(why)?, hint: String::read(hint)?.into(), temporary: temporary.as_bool()? })
    }
}

impl Kept for Secret {
    fn keep(&self) -> Value {
        let value = if self.is_personal() {
            "personal".into()
        } else if self.is_exchanged() {
            "exchanged".into()
        } else {
            match self.missing() {
                Some(missing) => member("missing", missing.keep()),
                None => member("known", self.expose().into()),
            }
        };
        json!([self.name, self.readable, value])
    }

    fn read(value: &Value) -> Option<Self> {
        let [name, readable, value] = value.as_array()?.as_slice() else { return None };
        let (name, readable) = (String::read(name)?, readable.as_bool()?);
        Some(match value.as_str() {
            Some("personal") => Self::personal(name, readable),
            Some(_) => Self::exchanged(name),
            None => match value.get("missing") {
                Some(missing) => Self::new(name, readable, Err(Kept::read(missing)?)),
                None => Self::new(name, readable, Ok(String::read(&value["known"])?)),
            },
        })
    }
}

/// Without their conditions: which extras hold for a caller is decided in the server. They are here for the secrets and
/// folders in them.
impl Kept for Extras {
    fn keep(&self) -> Value {
        self.all().iter().map(|extra| json!([extra.name, extra.grants.keep()])).collect()
    }

    fn read(value: &Value) -> Option<Self> {
        let extra = |value: &Value| {
            let [name, grants] = value.as_array()?.as_slice() else { return None };
            Some(Extra {
                name: name.as_str()?.into(),
                when: Condition::default(),
                grants: Grants::read(grants)?,
                limits: ExtraLimits::default(),
            })
        };
        let all = value.as_array()?.iter().map(extra).collect::<Option<Vec<_>>>()?;
        Some(Self::new(all, Implications::default()))
    }
}

records! {
    Grants {
        keyvalue, http, secrets, elicit, sample, roots, folders, private, env, config, pages, program, place, command,
        extras
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grants() -> Grants {
        let http = HttpGrant::new("https://api.example.org:8443/v1").expect("a URL");
        let http = http.methods(&["POST".into()]).expect("a method").private(true);
        let missing = Missing { why: "is not set: K".into(), hint: "set it".into(), temporary: true };
        Grants {
            keyvalue: Some(KeyvalueGrant { quota: 7, per_subject: Some(9) }),
            http: vec![http.header("authorization", "Bearer ${KEY}").expect("a header")],
            secrets: vec![
                Secret::new("KEY".into(), false, Ok("value".into())),
                Secret::new("LOST".into(), true, Err(missing)),
                Secret::personal("OWN".into(), true),
                Secret::exchanged("TOKEN".into()),
            ],
            elicit: true,
            folders: vec![
                FolderGrant {
                    host: "/not/there".into(),
                    guest: "/data".into(),
                    mode: FolderMode::Write { quota: 3 },
                    per_subject: None,
                    found: None,
                },
                FolderGrant {
                    host: "/nor/here".into(),
                    guest: "/more".into(),
                    mode: FolderMode::Read,
                    per_subject: Some(4),
                    found: None,
                },
            ],
            private: vec![PrivateFile { what: "the key".into(), path: "/key".into(), is_folder: false }],
            env: vec![("A".into(), SecretTemplate::parse("x ${KEY}").expect("a template"))],
            config: vec![("c".into(), "d".into())],
            pages: Pages::Declared,
            program: CommandSettings { json: true, tool: Some(Ok("{}".into())) },
            place: "under [plugins.a]".into(),
            command: "wharf grant a".into(),
            ..Grants::default()
        }
    }

    #[test]
    fn grants_of_http_are_read_as_they_were_kept() {
        for url in ["http://127.0.0.1:8080", "https://[::1]:8443/a/b", "https://api.example.org/", "http://localhost"] {
            let grant = HttpGrant::new(url).expect("a URL");
            assert_eq!(HttpGrant::read(&grant.keep()), Some(grant), "{url}");
        }
    }

    #[test]
    fn settings_are_read_as_they_were_kept() {
        let mut all = grants();
        let extra = |name: &str| Extra {
            name: name.into(),
            when: Condition::default(),
            grants: Grants { program: CommandSettings { json: false, tool: Some(Err("no".into())) }, ..grants() },
            limits: ExtraLimits::default(),
        };
        all.extras = Extras::new(vec![extra("a"), extra("b")], Implications::default());
        assert_eq!(Grants::read(&all.keep()).as_ref(), Some(&all));
        assert_eq!(Grants::read(&Grants::default().keep()), Some(Grants::default()));
        let limits = Limits { isolation: Isolation::Process, memory: 1, ..Limits::default() };
        assert_eq!(Limits::read(&limits.keep()), Some(limits));
        // What crosses is a text.
        let text = all.keep().to_string();
        assert_eq!(Grants::read(&crate::json::tree(&text, crate::json::MAX_DEPTH).expect("JSON")), Some(all));
    }
}
