//! MCP servers that are components: hostile responses of HTTP, at the listing and in calls, and hostile questions.

use serde_json::{Map, Value, json};

use crate::Row;
use crate::arena::{Arena, Setup};
use crate::support::home::component;

pub(crate) const ROWS: &[Row] =
    rows![h79_servers_that_do_not_answer, h80_servers_that_hang_the_listing, h81_servers_with_wrong_questions,];

/// Calls under several names, since a plugin is quarantined after five faults.
fn faults(arena: &mut Arena, tool: &str, calls: impl IntoIterator<Item = (Value, &'static str)>) {
    for (n, (arguments, code)) in calls.into_iter().enumerate() {
        let plugin = format!("served{}", n / 4);
        if n % 4 == 0 {
            arena.loads_guest("served", &plugin);
        }
        arena.fault(&format!("{plugin}_{tool}"), arguments, code);
    }
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
    faults(&mut arena, "fault", calls.map(|(how, code)| (json!({ "how": how }), code)));
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
    let guest = std::fs::read(component("served")).expect("a guest");
    for (mode, why) in modes {
        arena.refuses(mode, &guest, why);
    }
    arena
}

fn h81_servers_with_wrong_questions(setup: Setup) -> Arena {
    let names: Vec<String> = (0..3).map(|n| format!("[plugins.served{n}.grants]\nelicit = true\n")).collect();
    let mut arena = setup.open(&names.concat());
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
    faults(&mut arena, "ask", questions.into_iter().map(|requests| (asks(requests), "bad-output")));
    arena
}
