use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{Budget, Budgets, Charge, Exhausted, Kind, Limits, MAX_ACCOUNTS, Per};
use crate::identity::Identity;
use crate::rights::{Condition, Implications, Item, Pattern};

const MINUTE: Duration = Duration::from_secs(60);
const BY_SUBJECT: Per = Per { subject: true, plugin: false, tool: false };

fn pattern(text: &str) -> Pattern {
    Pattern::new(text).expect("a pattern")
}

fn budget(name: &str, per: Per, limits: Limits) -> Budget {
    let (plugins, tools) = (Vec::new(), Vec::new());
    Budget { name: name.into(), when: Condition::default(), plugins, tools, per, limits }
}

fn limits() -> Limits {
    Limits { window: MINUTE, ..Limits::default() }
}

fn budgets(all: Vec<Budget>) -> Arc<Budgets> {
    let budgets = Arc::new(Budgets::default());
    budgets.replace(all, Implications::default());
    budgets
}

/// A call of a tool.
fn call(budgets: &Arc<Budgets>, who: &str, tool: &str, now: Instant) -> Result<Option<Arc<Charge>>, Exhausted> {
    budgets.begin(&Identity::token(who), "notes", Item::Tool(tool), 0, now)
}

fn wait(outcome: Result<Option<Arc<Charge>>, Exhausted>) -> (Kind, u64) {
    let exhausted = outcome.expect_err("the budget is used up");
    (exhausted.kind, exhausted.seconds().unwrap_or(0))
}

#[test]
fn calls_come_back_within_the_window() {
    let all = budgets(vec![budget("all", BY_SUBJECT, Limits { calls: Some(6), ..limits() })]);
    let start = Instant::now();
    for _ in 0..6 {
        assert!(call(&all, "ada", "add", start).is_ok_and(|charge| charge.is_some()));
    }
    assert_eq!(wait(call(&all, "ada", "add", start)), (Kind::Calls, 10));
    let later = start + Duration::from_secs(4);
    assert_eq!(wait(call(&all, "ada", "add", later)), (Kind::Calls, 6), "what is refused costs nothing");
    assert!(call(&all, "bob", "add", start).is_ok());
    let later = start + Duration::from_secs(10);
    assert!(call(&all, "ada", "add", later).is_ok());
    assert!(call(&all, "ada", "add", later).is_err());
    // No more than all of it comes back.
    let later = start + 10 * MINUTE;
    assert_eq!((0..10).filter(|_| call(&all, "ada", "add", later).is_ok()).count(), 6);
}

#[test]
fn what_is_known_late_is_paid_back() {
    let tight = Limits { cpu: Some(Duration::from_secs(10)), bytes: Some(1000), ..limits() };
    let all = budgets(vec![budget("all", BY_SUBJECT, tight)]);
    let start = Instant::now();
    let first = call(&all, "ada", "add", start).expect("it is open").expect("it is counted");
    let second = call(&all, "ada", "add", start).expect("nothing is known yet").expect("it is counted");
    first.cpu(Duration::from_secs(15));
    second.cpu(Duration::from_secs(15));
    // Overdrawn by 20 of 10 seconds a minute.
    assert_eq!(wait(call(&all, "ada", "add", start)), (Kind::Cpu, 120));
    assert!(call(&all, "ada", "add", start + Duration::from_secs(121)).is_ok());
    let later = start + 10 * MINUTE;
    first.output(1500);
    assert!(call(&all, "ada", "add", later).is_ok());
    let input = all.begin(&Identity::token("bob"), "notes", Item::Rest, 1000, start).expect("it is open");
    assert_eq!(wait(call(&all, "bob", "add", start)), (Kind::Bytes, 1));
    drop(input);
    // Half of it is there again.
    let later = start + MINUTE / 2;
    let of = |bytes| all.begin(&Identity::token("bob"), "notes", Item::Rest, bytes, later);
    assert_eq!(wait(of(800)), (Kind::Bytes, 18));
    assert_eq!(wait(of(1000)), (Kind::Bytes, 30));
    assert_eq!(wait(of(1001)), (Kind::Bytes, 0), "it never fits");
    assert!(of(400).is_ok());
}

#[test]
fn a_call_runs_until_its_last_reference_is_dropped() {
    let all = budgets(vec![budget("all", BY_SUBJECT, Limits { concurrent: Some(2), ..limits() })]);
    let start = Instant::now();
    let one = call(&all, "ada", "add", start).expect("it is open");
    let guest = one.clone();
    let _two = call(&all, "ada", "add", start).expect("it is open");
    assert_eq!(wait(call(&all, "ada", "add", start)), (Kind::Running, 1));
    drop(one);
    assert!(call(&all, "ada", "add", start).is_err(), "the guest still runs");
    drop(guest);
    assert!(call(&all, "ada", "add", start).is_ok());
}

#[test]
fn what_is_refused_by_one_is_charged_to_none() {
    let per_tool = Per { subject: true, plugin: false, tool: true };
    let all = budgets(vec![
        budget("all", Per::default(), Limits { calls: Some(3), ..limits() }),
        budget("each", per_tool, Limits { calls: Some(1), ..limits() }),
    ]);
    let start = Instant::now();
    assert!(call(&all, "ada", "add", start).is_ok());
    for _ in 0..5 {
        assert_eq!(call(&all, "ada", "add", start).map(drop).map_err(|error| error.budget), Err("each".into()));
    }
    assert!(call(&all, "ada", "list", start).is_ok());
    assert!(call(&all, "bob", "add", start).is_ok());
    assert_eq!(call(&all, "eve", "add", start).map(drop).map_err(|error| error.budget), Err("all".into()));
    let used = all.usage(10);
    assert_eq!(used.len(), 4, "{used:?}");
    // All of them are used up, so that their order is not determined.
    let mut seen: Vec<(&str, Option<&str>, u64)> =
        used.iter().map(|usage| (&*usage.budget, usage.tool.as_deref(), usage.refused)).collect();
    seen.sort_unstable();
    let each = |refused| ("each", Some("add"), refused);
    assert_eq!(seen, [("all", None, 1), each(0), each(5), ("each", Some("list"), 0)]);
    assert_eq!(all.usage(2).len(), 2);
}

#[test]
fn it_counts_what_it_names() {
    let named = Budget {
        plugins: vec![pattern("sum*")],
        tools: vec![(pattern("notes"), pattern("get_*"))],
        ..budget("named", Per::default(), Limits { calls: Some(1), ..limits() })
    };
    let all = budgets(vec![named]);
    let who = Identity::local();
    for (plugin, item, counts) in [
        ("summary", Item::Tool("x"), true),
        ("summary", Item::Rest, true),
        ("summary", Item::Resource("a://b"), true),
        ("notes", Item::Tool("get_all"), true),
        ("notes", Item::Tool("add"), false),
        ("notes", Item::Prompt("get_all"), false),
        ("text", Item::Tool("get_all"), false),
    ] {
        let begun = all.begin(&who, plugin, item, 0, Instant::now());
        let is_counted = !matches!(begun, Ok(None));
        assert_eq!(is_counted, counts, "{plugin} {item:?}");
    }
}

#[test]
fn changed_limits_forget_nothing() {
    let of = |calls| budget("all", BY_SUBJECT, Limits { calls: Some(calls), concurrent: Some(10), ..limits() });
    let all = budgets(vec![of(4)]);
    let start = Instant::now();
    let running: Vec<_> = (0..4).map(|_| call(&all, "ada", "add", start).expect("it is open")).collect();
    all.replace(vec![of(4), budget("new", Per::default(), limits())], Implications::default());
    assert!(call(&all, "ada", "add", start).is_err());
    all.replace(vec![of(6)], Implications::default());
    assert_eq!((0..4).filter(|_| call(&all, "ada", "add", start).is_ok()).count(), 2);
    all.replace(vec![of(1)], Implications::default());
    assert!(call(&all, "ada", "add", start).is_err());
    // Those that run are counted when they end, also without a budget.
    all.replace(Vec::new(), Implications::default());
    assert!(matches!(call(&all, "ada", "add", start), Ok(None)));
    drop(running);
}

#[test]
fn accounts_are_bounded() {
    let all = budgets(vec![budget("all", BY_SUBJECT, Limits { calls: Some(2), ..limits() })]);
    let start = Instant::now();
    for number in 0..MAX_ACCOUNTS {
        assert!(call(&all, &number.to_string(), "add", start).is_ok());
    }
    // Newcomers share one account, and the others keep theirs.
    let newcomers = (0..100).filter(|number| call(&all, &format!("new-{number}"), "add", start).is_ok()).count();
    assert_eq!(newcomers, 2);
    assert!(call(&all, "7", "add", start).is_ok());
    assert!(call(&all, "7", "add", start).is_err());
    // What is paid back makes room.
    let later = start + MINUTE;
    assert!(call(&all, "new-50", "add", later).is_ok());
    assert!(super::lock(&all.accounts).by_key.len() < 10);
}

/// What one process tells another one.
fn tell(from: &Arc<Budgets>, to: &Arc<Budgets>, process: &str, at: u64, now: Instant) {
    to.spent_elsewhere(process, &from.recent_spending(100).accounts, (at, Duration::ZERO), now);
}

fn six() -> Arc<Budgets> {
    budgets(vec![budget("all", BY_SUBJECT, Limits { calls: Some(6), window: 60 * MINUTE, ..Limits::default() })])
}

fn calls(budgets: &Arc<Budgets>, times: usize, now: Instant) -> usize {
    (0..times).filter(|_| call(budgets, "ada", "add", now).is_ok()).count()
}

#[test]
fn what_other_processes_spend_is_spent_once() {
    let (one, two, now) = (six(), six(), Instant::now());
    // Before they know of each other.
    assert_eq!((calls(&one, 1, now), calls(&two, 2, now)), (1, 2));
    tell(&one, &two, "one", 1, now);
    tell(&two, &one, "two", 1, now);
    assert_eq!(calls(&two, 1, now), 1);
    // The same again, and the difference to the last.
    tell(&two, &one, "two", 1, now);
    tell(&two, &one, "two", 2, now);
    assert_eq!(calls(&one, 9, now), 2);
    tell(&one, &two, "one", 2, now);
    assert_eq!(calls(&two, 9, now), 0);
    // One that comes late says nothing new.
    let before = two.usage(9);
    two.spent_elsewhere("one", &one.recent_spending(100).accounts, (1, Duration::ZERO), now);
    assert_eq!(two.usage(9).len(), before.len());
    assert_eq!(calls(&two, 9, now), 0);
}

#[test]
fn a_process_that_starts_hears_of_all_that_was_spent() {
    let (one, two, now) = (six(), six(), Instant::now());
    assert_eq!(calls(&one, 3, now), 3);
    tell(&one, &two, "one", 1, now);
    assert_eq!(calls(&two, 2, now), 2);
    tell(&two, &one, "two", 1, now);
    let third = six();
    // Half of the window later, half of it has come back; two has said so too.
    let ago = Duration::from_secs(30 * 60);
    for (process, of) in [("one", &one), ("two", &two)] {
        third.spent_elsewhere(process, &of.spending(100), (1, ago), now);
    }
    assert_eq!(calls(&third, 9, now), 3);
    let fourth = six();
    fourth.spent_elsewhere("two", &two.spending(100), (1, Duration::ZERO), now);
    assert_eq!(calls(&fourth, 9, now), 1, "also what others have told it");
}

#[test]
fn calls_that_run_elsewhere_count_while_one_hears_of_them() {
    let limits = Limits { concurrent: Some(2), ..limits() };
    let all = || budgets(vec![budget("all", BY_SUBJECT, limits)]);
    let (one, two, now) = (all(), all(), Instant::now());
    let charge = call(&one, "ada", "add", now).expect("free").expect("counted");
    let own = call(&two, "ada", "add", now).expect("free").expect("counted");
    tell(&one, &two, "one", 1, now);
    assert_eq!(wait(call(&two, "ada", "add", now)), (Kind::Running, 1));
    let later = now + super::elsewhere::HEARD;
    assert!(call(&two, "ada", "add", later).is_ok(), "it may have died");
    drop((charge, own));
    assert!(one.recent_spending(9).has_changed);
    tell(&one, &two, "one", 2, later);
    assert!(call(&two, "ada", "add", later).is_ok());
}

#[test]
fn reports_are_no_place_for_nonsense() {
    let (one, now) = (six(), Instant::now());
    for said in [
        r#"{"budget":"all","subject":"ada","spent":[-1,0,0],"own":[0,0,0],"used":[0,0,0]}"#,
        r#"{"budget":"all","subject":"ada","spent":[0,0,0],"own":[0,0,0],"used":[-9,0,0]}"#,
        r#"{"budget":"other","subject":"ada","spent":[9,0,0],"own":[9,0,0],"used":[9,0,0]}"#,
    ] {
        let said = serde_json::from_str(said).expect("JSON");
        one.spent_elsewhere("two", &[said], (1, Duration::ZERO), now);
    }
    assert_eq!(one.usage(9), []);
    // Nor is a number too large for a process.
    let said =
        r#"{"budget":"all","subject":"ada","spent":[1e300,1,1],"own":[1e300,0,0],"used":[0,0,0],"running":4294967295}"#;
    one.spent_elsewhere("two", &[serde_json::from_str(said).expect("JSON")], (1, Duration::ZERO), now);
    assert_eq!(wait(call(&one, "ada", "add", now)).0, Kind::Calls);
}
