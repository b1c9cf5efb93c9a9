use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::catalog::Catalog;
use crate::identity::Identity;
use crate::plugin::abi::{Completion, GuestError};
use crate::plugin::{CallError, Fault, TrapKind};
use crate::server::tests::double::Double;
use crate::server::{Server, Settings};

/// A plugin that completes a prompt's argument with a description of the request.
fn completing() -> Double {
    Double::new("with").prompt().completes(|requested, value, call| match &*value {
        "crash" => Err(CallError::Fault(Fault::Trap(TrapKind::Unreachable))),
        "fail" => Err(CallError::Guest(GuestError::Failed("no luck".into()))),
        _ => {
            let requested = format!("{requested} {}", call.meta.unwrap_or_default());
            Ok(Completion { values: vec![requested], total: None, has_more: false })
        }
    })
}

async fn answer(catalog: &Arc<Catalog>, prompt: &str, value: &str) -> Value {
    let (outbox, mut messages) = mpsc::channel(1);
    let connection = Server::new(catalog.clone(), Settings::default()).connect(outbox, &Arc::new(Identity::local()));
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": "completion/complete", "params": {
        "ref": {"type": "ref/prompt", "name": prompt},
        "argument": {"name": "a", "value": value},
        "context": {"arguments": {"b": "c"}},
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
            "x": 1,
        },
    }});
    connection.receive(request.to_string().as_bytes()).await;
    serde_json::from_str(&messages.recv().await.expect("an answer").text).expect("JSON")
}

#[tokio::test]
async fn completions_come_from_the_plugin_of_the_reference() {
    let catalog = Arc::new(Catalog::default());
    catalog.set_ready();
    catalog.put(Double::new("without").prompt().member());
    let none = answer(&catalog, "without_p", "v").await;
    assert_eq!(none["error"]["code"], -32601, "{none}");
    catalog.put(completing().member());
    let empty = answer(&catalog, "without_p", "v").await;
    assert_eq!(empty["result"]["completion"], json!({"values": [], "hasMore": false}), "{empty}");
    let requested = answer(&catalog, "with_p", "v").await;
    assert_eq!(
        requested["result"]["completion"]["values"],
        json!([r#"Subject::Prompt("p") a=v [("b", "c")] {"x":1}"#])
    );
}

#[tokio::test]
async fn a_failure_names_the_plugin() {
    let catalog = Arc::new(Catalog::default());
    catalog.set_ready();
    catalog.put(completing().member());
    for (value, code) in [("crash", "trap"), ("fail", "failed")] {
        let error = &answer(&catalog, "with_p", value).await["error"];
        assert_eq!((&error["code"], &error["data"]["code"]), (&json!(-32603), &json!(code)), "{error}");
        assert_eq!(error["data"]["plugin"], "with");
    }
}
