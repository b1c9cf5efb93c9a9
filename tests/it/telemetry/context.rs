//! Trace context: what a sender says of its trace, and how far that goes.

use super::*;

/// A server whose plugin `online` may reach the site, with more in `[telemetry]`.
fn home_of(collector: &Collector, site: &Site, more: &str) -> Home {
    let home = Home::with(&["online"]);
    home.configure(&format!("{}[plugins.online.grants]\n{}", collector.config(more), site.grant()));
    home
}

/// A call that requests the site, with those members of `_meta` and header fields of the guest's own.
fn fetch(site: &Site, meta: Value, headers: Value) -> Value {
    json!({"name": "online_fetch", "arguments": {"url": site.url("/"), "headers": headers}, "_meta": meta})
}

fn parent(flags: &str) -> String {
    format!("00-{TRACE}-{PARENT}-{flags}")
}

fn answering() -> Site {
    Site::start(|_, connection| write(connection, "200 OK", "", "yes"))
}

#[test]
fn a_state_goes_with_the_parent_that_it_came_with() {
    let (collector, site) = (Collector::start("200 OK"), answering());
    let home = home_of(&collector, &site, "");
    let mut client = Client::start(&home);
    // A state of the guest is none of the trace that services are told of.
    let own = || json!([["Traceparent", parent("01")], ["Tracestate", "guest=1"]]);
    client.result("tools/call", fetch(&site, json!({"traceparent": parent("01"), "tracestate": "a=1, b=2"}), own()));
    client.result("tools/call", fetch(&site, json!({"traceparent": parent("01")}), own()));
    client.result("tools/call", fetch(&site, json!({"traceparent": parent("01"), "tracestate": "no state"}), own()));
    client.result("tools/call", fetch(&site, json!({"tracestate": "a=1"}), own()));
    client.finish();
    let heads = site.heads();
    let told: Vec<Option<&str>> = heads.iter().map(|head| field(head, "tracestate")).collect();
    assert_eq!(told, [Some("a=1,b=2"), None, None, None]);
    assert!(heads.iter().all(|head| head.matches("traceparent: ").count() == 1), "{heads:?}");
    let is_told = |span: &Span| span.trace_state == "a=1,b=2" && span.kind == SpanKind::Client as i32;
    let spans = collector.spans(is_told);
    assert!(spans.iter().any(|span| span.trace_state == "a=1,b=2" && span.kind == SpanKind::Server as i32));
}

#[test]
fn lines_of_the_header_are_one_state() {
    let (collector, site) = (Collector::start("200 OK"), answering());
    let home = home_of(&collector, &site, "");
    let (_process, address) = serve(&home, &[]);
    let endpoint = Endpoint::new(address);
    let call = stateless(1, "tools/call", json!({"name": "online_fetch", "arguments": {"url": site.url("/")}}));
    let request = endpoint.post(&call).with("Traceparent", &parent("01")).with("Tracestate", "a=1");
    let response = HttpConnection::connect(address).exchange(&request.with("tracestate", "b=2"));
    assert_eq!(response.status, 200, "{response:?}");
    assert_eq!(field(&site.heads()[0], "tracestate"), Some("a=1,b=2"));
}

#[test]
fn what_a_guest_does_is_within_its_span() {
    let (collector, site) = (Collector::start("200 OK"), answering());
    let home = home_of(&collector, &site, "");
    home.put("notes", "notes");
    home.configure(&format!(
        "{}[plugins.online.grants]\n{}[plugins.notes.grants]\nkeyvalue = true\n",
        collector.config(""),
        site.grant()
    ));
    let mut client = Client::start(&home);
    client.result("tools/call", fetch(&site, json!({}), json!([])));
    client.call("notes_list", json!({}));
    client.finish();
    let spans = collector.spans(|span| span.name.starts_with("keyvalue "));
    for own in spans.iter().filter(|span| span.name == "GET" || span.name.starts_with("keyvalue ")) {
        let guest = spans.iter().find(|span| span.span_id == own.parent_span_id).expect("its parent");
        assert_eq!((&*guest.name, &guest.trace_id), ("guest", &own.trace_id), "{own:?}");
        let request = spans.iter().find(|span| span.span_id == guest.parent_span_id).expect("the request");
        assert!(request.name.starts_with("tools/call "), "{request:?}");
    }
    assert_eq!(spans.iter().filter(|span| span.name == "GET").count(), 1);
}

#[test]
fn a_sampler_may_ignore_what_senders_say() {
    let (collector, site) = (Collector::start("200 OK"), answering());
    let told = |more: &str| {
        let home = home_of(&collector, &site, more);
        let mut client = Client::start(&home);
        client.result("tools/call", fetch(&site, json!({"traceparent": parent("01")}), json!([])));
        client.finish();
        let head = site.heads().pop().expect("a request");
        field(&head, "traceparent").expect("a parent").rsplit('-').next().map(str::to_owned)
    };
    assert_eq!(told("sample = 0.0").as_deref(), Some("01"));
    assert_eq!(told("sample = 0.0\nsampler = 'traceidratio'").as_deref(), Some("00"));
    assert_eq!(told("sample = 1.0\nsampler = 'traceidratio'").as_deref(), Some("01"));
}
