use super::*;

const HOLDS: u64 = 100;

const ONCE: Wanted = Wanted { once: true, of_operator: false, holds: 10 * HOLDS };
const WHILE: Wanted = Wanted { once: false, of_operator: false, holds: 10 * HOLDS };

fn deed_of(caller: &str, version: &str, tool: &str, arguments: &str) -> Deed {
    let bound = Bound { caller, plugin: "notes", version, extras: "", tool, arguments };
    Deed::new(bound, caller.to_owned(), arguments.to_owned(), arguments)
}

fn deed(caller: &str, arguments: &str) -> Deed {
    deed_of(caller, "1", "delete", arguments)
}

/// A state in which an operator decided on one call at 0.
fn decided(call: Deed, once: bool, decision: Decision) -> State {
    let mut state = State::default();
    let request = state.request("id".into(), call, once, HOLDS, 0).expect("there is room");
    assert!(state.decide(&request.id, decision, 0).is_some());
    state
}

const ALLOWED: Standing = Standing::Allowed { by: Decider::Operator };

#[test]
fn what_allows_one_call_is_used_up_by_it() {
    let call = deed("ci", "{}");
    let mut state = decided(call.clone(), true, Decision::Allowed);
    for other in [
        deed("me", "{}"),
        deed("ci", r#"{"a":1}"#),
        deed_of("ci", "2", "delete", "{}"),
        deed_of("ci", "1", "add", "{}"),
        deed_of("ci", "1delete", "", "{}"),
    ] {
        assert_eq!(state.take(&other, ONCE, 1), Standing::Open, "{other:?}");
    }
    assert_eq!([1, 1].map(|now| state.take(&call, ONCE, now)), [ALLOWED, Standing::Open]);
}

#[test]
fn what_allows_a_tool_holds_for_its_calls_until_it_expires() {
    let mut state = decided(deed("ci", "{}"), false, Decision::Allowed);
    let other = deed("ci", r#"{"a":1}"#);
    assert_eq!([1, HOLDS - 1, HOLDS].map(|now| state.take(&other, WHILE, now)), [ALLOWED, ALLOWED, Standing::Open]);
    for stranger in [deed("me", "{}"), deed_of("ci", "2", "delete", "{}"), deed_of("ci", "1", "add", "{}")] {
        assert_eq!(state.take(&stranger, WHILE, 1), Standing::Open, "{stranger:?}");
    }
    // Where each call needs a decision, this is none.
    assert_eq!(state.take(&deed("ci", "{}"), ONCE, 1), Standing::Open);
}

#[test]
fn what_is_denied_stays_denied_until_it_expires() {
    let call = deed("ci", "{}");
    for once in [true, false] {
        let mut state = decided(call.clone(), once, Decision::Denied);
        assert_eq!(
            [1, 2, HOLDS].map(|now| state.take(&call, Wanted { once, of_operator: false, holds: 10 * HOLDS }, now)),
            [Standing::Denied, Standing::Denied, Standing::Open]
        );
        // What is about all calls of the tool denies all of them.
        let other = if once { Standing::Open } else { Standing::Denied };
        assert_eq!(state.take(&deed("ci", r#"{"a":1}"#), Wanted { once, ..WHILE }, 1), other);
        // Also if the tool is allowed otherwise.
        state.remember("user".into(), deed("ci", r#"{"a":1}"#), HOLDS, 1).expect("there is room");
        assert_eq!(state.take(&call, WHILE, 2), Standing::Denied);
    }
}

#[test]
fn an_operator_can_end_what_a_user_allowed() {
    let mut state = State::default();
    let call = deed("ci", "{}");
    let request = state.remember("user".into(), call.clone(), HOLDS, 0).expect("there is room");
    assert_eq!(state.standing(&call, WHILE, 1), Standing::Allowed { by: Decider::User });
    // Allowing it again replaces it.
    state.remember("again".into(), deed("ci", r#"{"a":1}"#), HOLDS, 1).expect("there is room");
    assert!(state.decide(&request.id, Decision::Denied, 2).is_none());
    assert!(state.decide("again", Decision::Denied, 2).is_some());
    assert_eq!(state.standing(&call, WHILE, 3), Standing::Denied);
    assert_eq!(state.standing(&deed("ci", r#"{"a":1}"#), WHILE, 3), Standing::Denied);
}

#[test]
fn a_clock_that_is_set_back_makes_no_decision_last_longer() {
    let mut state = State::default();
    state.request("id".into(), deed("ci", "{}"), false, HOLDS, 10_000).expect("there is room");
    state.decide("id", Decision::Allowed, 10_000);
    assert_eq!(state.standing(&deed("ci", "{}"), WHILE, 10_000 - LEEWAY), ALLOWED);
    assert_eq!(state.standing(&deed("ci", "{}"), WHILE, 10_000 - LEEWAY - 1), Standing::Open);
}

#[test]
fn requests_are_bounded_by_caller_and_in_all() {
    let mut state = State::default();
    let mut number = 0;
    let mut ask = |state: &mut State, caller: usize, at: usize, now: u64| {
        number += 1;
        state.request(number.to_string(), deed(&caller.to_string(), &at.to_string()), true, HOLDS, now)
    };
    for caller in 0..MAX_WAITING / MAX_WAITING_OF_ONE {
        for at in 0..MAX_WAITING_OF_ONE {
            ask(&mut state, caller, at, 0).expect("there is room");
        }
        // The same is asked once, also at the limit.
        let first = ask(&mut state, caller, 0, 1).expect("it is there");
        assert_eq!(first.since, 0);
        assert_eq!(ask(&mut state, caller, MAX_WAITING_OF_ONE, 0), Err(Full), "of one");
    }
    assert_eq!(ask(&mut state, 100, 0, 0), Err(Full), "of all");
    assert_eq!(state.requests.len(), MAX_WAITING);
    // What is decided makes room for as many as are kept of one caller.
    let own: Vec<String> =
        state.clone().live(0).iter().filter(|one| one.call.by == "0").map(|one| one.id.clone()).collect();
    for id in own {
        state.decide(&id, Decision::Denied, 0);
    }
    for at in MAX_WAITING_OF_ONE..MAX_OF_ONE {
        ask(&mut state, 0, at, 0).expect("there is room");
    }
    let waiting: Vec<String> =
        state.clone().live(0).iter().filter(|one| one.call.by == "0").map(|one| one.id.clone()).collect();
    for id in waiting {
        state.decide(&id, Decision::Denied, 0);
    }
    assert_eq!(ask(&mut state, 0, MAX_OF_ONE, 0), Err(Full), "with those that were decided");
    assert_eq!(state.remember("user".into(), deed("0", "x"), HOLDS, 0), Err(Full));
    // Time makes room.
    ask(&mut state, 0, MAX_OF_ONE, HOLDS).expect("there is room");
    assert_eq!(state.requests.len(), 1);
}

#[test]
fn all_requests_together_are_bounded() {
    let mut state = State::default();
    for at in 0..MAX_REQUESTS {
        let caller = (at / MAX_OF_ONE).to_string();
        state.remember(at.to_string(), deed_of(&caller, "1", &at.to_string(), "{}"), HOLDS, 0).expect("there is room");
    }
    assert_eq!(state.request("id".into(), deed("new", "{}"), true, HOLDS, 0), Err(Full));
}

#[test]
fn used_answers_are_kept_until_they_expire_and_bounded() {
    let mut state = State::default();
    for at in 0..MAX_SPENT_OF_ONE {
        assert_eq!(state.spend(&at.to_string(), "ci", 10, 0), Ok(true));
    }
    assert_eq!(state.spend("0", "ci", 10, 10), Ok(false));
    assert_eq!(state.spend("0", "me", 10, 10), Ok(false), "whoever sends it");
    assert_eq!(state.spend("new", "ci", 10, 10), Err(Full), "none is forgotten for it");
    for caller in 1..MAX_SPENT / MAX_SPENT_OF_ONE {
        for at in 0..MAX_SPENT_OF_ONE {
            assert_eq!(state.spend(&format!("{caller} {at}"), &caller.to_string(), 10, 0), Ok(true));
        }
    }
    assert_eq!(state.spend("new", "new", 10, 0), Err(Full), "of all");
    assert_eq!(state.spend("0", "ci", 20, 11), Ok(true), "it has expired itself by then");
}

#[test]
fn a_state_of_the_largest_size_can_be_read() {
    let mut state = State::default();
    let longest = "\\".repeat(4000);
    for at in 0..MAX_REQUESTS {
        let mut call = deed(&(at / MAX_OF_ONE).to_string(), &format!("{at}{longest}"));
        call.by = longest[..512].to_owned();
        let (decision, by) = (Decision::Denied, Some(Decider::Operator));
        let request =
            Request { id: at.to_string(), call, once: true, decision, by, since: 0, expires: 1, holds: u64::MAX };
        state.add(request).expect("there is room");
    }
    for at in 0..MAX_SPENT {
        state.spend(&at.to_string(), &(at / MAX_SPENT_OF_ONE).to_string(), u64::MAX, 0).expect("there is room");
    }
    assert!((serde_json::to_vec(&state).expect("JSON").len() as u64) < crate::approvals::MAX_SIZE);
}

/// What users allowed does not count any more, and does not stand before what an operator allows.
#[test]
fn decisions_of_operators_alone_can_count() {
    let operators = Wanted { of_operator: true, ..WHILE };
    let mut state = State::default();
    let call = deed("ci", "{}");
    state.remember("1".into(), call.clone(), HOLDS, 0).expect("room");
    assert_eq!(state.standing(&call, WHILE, 1), Standing::Allowed { by: Decider::User });
    assert_eq!(state.standing(&call, operators, 1), Standing::Open);
    state.request("2".into(), call.clone(), false, HOLDS, 1).expect("room");
    state.decide("2", Decision::Allowed, 2);
    assert_eq!(state.standing(&call, operators, 3), ALLOWED);
    assert_eq!(state.standing(&call, Wanted { holds: 2, ..operators }, 3), ALLOWED);
    assert_eq!(state.standing(&call, Wanted { holds: 2, ..operators }, 4), Standing::Open, "settings are shorter now");
    // One denial ends all that allows the tool.
    state.request("3".into(), deed("ci", r#"{"a":1}"#), false, HOLDS, 4).expect("room");
    state.decide("3", Decision::Allowed, 4);
    state.decide("2", Decision::Denied, 4);
    assert_eq!(state.standing(&call, operators, 5), Standing::Denied);
    assert_eq!(state.standing(&deed("ci", r#"{"b":1}"#), WHILE, 5), Standing::Denied);
    state.decide("2", Decision::Allowed, 5);
    assert_eq!(state.standing(&deed("ci", r#"{"b":1}"#), WHILE, 6), ALLOWED);
}
