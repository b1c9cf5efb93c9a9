use super::*;

fn kind(text: &str) -> Kind {
    summarize(&wat::parse_str(text).expect("valid text")).kind
}

#[test]
fn each_kind_is_recognized() {
    let exporting = |name: &str| kind(&format!(r#"(component (instance $i) (export "{name}" (instance $i)))"#));
    assert_eq!(exporting("wharf:plugin/tools@0.1.0"), Kind::Wharf);
    assert_eq!(exporting("wharf:plugin/tools@9.1.0"), Kind::Wharf);
    assert_eq!(exporting("wasmcp:mcp-v20251125/tools@0.1.1"), Kind::Wasmcp);
    assert_eq!(exporting("local:time/clock"), Kind::Plain);
    assert_eq!(exporting("wasi:cli/run@0.2.6"), Kind::Command);
    assert_eq!(exporting("wasi:http/incoming-handler@0.2.6"), Kind::HttpServer);
    assert_eq!(exporting("wasi:http/handler@0.3.0"), Kind::HttpServer);
    assert_eq!(exporting("wasmcp:protocol/tools@0.1.0-beta.2"), Kind::OldWasmcp);
    assert_eq!(exporting("act:tools/tool-provider@0.1.0"), Kind::Act);
    assert_eq!(exporting("act:tools/other"), Kind::Plain);
    assert_eq!(kind("(component)"), Kind::Component);
    assert_eq!(kind(r#"(component (component $c) (export "a:b/c" (component $c)))"#), Kind::WitPackage);
    assert_eq!(kind(r#"(module (func (export "f")))"#), Kind::Module);
    assert_eq!(kind(r#"(module (import "extism:host/env" "input_length" (func (result i64))))"#), Kind::Extism);
    assert_eq!(kind(r#"(module (import "wasi_snapshot_preview1" "proc_exit" (func (param i32))))"#), Kind::Preview1);
    assert_eq!(kind(r#"(module (@custom "component-type:x" "y"))"#), Kind::Unwrapped);
    for bytes in [&b""[..], b"text", b"<html>", b"\x7fELF", b"\0asm"] {
        assert_eq!(summarize(bytes).kind, Kind::NotWasm);
    }
}

#[test]
fn producers_are_listed_once() {
    let module = r#"(module (@producers (language "Rust" "2024") (processed-by "rustc" "1.95.0")))"#;
    let producer = |role: &str, name: &str, version: &str| Producer {
        role: role.into(),
        name: name.into(),
        version: version.into(),
    };
    let expected = [producer("language", "Rust", "2024"), producer("processed-by", "rustc", "1.95.0")];
    assert_eq!(summarize(&wat::parse_str(module).expect("a module")).producers, expected);
    let nested = module.replace("(module", "(core module");
    let component = format!("(component {nested} {nested})");
    assert_eq!(summarize(&wat::parse_str(component).expect("a component")).producers, expected);
}

#[test]
fn what_a_component_says_of_itself_counts_for_its_parts() {
    let part = r#"(core module (@producers (language "Rust" "") (processed-by "rustc" "1.75.0")))"#;
    let own = r#"(@producers (language "Python" "") (processed-by "componentize-py" ""))"#;
    let names = |text: String| -> Vec<String> {
        let found = summarize(&wat::parse_str(text).expect("a component"));
        found.producers.into_iter().map(|producer| producer.name).collect()
    };
    assert_eq!(names(format!("(component {part} {own})")), ["Python", "componentize-py"]);
    let tool = r#"(@producers (processed-by "wit-component" "0.1.0"))"#;
    assert_eq!(names(format!("(component {part} {tool})")), ["Rust", "rustc", "wit-component"]);
}

#[test]
fn a_truncated_file_is_summarized() {
    let whole = wat::parse_str(r#"(component (instance $i) (export "local:time/clock" (instance $i)))"#).expect("one");
    // Between two sections it is whole.
    let kinds: Vec<Kind> = (8..whole.len()).map(|length| summarize(&whole[..length]).kind).collect();
    assert!(kinds.iter().all(|kind| matches!(kind, Kind::Component | Kind::Damaged | Kind::Plain)), "{kinds:?}");
    assert_eq!(kinds[..2], [Kind::Component, Kind::Damaged]);
}

#[test]
fn kinds_that_cannot_load_have_advice() {
    let loading = [Kind::Wharf, Kind::Plain, Kind::Wasmcp, Kind::Command];
    assert!(loading.iter().all(|kind| kind.advice().is_none()));
    assert!(
        [Kind::OldWasmcp, Kind::Act, Kind::Extism, Kind::Module, Kind::WitPackage]
            .iter()
            .all(|kind| kind.advice().is_some())
    );
}
