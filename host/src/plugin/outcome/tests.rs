use super::*;
use crate::plugin::abi::{EmbeddedResource, ResourceBody, TextContent};

#[test]
fn questions_have_keys_of_their_own_and_small_states() {
    let forms = Forms::default();
    let question = || super::super::abi::Question { key: "k".into(), ask: Ask::Roots };
    let wanted = |questions, state: usize| InputRequired { questions, state: Some(vec![0; state]) };
    assert_eq!(input_required(&mut wanted(vec![question()], MAX_STATE), &forms), Ok(()));
    assert!(input_required(&mut wanted(vec![question(), question()], 0), &forms).is_err());
    assert!(input_required(&mut wanted(vec![], MAX_STATE + 1), &forms).is_err());
}

#[test]
fn suggestions_are_short_and_of_one_line() {
    let given = |values: Vec<String>, total| Completion { values, total, has_more: false };
    let numbers = |count: usize| (0..count).map(|n| n.to_string()).collect::<Vec<_>>();
    assert_eq!(completion(given(numbers(150), Some(3)), 4096), Ok(given(numbers(150), Some(3))));
    let odd = ["a\nb", "", "\u{202e}x", "fine", &"x".repeat(MAX_SUGGESTION), &"x".repeat(MAX_SUGGESTION + 1)];
    let kept = completion(given(odd.map(str::to_owned).into(), None), 1 << 20);
    assert_eq!(kept, Ok(given(["", "fine", odd[4]].map(str::to_owned).into(), None)));
    assert_eq!(completion(given(numbers(150), None), 1024), Err(Fault::OutputTooLarge { limit: 1024 }));
}

#[test]
fn the_result_of_a_method_is_an_object_on_one_line() {
    assert_eq!(method("{\n \"a\": 1.0\n}".into(), 64), Ok(r#"{"a":1.0}"#.into()));
    for bad in ["[]", "1", "null", "", "{", "{}{}"] {
        assert!(matches!(method(bad.into(), 64), Err(Fault::BadOutput(_))), "{bad}");
    }
    assert_eq!(method(r#"{"a":1}"#.into(), 4), Err(Fault::OutputTooLarge { limit: 4 }));
}

#[test]
fn only_https_pages_are_visited() {
    for good in ["https://example.org/", "HTTPS://example.org", "https://[::1]:8443/a?b#c"] {
        assert_eq!(page(good), Ok(()), "{good}");
    }
    for bad in
        ["http://example.org/", "/login", "", "https:", "https:///x", "javascript:alert(1)", "file:///etc/passwd"]
    {
        assert!(page(bad).is_err(), "{bad}");
    }
}

/// Texts are read by models and people; what programs read is left as it is.
#[test]
fn hidden_characters_leave_texts_and_never_bytes() {
    let hidden = "a\u{e0041}\u{202e}b";
    let text = TextContent { text: hidden.into(), annotations: None, meta: None };
    let body =
        ResourceContents { uri: "x:y".into(), mime_type: None, body: ResourceBody::Text(hidden.into()), meta: None };
    let blob = ResourceContents { body: ResourceBody::Blob(hidden.into()), ..body.clone() };
    let embedded = |contents| Content::Embedded(EmbeddedResource { contents, annotations: None, meta: None });
    let mut list = [Content::Text(text), embedded(body), embedded(blob)];
    contents(&mut list).expect("good content");
    let [Content::Text(text), Content::Embedded(body), Content::Embedded(blob)] = list else {
        panic!("the same kinds")
    };
    assert_eq!(text.text, "ab");
    assert_eq!(body.contents.body, ResourceBody::Text("ab".into()));
    assert_eq!(blob.contents.body, ResourceBody::Blob(hidden.into()));
    assert_eq!(tidy::json(format!(r#"{{"a":"{hidden}\u202e"}}"#)), Ok(r#"{"a":"ab"}"#.into()));
    let error = guest_error(GuestError::Failed(hidden.into()));
    assert_eq!(error, CallError::Guest(GuestError::Failed("ab".into())));
}

/// What is dropped after redaction puts no secret together.
#[test]
fn hidden_characters_keep_no_secret_from_being_redacted() {
    use crate::plugin::abi::{Form, PromptMessage, PromptResult, Question, ReadResult, Role};
    use crate::plugin::redact::{Redactor, Said as _};
    use crate::plugin::secret::Secret;
    const LIMIT: u64 = 1 << 20;
    let value = "tok_ABCDEFGHIJKLMNOP";
    let redactor = Redactor::of(&[Secret::new("t".into(), false, Ok(value.into()))]).expect("a secret");
    let text = || "tok_ABCD\u{ad}EFGH\u{200b}IJKLMNOP".to_owned();
    let json = || Some("{\"tok_\u{ad}ABCDEFGHIJKLMNOP\":\"tok_ABCD\\u00adEFGH\\bIJ\\udb40\\udc41KLMNOP\"}".to_owned());
    let said = || TextContent { text: text(), annotations: None, meta: json() };
    let of_text = || ResourceContents {
        uri: "x:y".into(),
        mime_type: Some(text()),
        body: ResourceBody::Text(text()),
        meta: json(),
    };
    let has_none = |what: String| {
        assert!(what.contains("[redacted t]") && !what.contains("ABCD") && !what.contains("KLMN"), "{what}");
    };

    let embedded = EmbeddedResource { contents: of_text(), annotations: None, meta: json() };
    let list = || vec![Content::Text(said()), Content::Embedded(embedded.clone())];
    let mut result = ToolResult { content: list(), structured: json(), is_error: true, meta: json() };
    result.redact(&redactor);
    contents(&mut result.content).expect("good content");
    for mut json in [&mut result.meta, &mut result.structured].map(|json| json.take().expect("JSON")) {
        object(&mut json, "JSON").expect("good JSON");
        has_none(json);
    }
    has_none(format!("{:?}", result.content));

    let messages = vec![PromptMessage { role: Role::User, content: Content::Text(said()) }];
    let mut outcome = PromptOutcome::Complete(PromptResult { description: Some(text()), messages, meta: json() });
    outcome.redact(&redactor);
    has_none(format!("{:?}", prompt(outcome, &Forms::default(), LIMIT)));

    let mut outcome = ReadOutcome::Complete(ReadResult { contents: vec![of_text()], caching: None, meta: json() });
    outcome.redact(&redactor);
    has_none(format!("{:?}", read(outcome, &Forms::default(), LIMIT)));

    let form = Form { message: text(), schema: json().expect("JSON") };
    let mut wanted = InputRequired { questions: vec![Question { key: "k".into(), ask: Ask::Form(form) }], state: None };
    wanted.redact(&redactor);
    input_required(&mut wanted, &Forms::default()).expect("a good question");
    has_none(format!("{wanted:?}"));

    let mut error = GuestError::Failed(text());
    error.redact(&redactor);
    has_none(format!("{:?}", guest_error(error)));
}
