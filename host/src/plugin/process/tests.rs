//! What a process may say and ask that is under a guest's control.

use std::sync::Arc;

use serde_json::{Value, json};

use super::asked;
use crate::identity::Identity;
use crate::plugin::id::PluginId;
use crate::plugin::imports::granted::Resources;
use crate::plugin::limits::{Isolation, Limits};
use crate::plugin::policy::extra::{Extra, ExtraLimits, Extras};
use crate::plugin::policy::grants::{Grants, KeyvalueGrant};
use crate::plugin::policy::secret::Secret;
use crate::plugin::sandbox::{Sandbox, SandboxSettings, WorkerProgram};
use crate::plugin::tape::kept::Kept;
use crate::rights::{Condition, Implications};

fn id() -> PluginId {
    PluginId::parse("p").expect("an id")
}

async fn answered(grants: &Grants, question: Value) -> Option<Value> {
    let callers = [Arc::new(Identity::token("ada"))];
    asked::answer(&Resources::for_tests(), &id(), grants, &callers, &question).await
}

#[tokio::test]
async fn only_what_is_granted_is_answered() {
    let get = |quota: u64, total: Option<u64>, subject: Option<&str>| json!({"keyvalue": "get", "with": "k", "bucket": "default", "subject": subject, "quota": quota, "total": total});
    let hash = |name: &str| blake3::hash(name.as_bytes()).to_hex().to_string();
    let (ada, bob) = (hash("ada"), hash("bob"));
    let none = Grants::default();
    assert_eq!(answered(&none, get(5, None, None)).await, None);
    let keyvalue = |quota, per_subject| Some(KeyvalueGrant { quota, per_subject });
    let shared = Grants { keyvalue: keyvalue(5, None), ..Grants::default() };
    assert_eq!(answered(&shared, get(5, None, None)).await, Some(json!({"ok": null})));
    let extra = Extra {
        name: "more".into(),
        when: Condition::default(),
        grants: Grants { keyvalue: keyvalue(9, Some(20)), ..Grants::default() },
        limits: ExtraLimits::default(),
    };
    let with_extra = Grants { extras: Extras::new(vec![extra], Implications::default()), ..shared.clone() };
    assert_eq!(answered(&with_extra, get(9, Some(20), Some(&ada))).await, Some(json!({"ok": null})));
    for refused in [get(6, None, None), get(5, Some(9), Some(&ada)), get(5, None, Some(&ada))] {
        assert_eq!(answered(&shared, refused.clone()).await, None, "{refused}");
    }
    let own = Grants { keyvalue: keyvalue(5, Some(20)), ..Grants::default() };
    for subject in [None, Some(""), Some("ada"), Some("../other"), Some(&*bob)] {
        assert_eq!(answered(&own, get(5, Some(20), subject)).await, None, "{subject:?}");
    }
    let mut long = get(5, None, None);
    long["bucket"] = "b".repeat(65).into();
    let mut unknown = get(5, None, None);
    unknown["keyvalue"] = "drop".into();
    for refused in [long, unknown, json!({}), json!(null), json!({"keyvalue": "get"})] {
        assert_eq!(answered(&shared, refused.clone()).await, None, "{refused}");
    }
}

#[tokio::test]
async fn only_secrets_of_callers_are_answered() {
    let secrets = vec![
        Secret::new("KNOWN".into(), true, Ok("value".into())),
        Secret::personal("OWN".into(), false),
        Secret::exchanged("TOKEN".into()),
    ];
    let grants = Grants { secrets, ..Grants::default() };
    for (name, is_exchanged, who, is_answered) in [
        ("OWN", false, "ada", true),
        ("TOKEN", true, "ada", true),
        ("OWN", false, "bob", false),
        ("OWN", true, "ada", false),
        ("TOKEN", false, "ada", false),
        ("KNOWN", false, "ada", false),
        ("OTHER", false, "ada", false),
    ] {
        let answer = answered(&grants, asked::secret_question(name, is_exchanged, who)).await;
        assert_eq!(answer.is_some(), is_answered, "{name} {is_exchanged} {who}");
        // This host has no secrets of users.
        let missing = asked::secret(answer.as_ref()).expect_err("no secret");
        assert_eq!(missing.temporary, !is_answered);
    }
}

/// A plugin whose process is that program of the shell.
#[cfg(unix)]
async fn refused(script: &str) -> String {
    let worker = WorkerProgram { program: "/bin/sh".into(), arguments: vec!["-c".into(), script.into()] };
    let sandbox = Sandbox::new(SandboxSettings { worker: Some(worker), ..SandboxSettings::default() });
    let component = "(component (core module $m (func (export \"f\") (result i32) i32.const 7))
        (core instance $i (instantiate $m))
        (func (export \"f\") (result u32) (canon lift (core func $i \"f\"))))";
    let component = wat::parse_str(component).expect("valid WAT");
    let limits = Limits { isolation: Isolation::Process, ..Limits::default() };
    let loaded = sandbox.expect("a sandbox").load(id(), component, limits, Grants::default()).await;
    loaded.err().expect("it is not loaded").to_string()
}

#[cfg(unix)]
#[tokio::test]
async fn what_is_no_worker_is_ended() {
    for script in [
        "exit 3",
        "echo hello; exec cat >/dev/null",
        r"printf '\377\377\377\377'; exec cat >/dev/null",
        r"printf '\005\000\000\000hello'; exec cat >/dev/null",
        r#"printf '\013\000\000\000{"ended":9}'; exec cat >/dev/null"#,
        r#"printf '\011\000\000\000{"ask":1}'; printf '\005\000\000\000hello'; exec cat >/dev/null"#,
    ] {
        let why = refused(script).await;
        assert!(why.contains("start the process of the plugin: it ended"), "{script}: {why}");
    }
    let sandbox = Sandbox::new(SandboxSettings::default()).expect("a sandbox");
    let limits = Limits { isolation: Isolation::Process, ..Limits::default() };
    let component = wat::parse_str("(component)").expect("valid WAT");
    let error = sandbox.load(id(), component, limits, Grants::default()).await.err().expect("it cannot be started");
    assert!(error.to_string().contains("does not know its program"), "{error}");
}

#[test]
fn what_a_process_keeps_of_a_call_is_bounded() {
    use crate::plugin::imports::granted::{Granted, Notes};

    let granted = Granted::new(id(), Grants::default(), &Resources::for_tests());
    let many = (0..100).map(|n| format!("http=https://{n}.example"));
    let bad = ["\u{1b}[2J".to_owned(), "x".repeat(5 << 10), "a\nb".to_owned()];
    let notes = Notes { missing: bad.into_iter().chain(many).collect(), ..Notes::default() };
    granted.add_notes(Notes::read(&notes.keep()).expect("notes"));
    let missing = granted.missing();
    assert_eq!(missing.len(), 32);
    assert!(missing.iter().all(|word| word.starts_with("http=")), "{missing:?}");
}
