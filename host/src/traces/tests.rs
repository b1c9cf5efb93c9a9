use std::sync::Arc;
use std::time::{Duration, Instant};

use super::*;

fn on(sampler: Sampler, max: usize) -> (Traces, Arc<Queue>) {
    let queue = Arc::new(Queue::new(max, 512));
    (Traces::on(sampler, queue.clone()).expect("random numbers"), queue)
}

fn taken(queue: &Queue) -> Batch {
    queue.take(Instant::now())
}

fn parent(is_sampled: bool) -> TraceParent {
    let state = TraceState::parse("vendor=1");
    TraceParent { trace: [7; 16], span: [8; 8], is_sampled, state }
}

/// Of one caller.
fn begin(traces: &Traces, parent: Option<&TraceParent>) -> Option<Arc<Trace>> {
    traces.begin(&"caller".into(), parent)
}

#[test]
fn a_trace_is_handed_over_when_nobody_knows_it_any_more() {
    let (traces, queue) = on(Sampler::default(), 9);
    let trace = begin(&traces, Some(&parent(true))).expect("on");
    trace.describe(|| ("call".into(), vec![("plugin", Value::Text("a".into()))]));
    let open = trace.span(None, "guest");
    let mut span = trace.span(Some(open.id()), "http").remote();
    let told = span.context();
    span.add([("status", Value::Integer(500))]);
    span.set_error("500");
    drop(span);
    trace.set_error("first");
    trace.set_error("second");
    trace.end();
    drop(trace);
    assert!(taken(&queue).ended.is_empty(), "a span is still open");
    drop(open);
    let ended = taken(&queue).ended;
    let [ended] = ended.as_slice() else { panic!("one trace") };
    assert_eq!((ended.own.trace, ended.parent), ([7; 16], Some([8; 8])));
    assert_eq!((&*ended.name, ended.error.as_deref()), ("call", Some("first")));
    let [http, guest] = ended.spans.as_slice() else { panic!("two spans") };
    assert_eq!((told.trace, told.span, told.is_sampled), ([7; 16], http.id, true));
    assert!(http.is_remote && !guest.is_remote && http.id != guest.id);
    assert_eq!((http.within, guest.within), (Some(guest.id), None));
    assert_eq!(told.state, parent(true).state, "it goes with the parent");
    assert_eq!(http.error.as_deref(), Some("500"));
    assert!(guest.began <= http.began && ended.took >= http.took);
}

#[test]
fn what_is_not_sampled_has_a_context_and_is_not_kept() {
    let (traces, queue) = on(Sampler::default(), 9);
    let trace = begin(&traces, Some(&parent(false))).expect("on");
    trace.describe(|| panic!("it is not collected"));
    let context = trace.span(None, "http").context();
    assert_eq!((context.trace, context.is_sampled), ([7; 16], false));
    drop(trace);
    assert!(taken(&queue).ended.is_empty());
    assert!(begin(&Traces::default(), None).is_none());
}

#[test]
fn the_sampler_decides_for_those_without_a_parent() {
    let sampled = |sampler: Sampler, parent: Option<TraceParent>| {
        let (traces, _) = on(sampler, 9);
        let number =
            (0..2000).filter(|_| begin(&traces, parent.as_ref()).is_some_and(|trace| trace.own().is_sampled)).count();
        number as f64 / 2000.0
    };
    let own = |ratio| Sampler { follows_parent: false, ratio };
    assert!((sampled(own(0.25), None) - 0.25).abs() < 0.06);
    for (sampler, parent, expected) in [
        (own(0.0), None, 0.0),
        (own(1.0), None, 1.0),
        (own(1.0), Some(parent(false)), 1.0),
        (own(0.0), Some(parent(true)), 0.0),
        (Sampler { ratio: 0.0, ..Sampler::default() }, Some(parent(true)), 1.0),
        (Sampler::default(), Some(parent(false)), 0.0),
    ] {
        let shown = format!("{sampler:?} {parent:?}");
        assert_eq!(sampled(sampler, parent), expected, "{shown}");
    }
}

#[test]
fn spans_and_traces_that_wait_are_bounded() {
    let (traces, queue) = on(Sampler::default(), 3);
    let trace = begin(&traces, None).expect("on");
    for _ in 0..MAX_SPANS + 2 {
        drop(trace.span(None, "http"));
    }
    drop(trace);
    for _ in 0..4 {
        drop(begin(&traces, None));
    }
    let batch = taken(&queue);
    assert_eq!((batch.ended.len(), batch.dropped), (3, 2));
    assert_eq!((batch.ended[0].spans.len(), batch.ended[0].dropped), (MAX_SPANS, 2));
    assert_eq!(taken(&queue).dropped, 0);
    queue.close();
    drop(begin(&traces, None));
    let batch = taken(&queue);
    assert!(batch.is_closed && batch.ended.is_empty() && batch.dropped == 1);
}

#[test]
fn one_caller_takes_no_room_of_the_others() {
    const MAX: usize = 40;
    let (traces, queue) = on(Sampler::default(), MAX);
    let by = |caller: &str, trace: u8, number: usize| {
        for _ in 0..number {
            drop(traces.begin(&caller.into(), Some(&TraceParent { trace: [trace; 16], ..parent(true) })));
        }
    };
    by("many", 1, 20_000);
    by("few", 2, 5);
    by("other", 3, MAX);
    by("many", 1, 20_000);
    let batch = taken(&queue);
    let count = |trace: u8| batch.ended.iter().filter(|ended| ended.own.trace == [trace; 16]).count();
    assert_eq!(batch.ended.len(), MAX);
    assert_eq!(count(2), 5, "all of one who sends little");
    assert!(count(1).abs_diff(count(3)) <= 1, "{} {}", count(1), count(3));
    assert_eq!(batch.dropped as usize, 40_000 + 5 + MAX - MAX);
    // As many callers as there is room for: the next one waits for room.
    for caller in 0..=MAX {
        by(&caller.to_string(), 4, 1);
    }
    let batch = taken(&queue);
    assert_eq!((batch.ended.len(), batch.dropped), (MAX, 1));
}

#[test]
fn what_begins_before_the_limit_is_kept_though_it_ends_last() {
    let (traces, queue) = on(Sampler::default(), 9);
    let trace = begin(&traces, None).expect("on");
    let guest = trace.span(None, "guest");
    for _ in 0..MAX_SPANS {
        drop(trace.span(None, "http"));
    }
    drop((guest, trace));
    let ended = taken(&queue).ended;
    assert_eq!((ended[0].spans.len(), ended[0].dropped), (MAX_SPANS, 1));
    assert_eq!(ended[0].spans.last().map(|span| &*span.name), Some("guest"));
}

#[test]
fn a_full_batch_is_not_waited_for() {
    let queue = Arc::new(Queue::new(9, 2));
    let traces = Traces::on(Sampler::default(), queue.clone()).expect("random numbers");
    let waiting = std::thread::spawn({
        let queue = queue.clone();
        move || queue.take(Instant::now() + Duration::from_secs(60)).ended.len()
    });
    for _ in 0..2 {
        drop(begin(&traces, None));
    }
    assert_eq!(waiting.join().expect("no panic"), 2);
}

#[test]
fn ids_differ() {
    let (traces, _) = on(Sampler::default(), 1);
    let ids: std::collections::HashSet<_> =
        (0..1000).filter_map(|_| begin(&traces, None)).map(|trace| (trace.own().trace, trace.own().span)).collect();
    assert_eq!(ids.len(), 1000);
}
