use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::catalog::{Catalog, Member, Naming};
use crate::plugin::abi::{
    Completion, GuestError, Prompt, PromptArgument, PromptOutcome, ReadOutcome, Subject, ToolOutcome,
};
use crate::plugin::{Call, CallError, Digest, Fault, PluginId, Provider, Surface};
use crate::server::{Server, Settings};

/// A plugin with one prompt, `p`, whose argument `a` is completed by what was asked.
struct Prompting {
    id: PluginId,
    digest: Digest,
    surface: Surface,
}

fn prompting(id: &str, completions: bool) -> Member {
    let argument = PromptArgument { name: "a".into(), title: None, description: None, required: false };
    let prompt = Prompt {
        name: "p".into(),
        title: None,
        description: None,
        arguments: vec![argument],
        icons: Vec::new(),
        meta: None,
    };
    let surface = Surface { prompts: Some(vec![prompt]), completions, ..Surface::default() };
    let id = PluginId::parse(id).expect("an id");
    Member {
        provider: Arc::new(Prompting { id, digest: Digest::of(b""), surface }),
        naming: Naming::Prefixed,
        surface: None,
    }
}

#[async_trait]
impl Provider for Prompting {
    fn id(&self) -> &PluginId {
        &self.id
    }
    fn digest(&self) -> &Digest {
        &self.digest
    }
    fn surface(&self) -> &Surface {
        &self.surface
    }
    async fn call_tool(&self, _: &str, _: Arc<str>, _: Call) -> Result<ToolOutcome, CallError> {
        Err(CallError::Guest(GuestError::NotFound))
    }
    async fn read_resource(&self, _: &str, _: Call) -> Result<ReadOutcome, CallError> {
        Err(CallError::Guest(GuestError::NotFound))
    }
    async fn get_prompt(&self, _: &str, _: Vec<(String, String)>, _: Call) -> Result<PromptOutcome, CallError> {
        Err(CallError::Guest(GuestError::NotFound))
    }
    async fn complete(
        &self,
        subject: Subject,
        name: &str,
        value: &str,
        given: Vec<(String, String)>,
        call: Call,
    ) -> Result<Completion, CallError> {
        assert!(self.surface.completions, "asked though it has no completions");
        match value {
            "crash" => Err(CallError::Fault(Fault::Trap)),
            "fail" => Err(CallError::Guest(GuestError::Failed("no luck".into()))),
            _ => {
                let asked = format!("{subject:?} {name}={value} {given:?} {}", call.meta.unwrap_or_default());
                Ok(Completion { values: vec![asked], total: None, has_more: false })
            }
        }
    }
}

async fn answer(catalog: &Arc<Catalog>, prompt: &str, value: &str) -> Value {
    let (outbox, mut messages) = mpsc::channel(1);
    let connection = Server::new(catalog.clone(), Settings::default()).connect(outbox, "local");
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
async fn a_plugin_is_asked_for_its_own_if_it_has_completions() {
    let catalog = Arc::new(Catalog::default());
    catalog.set_ready();
    catalog.put(prompting("without", false));
    let none = answer(&catalog, "without_p", "v").await;
    assert_eq!(none["error"]["code"], -32601, "{none}");
    catalog.put(prompting("with", true));
    let empty = answer(&catalog, "without_p", "v").await;
    assert_eq!(empty["result"]["completion"], json!({"values": [], "hasMore": false}), "{empty}");
    let asked = answer(&catalog, "with_p", "v").await;
    assert_eq!(asked["result"]["completion"]["values"], json!([r#"Subject::Prompt("p") a=v [("b", "c")] {"x":1}"#]));
}

#[tokio::test]
async fn its_failure_names_it() {
    let catalog = Arc::new(Catalog::default());
    catalog.set_ready();
    catalog.put(prompting("with", true));
    for (value, code) in [("crash", "trap"), ("fail", "failed")] {
        let error = &answer(&catalog, "with_p", value).await["error"];
        assert_eq!((&error["code"], &error["data"]["code"]), (&json!(-32603), &json!(code)), "{error}");
        assert_eq!(error["data"]["plugin"], "with");
    }
}
