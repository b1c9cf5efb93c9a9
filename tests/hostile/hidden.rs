//! Texts with invisible characters, and secrets in various encodings.

use std::fmt::Write as _;
use std::fs;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde_json::{Value, json};

use crate::Row;
use crate::arena::{Arena, Setup};
use crate::support::client::first_text;
use crate::support::guest::Guest;
use crate::support::process::run;
use crate::support::site::{Site, write};

pub(crate) const ROWS: &[Row] = rows![h77_invisible_characters, h78_encoded_secrets,];

/// Runs of characters that are invisible (Default_Ignorable_Code_Point) or change the direction of
/// text.
fn invisible() -> Vec<String> {
    let run = |from: u32| -> String { (0..6).filter_map(|n| char::from_u32(from + n)).collect() };
    let twice = |c: char| String::from_iter([c; 4]);
    let mut all: Vec<String> =
        [0xe0001, 0xe0041, 0xe0080, 0xe0100, 0xe01f0, 0xe0f00, 0xe0ffa, 0x1bca0, 0x1d173, 0xfff0, 0x2060, 0x206a]
            .map(run)
            .into();
    // Not ignorable by default, and yet invisible: controls and fillers of one script beside another,
    // the object replacement character, kinds of spaces, and a variation selector after each ideograph.
    all.extend([0x13430, 0x13438, 0x2000, 0x2004, 0xfff8].map(run));
    all.extend(
        "\u{16fe4}\u{2d7f}\u{fffc}\u{10a3f}\u{1107f}\u{1039}\u{600}\u{110bd}\u{13441}\u{2028}".chars().map(twice),
    );
    all.push(
        (0..12u32)
            .filter_map(|n| Some([char::from_u32(0x8a9e + n)?, char::from_u32(0xe0100 + n)?]))
            .flatten()
            .collect(),
    );
    all.push(" \t\t \t  \t \t".repeat(3));
    all.extend("\u{34f}\u{61c}\u{115f}\u{1160}\u{17b4}\u{17b5}\u{180b}\u{180e}\u{200b}\u{200c}\u{200d}\u{202e}\u{2065}\u{2068}\u{3164}\u{fe00}\u{fe0f}\u{feff}\u{ffa0}".chars().map(twice));
    all
}

fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fff8}'
        | '\u{13430}'..='\u{13442}' | '\u{16fe4}' | '\u{2d7f}' | '\u{fffc}' | '\u{10a3f}' | '\u{1107f}' | '\u{1039}'
        | '\u{600}' | '\u{110bd}' | '\u{2028}'
        | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// The context of two such characters in a row, which no script or emoji needs.
fn hides(text: &str) -> Option<String> {
    let all: Vec<char> = text.chars().collect();
    let at = all.windows(2).position(|pair| pair.iter().all(|c| is_invisible(*c)))?;
    Some(all[at.saturating_sub(8)..(at + 8).min(all.len())].iter().collect::<String>().escape_unicode().to_string())
}

fn h77_invisible_characters(setup: Setup) -> Arena {
    let invisible = invisible();
    let names: Vec<String> = (0..invisible.len()).map(|n| format!("hidden{n}")).collect();
    let described = names.iter().zip(&invisible).fold(Guest::returning("1"), |guest, (name, run)| {
        let (schema, description) = (format!(r#"{{"type":"object","title":"Te{run}xt"}}"#), format!("Te{run}xt."));
        // Half of them are in the schema.
        if name.len() % 2 == 0 {
            guest.described(name, "Text.").input_schema(&schema)
        } else {
            guest.described(name, &description)
        }
    });
    let needed = "na\u{ef}ve \u{2764}\u{fe0f} \u{1f468}\u{200d}\u{1f469}\u{200d}\u{1f467} \u{645}\u{6cc}\u{200c}\u{62e}\u{648}\u{627}\u{647}\u{645}";
    let all: String = invisible.iter().map(|run| format!("a{run}b ")).collect();
    let guest = Guest::returning(&format!("{needed} {all}\u{9b}31m\rover\u{8}"))
        .logs("log", &all, 1, "")
        .logs_data("data", &format!("lo{}gger", invisible[1]), &json!({"a": all, "b": [all]}).to_string())
        .reports_progress("step", &all)
        .returns_structured("structure", &json!({"a": 1}).to_string());
    let mut arena = setup.open("");
    arena.loads_or_refuses("words", &described.described("last", "Text.").build(), Duration::from_secs(15));
    let listed = json!(arena.listed("tools"));
    let served: Vec<&String> =
        names.iter().filter(|name| listed.to_string().contains(&format!("\"words_{name}\""))).collect();
    assert!(served.is_empty(), "served with hidden characters: {served:?}");
    let log = arena.log();
    assert!(log.contains("U+13430") && log.contains("U+2002"), "the log does not name the hidden characters: {log}");
    assert!(listed.to_string().contains("words_last"), "a tool without hidden characters is not served: {listed}");

    arena.loads("p", &guest.build());
    let meta = || json!({"progressToken": "t", "io.modelcontextprotocol/logLevel": "debug"});
    for tool in ["version", "log", "data", "step"] {
        let id = arena.start_call_with_meta(&format!("p_{tool}"), json!({}), meta());
        let answer = arena.answer(id).message;
        let text = first_text(&answer["result"]).to_owned();
        assert!(
            text.starts_with(needed),
            "characters that scripts and emoji need are missing: {}",
            text.escape_unicode()
        );
        assert_eq!(hides(&text), None, "a result hides something");
        assert!(!text.contains(['\u{1b}', '\u{202e}', '\u{2068}']), "{}", text.escape_unicode());
    }
    for method in ["notifications/message", "notifications/progress"] {
        arena.until_within(Duration::from_secs(5), method, |arena| {
            arena.notifications.iter().any(|it| it["method"] == method)
        });
    }
    let strings = |value: &Value| -> Vec<String> {
        let (mut all, mut open) = (Vec::new(), vec![value.clone()]);
        while let Some(value) = open.pop() {
            match value {
                Value::String(text) => all.push(text),
                Value::Array(elements) => open.extend(elements),
                Value::Object(members) => open.extend(members.into_iter().map(|(_, value)| value)),
                _ => {}
            }
        }
        all
    };
    for notification in arena.notifications.iter() {
        for text in strings(notification) {
            assert_eq!(hides(&text), None, "hidden in {}", notification["method"]);
            assert!(
                !text.contains(['\u{e0041}', '\u{202e}']),
                "in {}: {}",
                notification["method"],
                text.escape_unicode()
            );
        }
    }
    // In the log.
    let log = arena.log();
    assert_eq!(hides(&log), None, "the log hides something");
    assert!(log.contains("\\u{2001}"), "the log does not escape the space");
    // On a terminal.
    let folder = arena.home.plugins();
    let output = arena.meanwhile_at_home(|home| run(home, ["call".as_ref(), folder.as_os_str(), "p_version".as_ref()]));
    let shown = String::from_utf8(output.stdout).expect("UTF-8");
    let steers = |c: char| c.is_control() && c != '\n' && c != '\t';
    assert!(!shown.contains(steers), "`call` prints control characters: {}", shown.escape_unicode());
    assert_eq!(hides(&shown), None, "`call` prints hidden characters");
    arena
}

/// A secret in the encodings of libraries that echo their input.
fn spellings(secret: &str) -> Vec<(&'static str, String)> {
    let each = |spell: &dyn Fn(char) -> String| -> String { secret.chars().map(spell).collect() };
    let only = |set: &'static str, spell: &'static dyn Fn(char) -> String| {
        each(&|c| if set.contains(c) { spell(c) } else { c.to_string() })
    };
    let percent = |c: char| format!("%{:02X}", u32::from(c));
    let percent: &'static dyn Fn(char) -> String = Box::leak(Box::new(percent));
    let unicode: &'static dyn Fn(char) -> String = Box::leak(Box::new(|c: char| format!("\\u{:04x}", u32::from(c))));
    let upper: &'static dyn Fn(char) -> String = Box::leak(Box::new(|c: char| format!("\\u{:04X}", u32::from(c))));
    let slash: &'static dyn Fn(char) -> String = Box::leak(Box::new(|c: char| format!("\\{c}")));
    let entity: &'static dyn Fn(char) -> String = Box::leak(Box::new(|c: char| {
        match c {
            '&' => "&amp;",
            '<' => "&lt;",
            _ => "&gt;",
        }
        .to_owned()
    }));
    const MARKS: &str = "/+&<=!()*~";
    let hex: String = secret.bytes().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    });
    vec![
        ("as it is", secret.to_owned()),
        ("PHP's JSON", only("/", slash)),
        ("JSON, all escaped", each(unicode)),
        ("JSON, upper case", only(MARKS, upper)),
        ("Go's JSON", only("&<", unicode)),
        (".NET's JSON", only("+&<", upper)),
        ("encodeURIComponent", only("/+&<=", percent)),
        ("Python's quote", only("+&<=!()*", percent)),
        ("a form", only("/+&<=!()*~", percent)),
        ("all percent", each(percent)),
        ("percent, lower case", each(percent).to_lowercase()),
        ("HTML", only("&<", entity)),
        ("HTML, decimal", each(&|c| format!("&#{};", u32::from(c)))),
        ("HTML, hexadecimal", each(&|c| format!("&#x{:x};", u32::from(c)))),
        (
            "HTML, punctuation only",
            each(&|c| if MARKS.contains(c) { format!("&#x{:02X};", u32::from(c)) } else { c.to_string() }),
        ),
        ("hexadecimal", hex.clone()),
        ("hexadecimal, upper case", hex.to_uppercase()),
        ("base64", STANDARD.encode(secret)),
        ("base64 of URLs", URL_SAFE_NO_PAD.encode(secret)),
    ]
}

fn h78_encoded_secrets(setup: Setup) -> Arena {
    const SECRET: &str = "tk/9Qa+zz&b0<Xy=Wv!R(7)*u~k/Ep+33";
    let spelt = Arc::new(spellings(SECRET));
    let answers = Arc::clone(&spelt);
    let site = Site::start(move |head, connection| {
        let number =
            head.split(' ').nth(1).and_then(|path| path.rsplit('/').next()).and_then(|n| n.parse::<usize>().ok());
        let body = number.and_then(|n| answers.get(n)).map_or("none", |(_, text)| text.as_str());
        write(connection, "200 OK", "Content-Type: text/plain\r\n", &format!("you sent: {body} (end)"));
    });
    fs::write(setup.home.path("config/wharf/api"), SECRET).expect("a file");
    let granted = format!(
        "[secrets]\napi = {{ file = 'api' }}\n[plugins.online.grants]\nhttp = [{{ url = '{}', private = true, headers = {{ Authorization = 'Bearer ${{api}}' }} }}]\n",
        site.url("")
    );
    let mut arena = setup.open(&granted);
    arena.loads_guest("online", "online");
    let mut through = Vec::new();
    for (n, (name, spelling)) in spelt.iter().enumerate() {
        let id = arena.start_call("online_fetch", json!({"url": site.url(&format!("/v1/{n}"))}));
        let answer = arena.answer(id).message;
        let text = first_text(&answer["result"]);
        assert!(text.contains("you sent: ") && text.contains("(end)"), "{name}: {text}");
        // A part that is long enough to be useful.
        let part: String = spelling.chars().take(spelling.chars().count() * 2 / 3).collect();
        if text.contains(&part) || !text.contains("[redacted api]") {
            through.push(*name);
        }
    }
    assert!(through.is_empty(), "a secret was not redacted in the encoding {through:?}");
    assert!(site.heads().iter().all(|head| head.contains(SECRET)), "the site was not sent the secret");
    let log = arena.log();
    assert!(!spelt.iter().any(|(_, spelling)| log.contains(spelling)), "a secret is in the log");
    arena
}
