use super::*;

#[test]
fn interfaces_are_recognized_by_name() {
    assert_eq!(interface("wasmcp:mcp-v20251125/tools@0.1.1"), Some("tools"));
    assert_eq!(interface("wasmcp:mcp-v20251125/completions@0.1.27"), Some("completions"));
    for other in [
        "wasmcp:mcp-v20251125/tools",
        "wasmcp:mcp-v20251125/tools@0.1.",
        "wasmcp:mcp-v20251125/tools@0.2.0",
        "wasmcp:mcp-v20251125/server-handler@0.1.1",
        "wasmcp:mcp-v20250618/tools@0.1.1",
        "wasmcp:mcp-v20251125/@0.1.1",
        "@0.1.1",
        "",
    ] {
        assert_eq!(interface(other), None, "{other}");
    }
}

#[test]
fn mismatched_values_are_refused() {
    let odd = [
        Val::Bool(true),
        Val::Option(None),
        Val::Result(Err(None)),
        Val::Result(Ok(None)),
        Val::Result(Err(Some(Box::new(Val::Variant("server".into(), None))))),
        Val::Result(Ok(Some(Box::new(Val::Record(vec![("content".into(), Val::List(vec![Val::U8(1)]))]))))),
        Val::Result(Ok(Some(Box::new(Val::Record(vec![(
            "content".into(),
            Val::List(vec![Val::Variant("text".into(), None)]),
        )]))))),
    ];
    let index = || {
        let component = wat::parse_str(r#"(component (type $t (tuple u8)) (export "t" (type $t)))"#).expect("one");
        let engine = wasmtime::Engine::default();
        let component = Component::new(&engine, component).expect("a component");
        component.get_export_index(None, "t").expect("the export")
    };
    let request = Request {
        index: index(),
        params: [Val::Bool(false), Val::Bool(false)],
        read: convert::called,
        result: PhantomData,
    };
    for value in &odd {
        assert!(request.outcome(value).is_err(), "{value:?}");
    }
}

#[test]
fn arguments_of_prompts_are_json() {
    let given = [("a\"".to_owned(), "1\n".to_owned()), ("b".to_owned(), String::new())];
    assert_eq!(some_object(&given), some_text(Some(r#"{"a\"":"1\n","b":""}"#.into())));
    assert_eq!(some_object(&[]), some_text(Some("{}".into())));
}
