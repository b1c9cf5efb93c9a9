use super::*;

#[test]
fn reserved_meta_keys_are_stripped_and_nothing_else() {
    let strip = |text: &str| tidy::meta(Some(text.into()));
    let same = r#"{"example.com/mcp":1, "n":1.0e5,"a.b.mcp/x":2,"mcp":3}"#;
    assert_eq!(strip(same), Ok(Some(same.into())));
    let reserved = r#"{"io.modelcontextprotocol/a":1,"dev.\u006dcp/b":2,"mcp/c":3,"keep":1.50}"#;
    assert_eq!(strip(reserved), Ok(Some(r#"{"keep":1.50}"#.into())));
    assert!(strip("[]").is_err());
    assert!(strip("{").is_err());
    assert_eq!(tidy::meta(None), Ok(None));
}

#[test]
fn questions_have_keys_of_their_own_and_small_states() {
    let question = || super::super::abi::Question { key: "k".into(), ask: Ask::Roots };
    let wanted = |questions, state: usize| InputRequired { questions, state: Some(vec![0; state]) };
    assert_eq!(input_required(&mut wanted(vec![question()], MAX_STATE)), Ok(()));
    assert!(input_required(&mut wanted(vec![question(), question()], 0)).is_err());
    assert!(input_required(&mut wanted(vec![], MAX_STATE + 1)).is_err());
}
