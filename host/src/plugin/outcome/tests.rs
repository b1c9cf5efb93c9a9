use super::*;
use crate::plugin::abi::*;

#[test]
fn question_keys_are_unique_and_states_are_limited() {
    let forms = Forms::default();
    let question = || crate::plugin::abi::Question { key: "k".into(), ask: Ask::Roots };
    let wanted = |questions, state: usize| InputRequired { questions, state: Some(vec![0; state]) };
    assert_eq!(input_required(&mut wanted(vec![question()], MAX_STATE), &forms), Ok(()));
    assert!(input_required(&mut wanted(vec![question(), question()], 0), &forms).is_err());
    assert!(input_required(&mut wanted(vec![], MAX_STATE + 1), &forms).is_err());
}

#[test]
fn suggestions_are_short_and_on_one_line() {
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

/// Texts are read by models and people; blobs are read by programs, and unchanged.
#[test]
fn hidden_characters_are_dropped_from_texts_and_not_from_blobs() {
    let hidden = "a\u{e0041}\u{202e}b";
    let text = TextContent { text: hidden.into(), annotations: None, meta: None };
    let body =
        ResourceContents { uri: "x:y".into(), mime_type: None, body: ResourceBody::Text(hidden.into()), meta: None };
    let blob = ResourceContents { body: ResourceBody::Blob(hidden.into()), ..body.clone() };
    let embedded = |contents| Content::Embedded(EmbeddedResource { contents, annotations: None, meta: None });
    let mut list = [Content::Text(text), embedded(body), embedded(blob)];
    list.iter_mut().for_each(drop_hidden);
    contents(&mut list).expect("good content");
    let [Content::Text(text), Content::Embedded(body), Content::Embedded(blob)] = list else {
        panic!("the same kinds")
    };
    assert_eq!(text.text, "ab");
    assert_eq!(body.contents.body, ResourceBody::Text("ab".into()));
    assert_eq!(blob.contents.body, ResourceBody::Blob(hidden.into()));
    assert_eq!(method(format!(r#"{{"a":"{hidden}\u202e"}}"#), 1 << 10), Ok(r#"{"a":"ab"}"#.into()));
    let error = guest_error(GuestError::Failed(hidden.into()));
    assert_eq!(error, CallError::Guest(GuestError::Failed("ab".into())));
}

/// Hidden characters are dropped after redaction, which must not reassemble a secret.
#[test]
fn hidden_characters_do_not_prevent_redaction() {
    use crate::plugin::policy::redact::{Redactable, Redactor};
    use crate::plugin::policy::secret::Secret;
    const LIMIT: u64 = 1 << 20;
    let value = "tok_ABCDEFGHIJKLMNOP";
    let redactor = Redactor::of(&[Secret::new("t".into(), false, Ok(value.into()))]).expect("a secret");
    let text = || "tok_ABCD\u{ad}EFGH\u{200b}IJKLMNOP".to_owned();
    let json = || Some("{\"tok_\u{ad}ABCDEFGHIJKLMNOP\":\"tok_ABCD\\u00adEFGH\\bIJ\\udb40\\udc41KLMNOP\"}".to_owned());
    let text_content = || TextContent { text: text(), annotations: None, meta: json() };
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
    let list = || vec![Content::Text(text_content()), Content::Embedded(embedded.clone())];
    let mut result = ToolResult { content: list(), structured: json(), is_error: true, meta: json() };
    result.redact(&redactor);
    drop_hidden(&mut result);
    contents(&mut result.content).expect("good content");
    for mut json in [&mut result.meta, &mut result.structured].map(|json| json.take().expect("JSON")) {
        object(&mut json, "JSON").expect("good JSON");
        has_none(json);
    }
    has_none(format!("{:?}", result.content));

    let messages = vec![PromptMessage { role: Role::User, content: Content::Text(text_content()) }];
    let mut outcome = PromptOutcome::Complete(PromptResult { description: Some(text()), messages, meta: json() });
    outcome.redact(&redactor);
    has_none(format!("{:?}", prompt(outcome, &Forms::default(), LIMIT)));

    let mut outcome = ReadOutcome::Complete(ReadResult { contents: vec![of_text()], caching: None, meta: json() });
    outcome.redact(&redactor);
    has_none(format!("{:?}", read(outcome, &Forms::default(), LIMIT)));

    let form = Form { message: text(), schema: json().expect("JSON") };
    let mut wanted = InputRequired { questions: vec![Question { key: "k".into(), ask: Ask::Form(form) }], state: None };
    wanted.redact(&redactor);
    drop_hidden(&mut wanted);
    input_required(&mut wanted, &Forms::default()).expect("a good question");
    has_none(format!("{wanted:?}"));

    let mut error = GuestError::Failed(text());
    error.redact(&redactor);
    has_none(format!("{:?}", guest_error(error)));
}

fn complete(result: &mut ToolResult) -> Checked<()> {
    drop_hidden(result);
    parts(result)
}

/// A text with a hidden character that it does not need.
const MARK: &str = "a\u{200b}b";

fn mark() -> String {
    MARK.into()
}

fn mark_in_json() -> String {
    format!(r#"{{"{MARK}":["a\u200bb","{MARK}"]}}"#)
}

fn marked_annotations() -> Option<Annotations> {
    Some(Annotations { audience: vec![Role::User], priority: None, last_modified: Some(mark()) })
}

fn marked_text() -> TextContent {
    TextContent { text: mark(), annotations: marked_annotations(), meta: Some(mark_in_json()) }
}

fn marked_media() -> MediaContent {
    let meta = Some(mark_in_json());
    MediaContent { data: Vec::new(), mime_type: mark(), annotations: marked_annotations(), meta }
}

fn marked_resource() -> ResourceContents {
    let body = ResourceBody::Text(mark());
    ResourceContents { uri: "x:y".into(), mime_type: Some(mark()), body, meta: Some(mark_in_json()) }
}

/// Each kind, with all its texts. All members are listed, so that a new one does not compile.
fn marked_contents() -> Vec<Content> {
    let icon = Icon { src: mark(), mime_type: Some(mark()), sizes: vec![mark()], theme: None };
    let link = ResourceDescription {
        uri: "x:y".into(),
        name: mark(),
        title: Some(mark()),
        description: Some(mark()),
        mime_type: Some(mark()),
        size: None,
        annotations: marked_annotations(),
        icons: vec![icon],
        meta: Some(mark_in_json()),
    };
    let (contents, meta) = (marked_resource(), Some(mark_in_json()));
    vec![
        Content::Text(marked_text()),
        Content::Image(marked_media()),
        Content::Audio(marked_media()),
        Content::Embedded(EmbeddedResource { contents, annotations: marked_annotations(), meta }),
        Content::Link(link),
    ]
}

fn marked_questions(name: &str) -> InputRequired {
    let tool_use = ToolUse { id: name.into(), name: name.into(), input: mark_in_json() };
    let answer = ToolAnswer {
        tool_use_id: name.into(),
        content: marked_contents(),
        structured: Some(mark_in_json()),
        is_error: false,
    };
    let content = vec![
        SamplingContent::Text(marked_text()),
        SamplingContent::Image(marked_media()),
        SamplingContent::Audio(marked_media()),
        SamplingContent::ToolUse(tool_use),
        SamplingContent::ToolResult(answer),
    ];
    let sampling = Sampling {
        messages: vec![SamplingMessage { role: Role::User, content }],
        max_tokens: 1,
        system_prompt: Some(mark()),
        temperature: None,
        stop_sequences: vec![mark()],
        model_preferences: Some(ModelPreferences {
            hints: vec![mark()],
            cost_priority: None,
            speed_priority: None,
            intelligence_priority: None,
        }),
        include_context: None,
        tools: vec![SamplingTool { name: name.into(), description: Some(mark()), input_schema: mark_in_json() }],
        tool_choice: None,
        metadata: Some(mark_in_json()),
    };
    let schema = format!(r#"{{"type":"object","properties":{{"p":{{"type":"string","title":"{MARK}"}}}}}}"#);
    let asks = [
        Ask::Form(Form { message: mark(), schema }),
        Ask::Url(UrlVisit { message: mark(), url: "https://example.org/".into() }),
        Ask::Sample(sampling),
        Ask::Roots,
    ];
    let questions = asks.into_iter().enumerate().map(|(n, ask)| Question { key: format!("{name}{n}"), ask });
    InputRequired { questions: questions.collect(), state: None }
}

#[test]
fn no_text_of_an_outcome_has_hidden_characters() {
    const LIMIT: u64 = 1 << 20;
    let forms = Forms::default();
    let is_clean = |what: String| assert!(what.contains("ab") && !what.contains("200b"), "{what}");
    let (structured, meta) = (Some(mark_in_json()), || Some(mark_in_json()));

    let mut result = ToolResult { content: marked_contents(), structured, is_error: false, meta: meta() };
    complete(&mut result).expect("a good result");
    is_clean(format!("{result:?}"));

    let result = ReadResult { contents: vec![marked_resource()], caching: None, meta: meta() };
    is_clean(format!("{:?}", read(ReadOutcome::Complete(result), &forms, LIMIT).expect("a good result")));

    let messages = marked_contents().into_iter().map(|content| PromptMessage { role: Role::User, content });
    let result = PromptResult { description: Some(mark()), messages: messages.collect(), meta: meta() };
    is_clean(format!("{:?}", prompt(PromptOutcome::Complete(result), &forms, LIMIT).expect("a good result")));

    let asked = |name| prompt(PromptOutcome::InputRequired(marked_questions(name)), &forms, LIMIT);
    is_clean(format!("{:?}", asked("n").expect("good questions")));
    // Identifiers are refused instead.
    for name in [MARK, "a\u{a0}b", "a\nb", "a\u{332}\u{332}", "語\u{e0100}"] {
        assert!(asked(name).is_err(), "{}", name.escape_unicode());
        let Ask::Sample(mut sampling) = marked_questions("n").questions.remove(2).ask else { panic!("the third") };
        for content in &mut sampling.messages[0].content {
            let (id, before) = match content {
                SamplingContent::ToolUse(tool_use) => (&mut tool_use.id, "n"),
                SamplingContent::ToolResult(answer) => (&mut answer.tool_use_id, "n"),
                _ => continue,
            };
            *id = name.into();
            assert!(sampled(&mut content.clone()).is_err());
            if let SamplingContent::ToolUse(tool_use) = content {
                tool_use.id = before.into();
                tool_use.name = name.into();
                assert!(sampled(&mut content.clone()).is_err());
            }
        }
    }
    for uri in ["x:a\u{200b}b", "x:a\u{a0}b"] {
        assert!(resource(&mut ResourceContents { uri: uri.into(), ..marked_resource() }).is_err());
    }

    is_clean(format!("{:?}", guest_error(GuestError::Failed(mark()))));
    is_clean(format!("{:?}", guest_error(GuestError::InvalidInput(InvalidInput { path: mark(), reason: mark() }))));
    is_clean(format!("{:?}", method(mark_in_json(), LIMIT)));
    let values = vec![mark(), "ab".into()];
    is_clean(format!("{:?}", completion(Completion { values, total: None, has_more: false }, LIMIT)));
}

/// A message that is split into many texts gets no larger leeway.
#[test]
fn all_texts_of_a_result_share_one_leeway() {
    let spaces = |result: &ToolResult| format!("{result:?}").matches("\\u{a0}").count();
    let text_content = |text: String| Content::Text(TextContent { text, annotations: None, meta: None });
    let result = |content| {
        let mut result = ToolResult {
            content,
            structured: Some("{\"a\":\"one\u{a0}two\"}".into()),
            is_error: false,
            meta: Some("{\"a\":\"one\u{a0}two\"}".into()),
        };
        complete(&mut result).expect("a good result");
        result
    };
    assert_eq!(spaces(&result((0..100).map(|_| text_content("one\u{a0}two".into())).collect())), 8);
    // Each text is written in one of two variants, and the choice carries information.
    let way = |n: u32| if n.count_ones().is_multiple_of(2) { "a word : more" } else { "a word\u{a0}: more" };
    let mixed = result((0..200).map(|n| text_content(way(n).into())).collect());
    let ways: Vec<bool> = mixed.content.iter().map(|content| format!("{content:?}").contains("a0")).collect();
    let changes = ways.windows(2).filter(|pair| pair[0] != pair[1]).count();
    assert!(changes <= 2 * 8 + 2, "{changes}");
    // The same variant each time carries none.
    assert_eq!(spaces(&result((0..100).map(|_| text_content("a word\u{a0}: more".into())).collect())), 102);

    let values = (0..100).map(|n| format!("one\u{a0}two {n}")).collect();
    let kept = completion(Completion { values, total: None, has_more: false }, 1 << 20).expect("suggestions");
    assert_eq!(kept.values.len(), 8);
}
