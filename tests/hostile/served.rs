//! MCP servers that are components: hostile responses of HTTP, at the listing and in calls, and hostile questions.

use serde_json::{Map, Value, json};

use crate::Row;
use crate::arena::{Arena, Setup};
use crate::support::home::component;

pub(crate) const ROWS: &[Row] =
    rows![h79_servers_that_do_not_answer, h80_servers_that_hang_the_listing, h81_servers_with_wrong_questions,];

fn guest() -> Vec<u8> {
    std::fs::read(component("served")).expect("a guest")
}

fn h79_servers_that_do_not_answer(setup: Setup) -> Arena {
    let mut arena = setup.open("");
    let calls = [
        ("endless", "output-too-large"),
        ("endless-stream", "output-too-large"),
        ("unfinished", "bad-output"),
        ("silent", "bad-output"),
        ("other", "bad-output"),
        ("nested", "bad-output"),
        ("values", "bad-output"),
        ("redirect", "bad-output"),
        ("no-events", "bad-output"),
        ("panic", "trap"),
    ];
    arena.faults_with(&guest(), &calls.map(|(how, code)| ("fault", json!({ "how": how }), code)));
    arena
}

fn h80_servers_that_hang_the_listing(setup: Setup) -> Arena {
    let modes = [
        ("spinning", "within its time limit"),
        ("panicking", "crashed"),
        ("silent", "no response"),
        ("redirecting", "a redirection"),
        ("many", "more than 128 entries"),
        ("pages", "more than 32 pages"),
        ("nested", "not valid JSON"),
        ("html", "not valid JSON"),
    ];
    let settings: String =
        modes.iter().map(|(mode, _)| format!("[plugins.{mode}.grants]\nenv = {{ MODE = \"{mode}\" }}\n")).collect();
    let mut arena = setup.open(&settings);
    let guest = guest();
    for (mode, why) in modes {
        arena.refuses(mode, &guest, why);
    }
    arena
}

fn h81_servers_with_wrong_questions(setup: Setup) -> Arena {
    let granted = ["first", "second", "third"].map(|plugin| format!("[plugins.{plugin}.grants]\nelicit = true\n"));
    let mut arena = setup.open(&granted.concat());
    let roots = || json!({ "method": "roots/list" });
    let form = |schema: Value| json!({ "q": { "method": "elicitation/create", "params": { "message": "m", "requestedSchema": schema } } });
    let field = |field: Value| form(json!({ "type": "object", "properties": { "a": field } }));
    let visit = |url: &str| json!({ "q": { "method": "elicitation/create", "params": { "mode": "url", "message": "m", "url": url } } });
    let crowd: Map<String, Value> = (0..1000).map(|n| (format!("q{n}"), roots())).collect();
    let questions = [
        crowd.into(),
        json!({ "k".repeat(1 << 16): roots() }),
        json!({ format!("wharf/{}", "k".repeat(1 << 16)): roots() }),
        json!({ "a\u{202e}b": roots() }),
        field(json!({ "$ref": "https://schema.example/" })),
        field(json!({ "type": "string", "pattern": "(((((a{1,99}){1,99}){1,99}){1,99}){1,99})" })),
        field(json!({ "type": "string", "title": "x".repeat(1 << 17) })),
        visit("https://bank.example@evil.example/"),
        visit("javascript:alert(1)"),
    ];
    let asks = |requests| json!({ "result": { "resultType": "input_required", "inputRequests": requests } });
    arena.faults_with(&guest(), &questions.map(|requests| ("ask", asks(requests), "bad-output")));
    arena
}
