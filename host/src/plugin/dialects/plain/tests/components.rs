//! Loads and calls components that only export functions, built from WAT.

use crate::plugin::abi::{Content, GuestError, ToolOutcome};
use crate::plugin::error::LoadError;
use crate::plugin::fault::{CallError, Fault, TrapKind};
use crate::plugin::limits::Limits;
use crate::plugin::loaded::Plugin;
use crate::plugin::provider::{Call, Provider};
use crate::plugin::tests::{load, load_with, refusal};

/// A component of one core module; `rest` uses its instance.
fn component(module: &str, rest: &str) -> Vec<u8> {
    let text = format!(
        r#"(component
            (core module $m (memory (export "memory") 2)
                (global $free (mut i32) (i32.const 4096))
                (func (export "realloc") (param i32 i32 i32 i32) (result i32)
                    (global.get $free)
                    (global.set $free (i32.add (global.get $free) (i32.and (i32.add (local.get 3) (i32.const 7)) (i32.const -8)))))
                {module})
            (core instance $i (instantiate $m))
            (alias core export $i "memory" (core memory $memory))
            (alias core export $i "realloc" (core func $realloc))
            {rest})"#
    );
    wat::parse_str(text).expect("a component")
}

/// Returns its parameter, a pointer and a length: a string, bytes or a list.
const SAME: &str = r#"(func (export "same") (param i32 i32) (result i32)
    (i32.store (i32.const 0) (local.get 0)) (i32.store (i32.const 4) (local.get 1)) (i32.const 0))"#;

fn same(kind: &str) -> Vec<u8> {
    component(
        SAME,
        &format!(
            r#"(func (export "same") (param "it" {kind}) (result {kind})
                (canon lift (core func $i "same") (memory $memory) (realloc $realloc)))"#
        ),
    )
}

async fn call(plugin: &Plugin, tool: &str, arguments: &str) -> Result<ToolOutcome, CallError> {
    plugin.call_tool(tool, arguments.into(), Call::new("test")).await
}

/// The structured content of a successful call.
async fn structured(plugin: &Plugin, tool: &str, arguments: &str) -> Option<String> {
    match call(plugin, tool, arguments).await {
        Ok(ToolOutcome::Complete(result)) if !result.is_error => result.structured,
        other => panic!("{tool} {arguments}: {other:?}"),
    }
}

#[tokio::test]
async fn values_round_trip() {
    for (kind, value) in [
        ("string", r#""Grüße, \"Welt\"\n""#),
        ("(list u8)", r#""AAECAwQF/w==""#),
        ("(list u32)", "[0,1,4294967295]"),
        ("(list (tuple u64 f64 char))", r#"[[18446744073709551615,-0.5,"é"]]"#),
        ("(list (option (option s16)))", r#"[null,{"some":null},{"some":-32768}]"#),
        ("(list (result string (error u8)))", r#"[{"ok":"x"},{"err":7}]"#),
    ] {
        let plugin = load(same(kind)).await.unwrap_or_else(|error| panic!("{kind}: {error}"));
        let given = structured(&plugin, "same", &format!(r#"{{"it":{value}}}"#)).await;
        assert_eq!(given.as_deref(), Some(value), "{kind}");
    }
    let plugin = load(same("string")).await.expect("a plugin");
    let Ok(ToolOutcome::Complete(result)) = call(&plugin, "same", r#"{"it":"as it is"}"#).await else {
        panic!("no result")
    };
    assert!(matches!(&result.content[..], [Content::Text(text)] if text.text == "as it is"), "{result:?}");
}

#[tokio::test]
async fn errors_are_reported_as_errors() {
    // The text is at 16; the parameter selects the case of the result.
    let module = r#"(data (i32.const 16) "no such thing")
        (func (export "f") (param i32) (result i32)
            (i32.store8 (i32.const 0) (local.get 0))
            (i32.store (i32.const 4) (i32.const 16)) (i32.store (i32.const 8) (i32.const 13)) (i32.const 0))
        (func (export "g") (param i32) (result i32) (local.get 0))"#;
    let rest = r#"(func (export "f") (param "fail" bool) (result (result string (error string)))
            (canon lift (core func $i "f") (memory $memory) (realloc $realloc)))
        (func (export "g") (param "fail" bool) (result (result)) (canon lift (core func $i "g")))"#;
    let plugin = load(component(module, rest)).await.expect("a plugin");
    assert_eq!(structured(&plugin, "f", r#"{"fail":false}"#).await.as_deref(), Some(r#""no such thing""#));
    assert_eq!(structured(&plugin, "g", r#"{"fail":false}"#).await, None);
    let failed = |why: &str| Some(CallError::Guest(GuestError::Failed(why.into())));
    assert_eq!(call(&plugin, "f", r#"{"fail":true}"#).await.err(), failed("no such thing"));
    assert_eq!(
        call(&plugin, "g", r#"{"fail":true}"#).await.err(),
        failed("the function failed without an error message")
    );
    let f = plugin.surface().tool("f").expect("the tool");
    assert_eq!(f.tool.output_schema.as_deref(), Some(r#"{"type":"string"}"#));
    assert_eq!(plugin.surface().tool("g").expect("the tool").tool.output_schema, None);
}

#[tokio::test]
async fn plain_components_have_the_limits_of_any_plugin() {
    let module = r#"(func (export "spin") (loop $l (br $l)))
        (func (export "trap") unreachable)
        (func (export "much") (result i32)
            (i32.store (i32.const 0) (i32.const 16)) (i32.store (i32.const 4) (i32.const 100000)) (i32.const 0))
        (func (export "outside") (result i32)
            (i32.store (i32.const 0) (i32.const 16)) (i32.store (i32.const 4) (i32.const 1000000)) (i32.const 0))"#;
    let rest = r#"(func (export "spin") (canon lift (core func $i "spin")))
        (func (export "trap") (canon lift (core func $i "trap")))
        (func (export "text") (result string) (canon lift (core func $i "much") (memory $memory)))
        (func (export "bytes") (result (list u8)) (canon lift (core func $i "much") (memory $memory)))
        (func (export "outside") (result string) (canon lift (core func $i "outside") (memory $memory)))"#;
    let limits = Limits { cpu: std::time::Duration::from_millis(100), output: 10_000, ..Limits::default() };
    let plugin = load_with(component(module, rest), limits.clone()).await.expect("a plugin");
    let fault = async |tool: &str| match call(&plugin, tool, "{}").await {
        Err(CallError::Fault(fault)) => fault,
        other => panic!("{tool}: {other:?}"),
    };
    assert_eq!(fault("spin").await, Fault::Cpu { limit: limits.cpu, of_task: false });
    assert_eq!(fault("trap").await, Fault::Trap(TrapKind::Unreachable));
    assert_eq!(fault("text").await, Fault::OutputTooLarge { limit: limits.output });
    assert_eq!(fault("bytes").await, Fault::OutputTooLarge { limit: limits.output });
}

/// As lifted values in the host they are many times larger than as text.
#[tokio::test]
async fn arguments_count_as_memory() {
    let limits = Limits { memory: 1 << 20, ..Limits::default() };
    let plugin = load_with(same("(list u8)"), limits.clone()).await.expect("a plugin");
    let few = format!(r#"{{"it":"{}"}}"#, "AAAA".repeat(1000));
    assert!(call(&plugin, "same", &few).await.is_ok());
    let many = format!(r#"{{"it":"{}"}}"#, "AAAA".repeat(20_000));
    let fault = call(&plugin, "same", &many).await.err();
    assert_eq!(fault, Some(CallError::Fault(Fault::Memory { limit: limits.memory })));
}

#[tokio::test]
async fn invalid_base64_is_reported_with_its_path() {
    let plugin = load(same("(list u8)")).await.expect("a plugin");
    match call(&plugin, "same", r#"{"it":"not base64!"}"#).await {
        Err(CallError::Guest(GuestError::InvalidInput(input))) => {
            assert_eq!((input.path.as_str(), input.reason.as_str()), ("/it", "expected bytes as a base64 string"));
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn functions_that_cannot_be_tools_are_left_out_by_name() {
    let module = r#"(func (export "f")) (func (export "g") (param i32))"#;
    let rest = r#"(type $t (resource (rep i32))) (export $thing "thing" (type $t))
        (func (export "good") (canon lift (core func $i "f")))
        (func (export "drop-it") (param "it" (own $thing)) (canon lift (core func $i "g")))"#;
    let plugin = load(component(module, rest)).await.expect("a plugin");
    assert!(plugin.surface().tool("good").is_some() && plugin.surface().tool("drop-it").is_none());
    let [warning] = plugin.warnings() else { panic!("{:?}", plugin.warnings()) };
    assert!(warning.to_string().starts_with("left out the function 'drop-it': it has a resource handle"), "{warning}");
    let none = rest.lines().filter(|line| !line.contains("good")).collect::<String>();
    let refused = refusal(load(component(module, &none)).await);
    assert!(matches!(&refused, LoadError::NoFunction(why) if why.contains("'drop-it'")), "{refused}");
}

#[tokio::test]
async fn static_functions_without_handles_are_tools() {
    let module = r#"(func (export "twice") (param i32) (result i32) (i32.mul (local.get 0) (i32.const 2)))
        (func (export "new") (result i32) (i32.const 0))"#;
    let rest = r#"(component $c
            (import "twice" (func $twice (param "n" u32) (result u32)))
            (import "r-type" (type $t (sub resource)))
            (import "new" (func $new (result (own $t))))
            (export $r "r" (type $t))
            (export "[static]r.twice" (func $twice) (func (param "n" u32) (result u32)))
            (export "[static]r.make" (func $new) (func (result (own $r)))))
        (type $t (resource (rep i32)))
        (func $twice (param "n" u32) (result u32) (canon lift (core func $i "twice")))
        (func $new (result (own $t)) (canon lift (core func $i "new")))
        (instance $served (instantiate $c
            (with "twice" (func $twice)) (with "r-type" (type $t)) (with "new" (func $new))))
        (export "local:a/b@1.0.0" (instance $served))"#;
    let plugin = load(component(module, rest)).await.expect("a plugin");
    let tools = plugin.surface().tools.as_deref().unwrap_or_default();
    let names: Vec<(&str, Option<&str>)> =
        tools.iter().map(|tool| (tool.tool.name.as_str(), tool.long_name.as_deref())).collect();
    assert_eq!(names, [("r_twice", Some("local_a_b_1_0_0__static_r_twice"))]);
    assert_eq!(structured(&plugin, "r_twice", r#"{"n":21}"#).await.as_deref(), Some("42"));
    let [warning] = plugin.warnings() else { panic!("{:?}", plugin.warnings()) };
    assert!(warning.to_string().starts_with("left out the function '[static]r.make'"), "{warning}");
}

#[tokio::test]
async fn exports_of_wasi_and_of_toolchains_are_not_tools() {
    let rest = r#"(func $f (canon lift (core func $i "f")))
        (func $run (result (result)) (canon lift (core func $i "g")))
        (instance $run (export "run" (func $run)))
        (instance $init (export "init" (func $f)))
        (instance $own (export "init" (func $f)))
        (export "wasi:cli/run@0.2.0" (instance $run))
        (export "exports" (instance $init))
        (export "local:a/b" (instance $own))"#;
    let module = r#"(func (export "f")) (func (export "g") (result i32) (i32.const 0))"#;
    let plugin = load(component(module, rest)).await.expect("a plugin");
    let tools = plugin.surface().tools.as_deref().unwrap_or_default();
    let names: Vec<&str> = tools.iter().map(|tool| tool.tool.name.as_str()).collect();
    assert_eq!(names, ["init"]);
    assert_eq!(tools[0].long_name.as_deref(), Some("local_a_b_init"));
}

#[tokio::test]
async fn the_initializer_of_componentize_qjs_is_no_tool() {
    let lift = r#"(canon lift (core func $i "s") (memory $memory) (realloc $realloc))"#;
    let rest = |first: &str| {
        format!(
            r#"(func (export "init") (param "{first}" string) (param "script" string) {lift})
            (func (export "other") (canon lift (core func $i "f")))"#
        )
    };
    let module = r#"(func (export "f")) (func (export "s") (param i32 i32 i32 i32))"#;
    for (first, expected) in [("shim", &["other"][..]), ("own", &["init", "other"])] {
        let plugin = load(component(module, &rest(first))).await.expect("a plugin");
        let tools = plugin.surface().tools.as_deref().unwrap_or_default();
        let names: Vec<&str> = tools.iter().map(|tool| tool.tool.name.as_str()).collect();
        assert_eq!(names, expected);
    }
}

/// Types that share parts expand exponentially.
#[tokio::test]
async fn exponential_types_are_left_out() {
    let doubling = |levels: usize, leaf: &str| {
        let mut text = leaf.to_owned();
        for level in 1..=levels {
            let below = level - 1;
            text += &format!("(type $t{level} (tuple $t{below} $t{below}))");
        }
        let (name, module) = (format!("$t{levels}"), r#"(func (export "f") (param i32))"#);
        let rest = format!(
            r#"{text} (func (export "f") (param "it" (list {name})) (canon lift (core func $i "f") (memory $memory) (realloc $realloc)))"#
        );
        component(&module.replace("(param i32)", "(param i32 i32)"), &rest)
    };
    // Record types must be exported by name.
    let record = format!(r#"(type $r (record (field "{}" bool))) (export $t0 "r" (type $r))"#, "x".repeat(3000));
    for (bytes, why) in [
        (doubling(13, "(type $t0 u16)"), "types of more than 65536 bytes in all"),
        (doubling(5, &record), "types of more than 65536 bytes in all"),
        (doubling(31, "(type $t0 u16)"), "read the component"),
    ] {
        let refused = refusal(load(bytes).await).to_string();
        assert!(refused.contains(why), "{refused}");
    }
}

#[tokio::test]
async fn deep_types_are_left_out() {
    let nested = |levels: usize| {
        let mut text = "(type $t0 u16)".to_owned();
        for level in 1..=levels {
            text += &format!("(type $t{level} (list $t{}))", level - 1);
        }
        let rest = format!(
            r#"{text} (func (export "f") (param "it" $t{levels}) (canon lift (core func $i "f") (memory $memory) (realloc $realloc)))"#
        );
        component(r#"(func (export "f") (param i32 i32))"#, &rest)
    };
    load(nested(20)).await.expect("a plugin");
    for levels in [40, 90, 10_000] {
        let refused = refusal(load(nested(levels)).await);
        assert!(matches!(refused, LoadError::NoFunction(_) | LoadError::Invalid(_)), "{levels}: {refused}");
    }
}
