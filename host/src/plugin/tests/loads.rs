//! Which files load as plugins, and the errors of others.

use std::time::{Duration, Instant};

use super::*;
use crate::plugin::component::kind::Kind;

#[tokio::test]
async fn bytes_that_are_not_a_component() {
    for (bytes, reason) in [
        (b"".to_vec(), LoadError::Empty),
        (b"(component)".to_vec(), LoadError::Text),
        (b"<!doctype html>".to_vec(), LoadError::Html),
        (b"\0asm\x01\0\0\0".to_vec(), LoadError::CoreModule { hint: Kind::Module.advice().expect("a hint") }),
        (b"\0asm\x63\0\x01\0".to_vec(), LoadError::UnknownVersion),
        (b"\x7fELF\x02\x01".to_vec(), LoadError::Precompiled),
        (vec![0xff, 0xfe, 1, 2, 3], LoadError::NotWasm),
    ] {
        assert_eq!(refusal(load(bytes).await), reason);
    }
    let whole = Guest::new("unreachable").build();
    for cut in [9, whole.len() / 2, whole.len() - 1] {
        let refused = refusal(load(whole[..cut].to_vec()).await);
        assert!(matches!(refused, LoadError::Invalid(_)), "{cut}: {refused}");
    }
}

#[tokio::test]
async fn components_that_are_not_plugins() {
    let component = |text: &str| wat::parse_str(text).expect("valid WAT");
    let empty = refusal(load(component("(component)")).await);
    assert!(matches!(&empty, LoadError::NoInterface { exports, .. } if exports == "nothing"), "{empty}");
    let evil = r#"(component (import "evil:host/exec@1.0.0" (instance (export "run" (func)))))"#;
    let evil = refusal(load(component(evil)).await);
    assert_eq!(evil, LoadError::UnknownImport("evil:host/exec@1.0.0".into()));
    // A draft is compatible only with itself.
    let later = r#"(component (import "wasi:keyvalue/store@0.2.0-draft2" (instance (export "open" (func)))))"#;
    let later = refusal(load(component(later)).await);
    assert_eq!(later, LoadError::UnknownImport("wasi:keyvalue/store@0.2.0-draft2".into()));
    let wrong = r#"(component (import "wharf:plugin/host@0.1.0" (instance (export "cancelled" (func)))))"#;
    let wrong = refusal(load(component(wrong)).await);
    assert!(matches!(wrong, LoadError::WrongImport(_)), "{wrong}");
    let hollow = r#"(component (instance $i) (export "wharf:plugin/tools@0.1.0" (instance $i)))"#;
    let hollow = refusal(load(component(hollow)).await);
    assert_eq!(hollow, LoadError::MissingFunction("wharf:plugin/tools@0.1.0.list-tools".into()));
    let typed = r#"(component
        (core module $m (func (export "f")))
        (core instance $m (instantiate $m))
        (func $f (canon lift (core func $m "f")))
        (instance $i (export "list-tools" (func $f)))
        (export "wharf:plugin/tools@0.1.0" (instance $i)))"#;
    let typed = refusal(load(component(typed)).await);
    assert_eq!(typed, LoadError::WrongType("wharf:plugin/tools@0.1.0.list-tools".into()));
    let greedy = "(component (core module (memory 65536)))";
    let greedy = refusal(load(component(greedy)).await);
    assert!(matches!(greedy, LoadError::DeclaredMemory { .. }), "{greedy}");
}

/// Seen by its hint; a body that the compiler refuses shows that it was not compiled.
#[tokio::test]
async fn components_for_other_hosts_are_refused_before_they_are_compiled() {
    let export = "wasmcp:protocol/tools@0.1.0-beta.2";
    let text =
        format!(r#"(component (core module (func (result i32))) (instance $i) (export "{export}" (instance $i)))"#);
    let refused = refusal(load(wat::parse_str(text).expect("valid WAT")).await);
    assert!(matches!(&refused, LoadError::NoInterface { exports, .. } if exports == export), "{refused}");
    let hint = "wasmcp:mcp-v20251125@0.1.1";
    assert!(refused.hint().is_some_and(|found| found.contains(hint)), "{:?}", refused.hint());
}

/// Of a later version than those that are served.
#[tokio::test]
async fn other_versions_of_act_are_refused_with_those_that_are_served() {
    let export = "act:tools/tool-provider@0.9.0";
    let text = format!(r#"(component (instance $i) (export "{export}" (instance $i)))"#);
    let refused = refusal(load(wat::parse_str(text).expect("valid WAT")).await);
    assert!(matches!(&refused, LoadError::NoInterface { exports, .. } if exports == export), "{refused}");
    assert!(refused.hint().is_some_and(|hint| hint.contains("act:tools@0.1 or 0.2")), "{:?}", refused.hint());
}

#[tokio::test]
async fn listings_that_hang_or_crash_refuse_the_plugin() {
    let start = Instant::now();
    let mut spin = Guest::new("unreachable");
    spin.list = Some("(loop $l (br $l)) unreachable".into());
    assert_eq!(refusal(load(spin.build()).await), LoadError::ListingTimeout);

    let mut start_spins = Guest::new("unreachable");
    start_spins.fields = "(func $s (loop $l (br $l))) (start $s)".into();
    assert_eq!(refusal(load(start_spins.build()).await), LoadError::ListingTimeout);
    assert!(start.elapsed() < Duration::from_secs(20));

    let mut trap = Guest::new("unreachable");
    trap.list = Some("unreachable".into());
    assert_eq!(refusal(load(trap.build()).await), LoadError::ListingTrap(TrapKind::Unreachable));
}

#[tokio::test]
async fn invalid_tools_are_dropped_and_others_served() {
    let any = r#"{"type":"object"}"#;
    let mut guest = Guest::bare("unreachable");
    guest.tool("good", Some("Fine.\nTwo lines."), any, None);
    guest.tool("good", Some("A second one of that name."), any, None);
    guest.tool("a b", None, any, None);
    guest.tool("poison", Some("Safe\u{202e}txt"), any, None);
    guest.tool("escape", None, r#"{"type":"object","title":"\u001b[2J"}"#, None);
    guest.tool("list", None, r#"{"type":"array"}"#, None);
    guest.tool("typeless", None, "{}", None);
    guest.tool("broken", None, "{", None);
    guest.tool("remote", None, r#"{"type":"object","properties":{"a":{"$ref":"http://x/"}}}"#, None);
    guest.tool("last", None, "{\n  \"type\": \"object\"\n}", Some(r#"{"type":"object"}"#));
    let plugin = load(guest.build()).await.expect("a plugin");
    let tools = plugin.surface().tools.as_ref().expect("tools");
    let names: Vec<_> = tools.iter().map(|tool| tool.tool.name.as_str()).collect();
    assert_eq!(names, ["good", "last"]);
    assert_eq!(tools[0].tool.description.as_deref(), Some("Fine.\nTwo lines."));
    assert_eq!(tools[1].tool.input_schema, r#"{"type":"object","properties":{}}"#);
    assert_eq!(tools[1].tool.description.as_deref(), Some("last()"));
    assert_eq!(plugin.warnings().len(), 8, "{:#?}", plugin.warnings());
    assert!(plugin.surface().resources.is_none());

    let mut many = Guest::bare("unreachable");
    (0..129).for_each(|n| many.tool(&format!("t{n}"), None, any, None));
    assert!(matches!(refusal(load(many.build()).await), LoadError::ListingTooLarge { .. }));
    let mut long = Guest::bare("unreachable");
    long.tool("t", Some(&"x".repeat(300 << 10)), any, None);
    assert!(matches!(refusal(load(long.build()).await), LoadError::ListingTooLarge { .. }));
}

#[tokio::test]
async fn a_module_with_two_memories_is_refused() {
    for module in ["(memory 1) (memory 1)", r#"(import "a" "m" (memory 1)) (memory 1)"#] {
        let component = wat::parse_str(format!("(component (core module {module}))")).expect("valid WAT");
        let refused = refusal(load(component).await);
        assert_eq!(refused, LoadError::TooMany { what: "memories in one core module", limit: 1 });
    }
}

#[tokio::test]
async fn limits_of_the_instance_pool_are_reported_as_limits() {
    let many = |module: &str, count: usize| {
        format!("(core module $m {module}) {}", "(core instance (instantiate $m))".repeat(count))
    };
    for (text, what, limit) in [
        (many("", 65), "core module instances", 64),
        (many("(memory 1)", 5), "memories", 4),
        (many("(table 1 funcref)", 9), "tables", 8),
        (many(&"(table 1 funcref)".repeat(3), 1), "tables in one core module", 2),
        (many("(table 20001 funcref)", 1), "elements in one table", 20_000),
        // Each by itself is within the limit. They have start functions, so they are not linked.
        (
            many(&format!("{} (func $f) (start $f)", "(global i64 (i64.const 0))".repeat(10_000)), 8),
            "bytes for the state of one instance",
            1 << 20,
        ),
        ("(core module)".repeat(65), "core modules", 64),
    ] {
        let component = wat::parse_str(format!("(component {text})")).expect("valid WAT");
        let refused = refusal(load(component).await);
        assert_eq!(refused, LoadError::TooMany { what, limit });
        assert!(refused.hint().is_some_and(|hint| hint.contains("limit of Wharf")), "{refused}");
    }
}

#[tokio::test]
async fn sixty_four_core_modules_and_instances_load() {
    let modules: String = (0..63).map(|n| format!("(core module $m{n}) (core instance (instantiate $m{n}))")).collect();
    let text = format!(
        r#"(component {modules}
            (core module $m (func (export "run")))
            (core instance $i (instantiate $m))
            (func (export "run") (canon lift (core func $i "run"))))"#
    );
    let plugin = load(wat::parse_str(text).expect("valid WAT")).await.expect("a plugin");
    plugin.call_tool("run", "{}".into(), Call::new("test")).await.expect("an outcome");
}

/// As the JavaScript toolchain builds them: a component in a component, with strings copied from
/// one memory to the other.
#[tokio::test]
async fn nested_components_with_memories_of_their_own_load() {
    let nested = r#"(component
        (component $inner
            (core module $m
                (memory (export "memory") 1)
                (func (export "realloc") (param i32 i32 i32 i32) (result i32) i32.const 0)
                (func (export "take") (param i32 i32)))
            (core instance $i (instantiate $m))
            (func (export "take") (param "text" string)
                (canon lift (core func $i "take") (memory (core memory $i "memory")) (realloc (core func $i "realloc")))))
        (component $outer
            (import "take" (func $take (param "text" string)))
            (core module $libc
                (memory (export "memory") 1)
                (func (export "realloc") (param i32 i32 i32 i32) (result i32) i32.const 0))
            (core instance $libc (instantiate $libc))
            (core func $lowered (canon lower (func $take) (memory (core memory $libc "memory")) (realloc (core func $libc "realloc"))))
            (core module $m (import "" "take" (func (param i32 i32))) (func (export "run")))
            (core instance $i (instantiate $m (with "" (instance (export "take" (func $lowered))))))
            (func (export "run") (canon lift (core func $i "run"))))
        (instance $inner (instantiate $inner))
        (instance $outer (instantiate $outer (with "take" (func $inner "take"))))
        (export "run" (func $outer "run")))"#;
    let plugin = load(wat::parse_str(nested).expect("valid WAT")).await.expect("a plugin");
    plugin.call_tool("run", "{}".into(), Call::new("test")).await.expect("an outcome");
}
