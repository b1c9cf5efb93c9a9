//! Questions as the host sees them: the questions and the state of each round.

use wharf_plugin::abi::{self, Exported, tools::Guest, tools::ToolOutcome, types};
use wharf_plugin::*;

struct Trip;

impl Plugin for Trip {
    fn tools(&self, tools: &mut Tools<'_>) {
        tools.add("pack", "Asks two things at once, then a third.", |ask, _: NoArguments| {
            let (tent, stove) =
                ask.together(|ask| (ask.key("tent").confirm("A tent?"), ask.key("stove").confirm("A stove?")))?;
            Ok(format!("{} {} {}", tent?, stove?, ask.key("map").confirm("A map?")?))
        });
        tools.add("leave", "Does without an answer to the first.", |ask, _: NoArguments| {
            let late = match ask.key("late").confirm("Later?") {
                Err(error) if error.is_unavailable() => "unknown".to_owned(),
                answer => answer?.to_string(),
            };
            Ok(format!("{late} {}", ask.key("sure").confirm("Sure?")?))
        });
    }
}

struct Component;

impl Exported for Component {
    type Plugin = Trip;
    const PLUGIN: Trip = Trip;
}

/// The end of a round: a text, or the keys of its questions and the state.
#[derive(Debug, PartialEq)]
enum End {
    Text(String),
    Asked(Vec<String>, Option<Vec<u8>>),
}

fn round(tool: &str, answers: &[(&str, types::Reply)], state: Option<Vec<u8>>) -> End {
    let answer = |(key, reply): &(&str, types::Reply)| types::Answer { key: (*key).into(), reply: reply.clone() };
    let context = types::CallContext {
        id: "1".into(),
        client: types::ClientFeatures::empty(),
        time_left_ms: 1000,
        answers: answers.iter().map(answer).collect(),
        state,
        meta: None,
    };
    match <Component as Guest>::call_tool(tool.into(), "{}".into(), context) {
        Ok(ToolOutcome::Complete(result)) => match &result.content[..] {
            [abi::types::Content::Text(text)] => End::Text(text.text.clone()),
            other => panic!("{other:?}"),
        },
        Ok(ToolOutcome::InputRequired(asked)) => {
            End::Asked(asked.questions.into_iter().map(|question| question.key).collect(), asked.state)
        }
        Err(error) => panic!("{error:?}"),
    }
}

fn yes() -> types::Reply {
    types::Reply::Elicited(types::Elicited { action: types::ElicitAction::Accept, content: None })
}

fn refusal() -> types::Reply {
    types::Reply::Unavailable("not supported".into())
}

/// The keys of a round's questions, and its state, which must exist.
fn asked(end: End) -> (Vec<String>, Vec<u8>) {
    match end {
        End::Asked(keys, Some(state)) => (keys, state),
        other => panic!("{other:?}"),
    }
}

#[test]
fn only_unanswered_questions_are_repeated() {
    let first = round("pack", &[], None);
    assert_eq!(first, End::Asked(vec!["tent".into(), "stove".into()], None));
    let (keys, state) = asked(round("pack", &[("stove", yes())], None));
    assert_eq!(keys, ["tent"]);
    // No answer: the same question again, and earlier answers are kept.
    let again = round("pack", &[], Some(state.clone()));
    assert_eq!(again, End::Asked(vec!["tent".into()], Some(state.clone())));
    let (keys, state) = asked(round("pack", &[("tent", yes())], Some(state)));
    assert_eq!(keys, ["map"]);
    assert_eq!(round("pack", &[("map", yes())], Some(state)), End::Text("true true true".into()));
}

#[test]
fn a_returned_refusal_repeats_the_question() {
    let (keys, state) = asked(round("pack", &[("tent", refusal()), ("stove", yes())], None));
    assert_eq!(keys, ["tent"]);
    let repeated = round("pack", &[("tent", refusal())], Some(state.clone()));
    assert_eq!(repeated, End::Asked(vec!["tent".into()], Some(state.clone())));
    // A later answer still counts.
    let (keys, _) = asked(round("pack", &[("tent", yes())], Some(state)));
    assert_eq!(keys, ["map"]);
}

#[test]
fn a_handled_refusal_stays_handled() {
    let (keys, state) = asked(round("leave", &[("late", refusal())], None));
    assert_eq!(keys, ["sure"]);
    assert_eq!(round("leave", &[("sure", yes())], Some(state)), End::Text("unknown true".into()));
}
