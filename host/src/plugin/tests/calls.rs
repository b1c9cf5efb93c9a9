//! How calls end: with an outcome, or with a fault that has a code.

use std::time::{Duration, Instant};

use super::*;
use crate::plugin::abi::{GuestError, ToolOutcome, ToolResult};

async fn call(guest: &Guest, limits: Limits) -> Result<ToolOutcome, CallError> {
    let plugin = load_with(guest.build(), limits).await.expect("a plugin");
    plugin.call_tool("t", "{}".into(), Call::new("test")).await
}

async fn fault(guest: &Guest, limits: Limits) -> Fault {
    match call(guest, limits).await {
        Err(CallError::Fault(fault)) => fault,
        other => panic!("no fault: {other:?}"),
    }
}

fn complete(outcome: Result<ToolOutcome, CallError>) -> ToolResult {
    match outcome {
        Ok(ToolOutcome::Complete(result)) => result,
        other => panic!("not complete: {other:?}"),
    }
}

const SPIN: &str = "(loop $l (br $l)) unreachable";

fn short(timeout_ms: u64, cpu_ms: u64) -> Limits {
    Limits { timeout: Duration::from_millis(timeout_ms), cpu: Duration::from_millis(cpu_ms), ..Limits::default() }
}

#[tokio::test]
async fn a_valid_outcome_is_returned() {
    let mut guest = Guest::new("(i32.const 1024)");
    let empty = complete(call(&guest, Limits::default()).await);
    assert!(empty.content.is_empty() && empty.structured.is_none() && !empty.is_error);
    guest.structured(r#"{"n":12345678901234567890.10}"#);
    let result = complete(call(&guest, Limits::default()).await);
    assert_eq!(result.structured.as_deref(), Some(r#"{"n":12345678901234567890.10}"#));
}

#[tokio::test]
async fn guest_errors_are_returned_and_unknown_tools_do_not_run() {
    let not_found = Guest::new("(i32.store8 (i32.const 1024) (i32.const 1)) (i32.const 1024)");
    let plugin = load(not_found.build()).await.expect("a plugin");
    let outcome = plugin.call_tool("t", "{}".into(), Call::new("test")).await;
    assert_eq!(outcome.err(), Some(CallError::Guest(GuestError::NotFound)));
    let spins = load(Guest::new(SPIN).build()).await.expect("a plugin");
    let unknown = spins.call_tool("other", "{}".into(), Call::new("test")).await;
    assert_eq!(unknown.err(), Some(CallError::Guest(GuestError::NotFound)));
}

#[tokio::test]
async fn wall_time_and_cpu_time_are_limited() {
    let start = Instant::now();
    let timeout = fault(&Guest::new(SPIN), short(200, 60_000)).await;
    assert_eq!(timeout, Fault::Timeout { limit: Duration::from_millis(200), of_task: false });
    assert_eq!(
        timeout.sentence(&id()),
        "Plugin 'guest' was stopped: it exceeded its time limit of 200 ms (`limits.timeout`)."
    );
    let cpu = fault(&Guest::new(SPIN), short(60_000, 100)).await;
    assert_eq!(cpu, Fault::Cpu { limit: Duration::from_millis(100), of_task: false });
    assert!(start.elapsed() < Duration::from_secs(30));
}

#[tokio::test]
async fn crashes_and_memory_limits_are_distinguished() {
    for (body, kind) in [
        ("unreachable", TrapKind::Unreachable),
        ("(i32.load (i32.const -4))", TrapKind::MemoryOutOfBounds),
        ("(i32.div_u (i32.const 1) (i32.const 0))", TrapKind::DivisionByZero),
        (
            "(call 1 (local.get 0) (local.get 1) (local.get 2) (local.get 3) (local.get 4)
             (local.get 5) (local.get 6) (local.get 7) (local.get 8) (local.get 9) (local.get 10)
             (local.get 11) (local.get 12) (local.get 13) (local.get 14) (local.get 15))",
            TrapKind::StackExhausted,
        ),
    ] {
        let body = body.replace("(call 1 ", "(call $again ");
        let mut guest = Guest::new(&body);
        if body.contains("$again") {
            guest.call = "(call $again) unreachable".into();
            guest.fields = "(func $again (call $again))".into();
        }
        assert_eq!(fault(&guest, Limits::default()).await, Fault::Trap(kind), "{body}");
    }
    let bomb = "(loop $l (br_if $l (i32.ne (memory.grow (i32.const 16)) (i32.const -1)))) unreachable";
    let memory = fault(&Guest::new(bomb), Limits::default()).await;
    assert_eq!(memory, Fault::Memory { limit: 64 << 20 });
    assert_eq!(memory.code(), "memory");
}

#[tokio::test]
async fn memory_that_other_calls_use_is_not_blamed_on_the_plugin() {
    let bomb = "(loop $l (br_if $l (i32.ne (memory.grow (i32.const 16)) (i32.const -1)))) unreachable";
    let sandbox =
        Sandbox::new(SandboxSettings { memory_budget: 8 << 20, ..SandboxSettings::default() }).expect("a sandbox");
    let load = |limits| sandbox.load(id(), Guest::new(bomb).build(), limits, Grants::default());
    let fault = async |limits: Limits| {
        let plugin = load(limits).await.expect("a plugin");
        plugin.call_tool("t", "{}".into(), Call::new("test")).await.err()
    };
    let shared = fault(Limits::default()).await;
    assert_eq!(shared, Some(Fault::SharedMemory.into()));
    let own = fault(Limits { memory: 4 << 20, ..Limits::default() }).await;
    assert_eq!(own, Some(Fault::Memory { limit: 4 << 20 }.into()));
    let (code, sentence) = (Fault::SharedMemory.code(), Fault::SharedMemory.sentence(&id()));
    assert_eq!(code, "busy");
    assert!(sentence.contains("all running calls together") && !sentence.contains("limits.memory"), "{sentence}");
}

#[tokio::test]
async fn line_breaks_and_invalid_json_do_not_leave_the_sandbox() {
    let mut guest = Guest::new("");
    guest.structured("[1,\n{\"jsonrpc\":\"2.0\",\"id\":8,\"result\":{}}\n,2]");
    let result = complete(call(&guest, Limits::default()).await);
    assert_eq!(result.structured.as_deref(), Some(r#"[1,{"jsonrpc":"2.0","id":8,"result":{}},2]"#));
    let deep = "[".repeat(100_000) + &"]".repeat(100_000);
    for json in ["{", "\"\\ud800\"", deep.as_str(), "{\"a\":\"\n\"}"] {
        let mut guest = Guest::new("");
        guest.structured(json);
        let bad = fault(&guest, Limits::default()).await;
        assert_eq!(bad.code(), "bad-output", "{bad:?}");
    }
}

#[tokio::test]
async fn results_must_match_the_output_schema() {
    let schema = r#"{"type":"object","properties":{"sum":{"type":"integer"}},"required":["sum"]}"#;
    for (json, good) in [(r#"{"sum":3}"#, true), (r#"{"sum":"3"}"#, false), ("[]", false)] {
        let mut guest = Guest::bare("");
        guest.tool("t", None, r#"{"type":"object"}"#, Some(schema));
        guest.structured(json);
        let outcome = call(&guest, Limits::default()).await;
        match outcome {
            Ok(_) => assert!(good, "{json}"),
            Err(CallError::Fault(Fault::BadOutput(why))) => assert!(!good, "{why}"),
            Err(other) => panic!("{json}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn output_is_limited_before_it_is_copied() {
    let mut guest = Guest::new("");
    guest.call = "(drop (memory.grow (i32.const 200)))
        (memory.fill (i32.const 65536) (i32.const 0x31) (i32.const 12000000))
        (i32.store8 (i32.const 1040) (i32.const 1))
        (i32.store (i32.const 1044) (i32.const 65536))
        (i32.store (i32.const 1048) (i32.const 12000000))
        (i32.const 1024)"
        .into();
    let limit = 4 << 20;
    assert_eq!(fault(&guest, Limits::default()).await, Fault::OutputTooLarge { limit });
    let mut small = Guest::new("");
    small.structured(&format!("\"{}\"", "x".repeat(2000)));
    let tight = Limits { output: 1000, ..Limits::default() };
    assert_eq!(fault(&small, tight).await, Fault::OutputTooLarge { limit: 1000 });
}

/// wasmtime's error for a result that is too large has a private type, so it is recognized by
/// excluding all others. One of each kind, to notice an upgrade that changes one.
#[tokio::test]
async fn a_result_that_violates_the_abi_is_bad_output() {
    let text = |address: u32, length: u32| {
        format!(
            "(i32.store8 (i32.const 1040) (i32.const 1))
             (i32.store (i32.const 1044) (i32.const {address}))
             (i32.store (i32.const 1048) (i32.const {length}))
             (i32.const 1024)"
        )
    };
    let list = |address: u32, length: u32| {
        format!(
            "(i32.store (i32.const 1032) (i32.const {address}))
             (i32.store (i32.const 1036) (i32.const {length}))
             (i32.const 1024)"
        )
    };
    for (what, body) in [
        ("a text that ends beyond the memory", text(0x7fff_ffff, 100)),
        ("a text that is not Unicode", format!("(i32.store8 (i32.const 3000) (i32.const 0xff)) {}", text(3000, 1))),
        ("a list beyond the memory", list(0x7fff_fff0, 1)),
        ("a list that is not aligned", list(3001, 1)),
        (
            "an outcome with an unknown discriminant",
            "(i32.store8 (i32.const 1024) (i32.const 9)) (i32.const 1024)".into(),
        ),
        ("a result beyond the memory", "(i32.const 0x7ffffff8)".into()),
        ("a result that is not aligned", "(i32.const 1025)".into()),
    ] {
        let outcome = fault(&Guest::new(&body), Limits::default()).await;
        assert!(matches!(outcome, Fault::BadOutput(_)), "{what}: {outcome:?}");
    }
    // A list that exceeds the limit by its length alone, and a large text.
    let limit = Limits::default().output;
    let outcome = fault(&Guest::new(&list(4096, 0x0fff_ffff)), Limits::default()).await;
    assert!(matches!(outcome, Fault::BadOutput(_) | Fault::OutputTooLarge { .. }), "{outcome:?}");
    let large = format!("(drop (memory.grow (i32.const 200))) {}", text(65536, 5 << 20));
    assert_eq!(fault(&Guest::new(&large), Limits::default()).await, Fault::OutputTooLarge { limit });
}

#[tokio::test]
async fn a_full_pool_is_busy_and_not_the_guests_fault() {
    let sandbox = Sandbox::new(SandboxSettings::default()).expect("a sandbox");
    let guest = Guest::new("(i32.const 1024)").build();
    let plugin = sandbox.load(id(), guest, Limits::default(), Grants::default()).await.expect("a plugin");
    let mut held = Vec::new();
    while let Some(instance) = plugin.prepared.prepare().await {
        held.push(instance);
        assert!(held.len() < 1000, "the pool is not limited");
    }
    let extra = crate::plugin::instance::ready::MAX_EXTRA_INSTANCES + TaskLimits::MAX_CONCURRENCY;
    assert_eq!(held.len(), (crate::plugin::component::engine::SLOTS + extra) as usize);
    let called = plugin.call_tool("t", "{}".into(), Call::new("test")).await;
    assert_eq!(called.err(), Some(CallError::Fault(Fault::Busy)));
    held.pop();
    complete(plugin.call_tool("t", "{}".into(), Call::new("test")).await);
}

/// One caller's calls run until their timeout; another caller is still served.
#[tokio::test]
async fn one_caller_cannot_take_all_permits() {
    let settings = SandboxSettings { shared: true, ..SandboxSettings::default() };
    let sandbox = Sandbox::new(settings).expect("a sandbox");
    // Spins, depending on the length of its arguments.
    let body = format!("(if (i32.gt_u (local.get 3) (i32.const 2)) (then {SPIN})) (i32.const 1024)");
    let guest = Guest::new(&body).build();
    let limits = Limits { queue: 8, ..short(30_000, 30_000) };
    let plugin = Arc::new(sandbox.load(id(), guest, limits, Grants::default()).await.expect("a plugin"));
    let call = |caller: &str| Call { caller: caller.into(), ..Call::new("test") };
    let alices: Vec<_> = (0..40)
        .map(|_| {
            let (plugin, call) = (plugin.clone(), call("alice"));
            tokio::spawn(async move { plugin.call_tool("t", r#"{"a":1}"#.into(), call).await })
        })
        .collect();
    while plugin.prepared.waiting() < 8 || alices.iter().filter(|call| call.is_finished()).count() < 29 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert_eq!(plugin.prepared.free_permits(), 1);
    for _ in 0..10 {
        complete(plugin.call_tool("t", "{}".into(), call("bob")).await);
    }
    alices.iter().for_each(|call| call.abort());
}

#[tokio::test]
async fn every_call_has_its_own_instance() {
    // Returns `not found` from its second call on, if an instance is called twice.
    let mut guest = Guest::new(
        "(i32.store8 (i32.const 1024) (i32.load8_u (i32.const 2048)))
         (i32.store8 (i32.const 2048) (i32.const 1))
         (i32.const 1024)",
    );
    guest.fields = String::new();
    let plugin = load(guest.build()).await.expect("a plugin");
    for _ in 0..3 {
        complete(plugin.call_tool("t", "{}".into(), Call::new("test")).await);
    }
}

#[tokio::test]
async fn a_spinning_guest_blocks_no_other_plugin_and_stops_when_dropped() {
    let limits = Limits { concurrency: 1, queue: 1, ..short(30_000, 30_000) };
    let spinner = Arc::new(load_with(Guest::new(SPIN).build(), limits).await.expect("a plugin"));
    let inline = load(Guest::new("(i32.const 1024)").build()).await.expect("a plugin");
    let spin = || {
        let spinner = spinner.clone();
        tokio::spawn(async move { spinner.call_tool("t", "{}".into(), Call::new("test")).await })
    };
    let first = spin();
    while spinner.prepared.free_permits() > 0 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let second = spin();
    while spinner.prepared.waiting() == 0 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let third = spinner.call_tool("t", "{}".into(), Call::new("test")).await;
    assert_eq!(third.err(), Some(CallError::Fault(Fault::Busy)));
    complete(inline.call_tool("t", "{}".into(), Call::new("test")).await);
    second.abort();
    first.abort();
    assert!(second.await.is_err() && first.await.is_err());
    let deadline = Instant::now() + Duration::from_secs(10);
    while spinner.prepared.free_permits() == 0 || spinner.prepared.waiting() > 0 {
        assert!(Instant::now() < deadline, "the guest still spins");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

#[tokio::test]
async fn the_memory_budget_is_released() {
    let sandbox = Sandbox::new(SandboxSettings::default()).expect("a sandbox");
    let guest = Guest::new("unreachable").build();
    let plugin = sandbox.load(id(), guest, Limits::default(), Grants::default()).await.expect("a plugin");
    for _ in 0..10 {
        let _ = plugin.call_tool("t", "{}".into(), Call::new("test")).await;
    }
    assert_eq!(sandbox.runtime.memory.taken(), 0);
}
