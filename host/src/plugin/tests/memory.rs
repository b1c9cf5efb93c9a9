//! What plugins take: of what copies share, no second.

use super::*;
use crate::plugin::abi::ToolOutcome;

async fn load(sandbox: &Arc<Sandbox>, component: &[u8]) -> Plugin {
    sandbox.load(id(), component.to_vec(), Limits::default(), Grants::default()).await.expect("a plugin")
}

async fn call(plugin: &Plugin) {
    let outcome = plugin.call_tool("t", "{}", Call::new("test")).await;
    assert!(matches!(outcome, Ok(ToolOutcome::Complete(_))), "{outcome:?}");
}

fn guest() -> Vec<u8> {
    let mut guest = Guest::new("(i32.const 1024)");
    guest.fields = String::new();
    guest.build()
}

#[tokio::test]
async fn copies_are_linked_once_while_one_is_there() {
    let sandbox = Sandbox::new(SandboxSettings::default()).expect("a sandbox");
    let component = guest();
    let (one, other) = tokio::join!(load(&sandbox, &component), load(&sandbox, &component));
    assert!(Arc::ptr_eq(&one.program.linked, &other.program.linked));
    let mut different = component.clone();
    // A custom section without a name and content.
    different.extend([0, 1, 0]);
    let different = load(&sandbox, &different).await;
    assert!(!Arc::ptr_eq(&one.program.linked, &different.program.linked));
    let linked = Arc::downgrade(&one.program.linked);
    drop(one);
    call(&other).await;
    drop(other);
    assert!(linked.upgrade().is_none());
    call(&load(&sandbox, &component).await).await;
}

#[tokio::test]
async fn copies_have_limits_of_their_own() {
    let sandbox = Sandbox::new(SandboxSettings::default()).expect("a sandbox");
    let component = guest();
    let _first = load(&sandbox, &component).await;
    let limits = Limits { memory: 1 << 10, ..Limits::default() };
    let refused = refusal(sandbox.load(id(), component, limits, Grants::default()).await);
    assert!(matches!(refused, LoadError::DeclaredMemory { .. }), "{refused}");
}
