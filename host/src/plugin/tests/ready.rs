use std::time::{Duration, Instant};

use super::abi::ToolOutcome;
use super::*;

/// Returns `not found` from its second call on, if an instance is called twice.
fn once() -> Vec<u8> {
    let mut guest = Guest::new(
        "(i32.store8 (i32.const 1024) (i32.load8_u (i32.const 2048)))
         (i32.store8 (i32.const 2048) (i32.const 1))
         (i32.const 1024)",
    );
    guest.fields = String::new();
    guest.build()
}

async fn plugin(sandbox: &Arc<Sandbox>) -> Plugin {
    sandbox.load(id(), once(), Limits::default(), Grants::default()).await.expect("a plugin")
}

async fn call(plugin: &Plugin) {
    let outcome = plugin.call_tool("t", "{}".into(), Call::new("test")).await;
    assert!(matches!(outcome, Ok(ToolOutcome::Complete(_))), "{outcome:?}");
}

/// Calls a plugin until there is an instance for its next call: if a thread is delayed for a tenth
/// of a second, the instance is dropped before this checks.
async fn make_ready(sandbox: &Arc<Sandbox>, plugin: &Plugin) {
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        plugin.prepared.make_eligible();
        call(plugin).await;
        sandbox.on_idle();
        if sandbox.runtime.ready.is_ready(&plugin.prepared) {
            return;
        }
        assert!(Instant::now() < deadline, "none is made");
    }
}

#[tokio::test]
async fn a_ready_instance_serves_one_call_of_its_plugin() {
    let sandbox = Sandbox::new(SandboxSettings::default()).expect("a sandbox");
    let (one, other) = (plugin(&sandbox).await, plugin(&sandbox).await);
    for plugin in [&one, &other, &one, &one, &other, &other] {
        make_ready(&sandbox, plugin).await;
        call(plugin).await;
        assert!(!sandbox.runtime.ready.is_ready(&plugin.prepared));
        call(plugin).await;
    }
    // With other limits it is another source, without a ready instance.
    sandbox.on_idle();
    let changed = one.granted(Limits { output: 1 << 10, ..Limits::default() }, Grants::default()).await;
    call(&changed.expect("a plugin")).await;
}

#[tokio::test]
async fn idle_instances_are_dropped() {
    let sandbox = Sandbox::new(SandboxSettings::default()).expect("a sandbox");
    let plugin = plugin(&sandbox).await;
    make_ready(&sandbox, &plugin).await;
    let deadline = Instant::now() + Duration::from_secs(10);
    while sandbox.runtime.memory.taken() > 0 {
        assert!(Instant::now() < deadline, "instances are kept");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert_eq!(sandbox.runtime.ready.count(), 0);
    drop(plugin);
    sandbox.on_idle();
    assert_eq!(sandbox.runtime.ready.count(), 0);
}

/// Also while another plugin's call sleeps, which keeps the ticker running.
#[tokio::test]
async fn idle_instances_are_dropped_while_another_plugin_runs() {
    let sandbox = Sandbox::new(SandboxSettings::default()).expect("a sandbox");
    let plugin = plugin(&sandbox).await;
    let _another_runs = sandbox.runtime.ticker.run();
    make_ready(&sandbox, &plugin).await;
    let deadline = Instant::now() + Duration::from_secs(10);
    while sandbox.runtime.ready.count() > 0 || sandbox.runtime.memory.taken() > 0 {
        assert!(Instant::now() < deadline, "an instance is kept");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    // And no other is made.
    sandbox.on_idle();
    assert_eq!(sandbox.runtime.ready.count(), 0);
    call(&plugin).await;
}

/// Each of many plugins that are called by turns has its own, up to a limit: the oldest has to go.
#[tokio::test]
async fn plugins_that_are_called_by_turns_have_one_each() {
    let sandbox = Sandbox::new(SandboxSettings::default()).expect("a sandbox");
    let first = plugin(&sandbox).await;
    let mut plugins = vec![];
    for _ in 0..30 {
        plugins.push(plugin(&sandbox).await);
    }
    let deadline = Instant::now() + Duration::from_secs(60);
    // If this takes a tenth of a second, some were dropped meanwhile.
    while sandbox.runtime.ready.count() < 24 {
        assert!(Instant::now() < deadline, "only {}", sandbox.runtime.ready.count());
        for plugin in std::iter::once(&first).chain(&plugins) {
            plugin.prepared.make_eligible();
            call(plugin).await;
            sandbox.on_idle();
            assert!(sandbox.runtime.ready.count() <= 24);
        }
    }
    assert!(!sandbox.runtime.ready.is_ready(&first.prepared));
    for plugin in &plugins {
        call(plugin).await;
    }
}
