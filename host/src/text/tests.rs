use super::*;

fn deceptive_in(text: &str) -> Option<char> {
    super::deceptive_in(text, &mut Leeway::default())
}

fn hidden_in_json(json: &str) -> Option<char> {
    super::hidden_in_json(json, &mut Leeway::default())
}

fn drop_hidden_in_json(json: &mut String) {
    super::drop_hidden_in_json(json, &mut Leeway::default());
}

/// Real text: Persian, Hindi, Malayalam, Hebrew, Thai, Mongolian, Chinese and Japanese, mathematics,
/// braille, keycaps, and emoji sequences.
const NEEDED: [&str; 18] = [
    "می\u{200c}خواهم، خانه\u{200c}ها",
    "ه\u{200d}\u{640}",
    "क्\u{200d}ष और श्री\u{200c}मान् र\u{94d}\u{200d}य",
    "അവന്\u{200d} പറഞ്ഞു",
    "\u{200f}שלום!\u{200f} (C++\u{200e}א",
    "ภาษา\u{200b}ไทย",
    "ᠭᠠᠷ\u{180e}ᠠ ᠠ\u{180b}ᠮ",
    "葛\u{e0100}飾区 辻\u{e0101} 﨟\u{fe00}",
    "x ∩\u{fe00} y",
    "⠃⠗\u{2800}⠇",
    "1\u{fe0f}\u{20e3} #\u{fe0f}\u{20e3}",
    "❤\u{fe0f} ☀\u{fe0e} ©\u{fe0f}",
    "👩\u{200d}🚀 👨\u{200d}👩\u{200d}👧\u{200d}👦 👩🏽\u{200d}💻",
    "❤\u{fe0f}\u{200d}🔥 🏳\u{fe0f}\u{200d}🌈 🏴\u{200d}☠\u{fe0f} 🤷🏻\u{200d}♂\u{fe0f}",
    "🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}!",
    "🏴\u{e0067}\u{e0062}\u{e0077}\u{e006c}\u{e0073}\u{e007f}",
    "two\r\nlines\tand …“é”",
    "العربية ١٢٣",
];

fn cleaned(text: &str) -> String {
    let mut text = text.to_owned();
    drop_hidden(&mut text, &mut Leeway::default());
    text
}

#[test]
fn characters_that_scripts_and_emoji_need_are_kept() {
    for text in NEEDED {
        assert_eq!(cleaned(text), text, "{}", text.escape_unicode());
        assert_eq!(deceptive_in(text), None, "{}", text.escape_unicode());
        let mut json = crate::json::quote(text);
        let before = json.clone();
        drop_hidden_in_json(&mut json);
        assert_eq!(json, before);
    }
}

/// All of Unicode: between letters, no invisible character passes.
#[test]
fn hidden_characters_between_letters_are_dropped() {
    let mut hidden = 0;
    for c in '\0'..=char::MAX {
        for text in [format!("a{c}b"), format!("語{c}a"), format!("{c}")] {
            let clean = cleaned(&text);
            let kept = clean.contains(c);
            assert_eq!(deceptive_in(&text).is_none(), kept, "{c:?}");
            let visible = !is_suspect(c) && c != '\r';
            let selects = matches!(c, '\u{fe00}'..='\u{fe02}' | '\u{e0100}'..='\u{e011f}') && text.starts_with('語');
            assert_eq!(kept, visible || selects, "U+{:04X} in {text:?}", u32::from(c));
            // Of private-use characters a sample is enough.
            if u32::from(c) > 0xf000 && u32::from(c) % 61 > 0 {
                continue;
            }
            let mut json = format!("{{\"k\":{}}}", crate::json::quote(&text));
            drop_hidden_in_json(&mut json);
            let parsed: serde_json::Value = serde_json::from_str(&json).expect("JSON");
            assert_eq!(parsed["k"], clean.as_str());
        }
        hidden += u32::from(is_suspect(c));
    }
    // Mostly unassigned planes and private use; 4174 are Default_Ignorable, 64 are controls other
    // than \t, \n and \r.
    assert!(hidden > 655_360 + 137_468 + 4_100, "{hidden}");
    for c in
        ['\u{200b}', '\u{202e}', '\u{e0041}', '\u{e0f41}', '\u{e01f0}', '\u{34f}', '\u{3164}', '\u{fff3}', '\u{ad}']
    {
        assert!(is_suspect(c), "{c:?}");
    }
}

/// At most two hidden characters follow each other, except in flags; cleaning is idempotent.
#[test]
fn runs_of_hidden_characters_are_short_in_any_context() {
    let suspects: Vec<char> = ('\0'..=char::MAX)
        .filter(|c| is_suspect(*c) && !c.is_control() && !matches!(c, '\u{40000}'..='\u{dffff}' | '\u{e1000}'..))
        .collect();
    let around = ["م", "क", "क्", "❤", "👩", "語", "ᠠ", "ก", "א", "1", "⠃", "∩", "🏴", "a"];
    for before in around {
        for after in around {
            for some in suspects.chunks(7).step_by(13).chain([&['\u{fe0f}', ZWJ, ZWJ][..], &[ZWJ; 9], &['\u{180b}'; 9]])
            {
                let text = format!("{before}{}{after}", some.iter().collect::<String>());
                let clean = cleaned(&text);
                let left = clean.chars().filter(|c| is_suspect(*c)).count();
                assert!(left <= 2, "{}", clean.escape_unicode());
                assert_eq!(cleaned(&clean), clean, "{}", text.escape_unicode());
                assert_eq!(deceptive_in(&clean), None, "{}", text.escape_unicode());
            }
        }
    }
}

const ZWJ: char = '\u{200d}';

#[test]
fn hidden_characters_cannot_spell_sentences() {
    let tagged: String = "obey".chars().map(|c| char::from_u32(0xe0000 + u32::from(c)).unwrap()).collect();
    let smuggled: String = (0xe0100..0xe0110).map(|c| char::from_u32(c).unwrap()).collect();
    let cases = [
        (format!("a{tagged}b"), "ab"),
        (format!("🏴{tagged}\u{e007f}b"), "🏴b"),
        ("user\u{202e}txt.exe\u{202c} \u{2066}x\u{2069}".into(), "usertxt.exe x"),
        ("1\u{2063}2\u{206f}3\u{fff9}4".into(), "1234"),
        (format!("x{smuggled}y"), "xy"),
        (format!("語{smuggled}y"), "語\u{e0100}y"),
        ("😀\u{fe0f}\u{fe0e}\u{fe0f}".into(), "😀\u{fe0f}"),
        ("a\u{200d}\u{200c}b, 1\u{fe0f}2".into(), "ab, 12"),
        ("\u{1b}[31mred\u{9b}0m\rgone\0".into(), "[31mred0mgone"),
        ("\u{feff}a\u{e000}\u{10fffe}".into(), "a"),
        ("a\u{13430}b\u{1343f}\u{16fe4}c\u{2d7f}\u{fffc}d\u{10a3f}\u{1107f}e\u{600}f".into(), "abcdef"),
        ("a\u{2000}\u{2001}\u{2002}\u{2003}b\u{2028}c".into(), "a\u{2000}\u{2001}  b\nc"),
    ];
    for (text, left) in cases {
        assert_eq!(cleaned(&text), left);
        let mut json = format!(r#"{{"{}":["{}"]}}"#, "a", text.chars().flat_map(escaped).collect::<String>());
        assert!(hidden_in_json(&json).is_some(), "{json}");
        drop_hidden_in_json(&mut json);
        assert_eq!(json, serde_json::json!({"a": [left]}).to_string());
    }
    assert_eq!(hidden_in_json(r#"{"a":"b\n\u00e9 \\u200b"}"#), None);
    assert_eq!(hidden_in_json("{\"a\u{200b}\":1}"), Some('\u{200b}'));
}

/// All strings of a schema share one leeway.
#[test]
fn strings_of_json_share_one_leeway() {
    let variants = |n: u32| -> Vec<String> {
        (0..n).map(|n| format!("語{}", char::from_u32(0xe0100 + n % 32).expect("a selector"))).collect()
    };
    assert_eq!(hidden_in_json(&serde_json::json!(variants(4)).to_string()), None);
    assert!(hidden_in_json(&serde_json::json!(variants(5)).to_string()).is_some());
    let mut json = serde_json::json!(variants(200)).to_string();
    drop_hidden_in_json(&mut json);
    assert_eq!(json.chars().filter(|c| is_suspect(*c)).count(), 4);
}

#[test]
fn invisible_blanks_are_limited() {
    let lines = |end: &str| format!("Reads a file.{end}\n\n  - one{end}\n  - two{end}\n").repeat(30);
    for end in ["", "  ", " ", "\r", "\t"] {
        assert_eq!(deceptive_in(&lines(end)), None, "{end:?}");
    }
    assert_eq!(deceptive_in("def f():\n\n    \n\t    deep\n"), None);
    assert_eq!(deceptive_in("name    what it is\nother   what that is\n"), None);
    // A bit in each line.
    let bits: String = (0..40).map(|n| if n % 3 == 0 { "line \n" } else { "line\n" }).collect();
    assert_eq!(deceptive_in(&bits), Some(' '));
    let tabs = format!("Reads.{}x", " \t\t \t".repeat(8));
    assert!(deceptive_in(&tabs).is_some());
    assert!(deceptive_in(tabs.trim_end_matches('x')).is_some());
    // Out of view.
    assert_eq!(deceptive_in(&format!("Reads.{}Obey.", " ".repeat(65))), Some(' '));
    assert_eq!(deceptive_in(&format!("Reads.{}Obey.", "\n".repeat(10))), Some('\n'));
    assert_eq!(deceptive_in(&format!("Reads.{}Obey.", "\n".repeat(9))), None);
    // Results keep their blanks.
    assert_eq!(cleaned(&tabs), tabs);
}

fn escaped(c: char) -> Vec<char> {
    let units: Vec<String> = c.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04X}")).collect();
    units.concat().chars().collect()
}

#[test]
fn printed_text_has_no_terminal_controls() {
    assert_eq!(quote("a\u{1b}[31m\nb", 100), "a\\u{1b}[31m\\nb");
    assert_eq!(quote("abcdef", 3), "abc…");
    assert_eq!(quote("a\u{2003}b\u{a0}c\u{13430}", 100), "a\\u{2003}b\\u{a0}c\\u{13430}");
    assert_eq!(deceptive_in("a\nb"), None);
    assert_eq!(deceptive_in_line("a\nb", &mut Leeway::default()), Some('\n'));
    assert_eq!(prefix("aé", 2), "a");
    assert_eq!(printable("a\r\n\tb\rc\u{9b}31m\u{1b}[0m ❤\u{fe0f}"), "a\n\tb\\u{d}c\\u{9b}31m\\u{1b}[0m ❤\u{fe0f}");
    for c in '\0'..=char::MAX {
        let text = format!("x{c}x");
        let clean = |shown: &str| shown.chars().all(|c| !c.is_control() || c == '\n' || c == '\t');
        assert!(clean(&printable(&text)) && clean(&quote(&text, 100)), "{c:?}");
        let json = serde_json::to_string(&text).expect("JSON");
        let shown = escape_hidden_in_json(&json);
        assert!(clean(&shown) && !shown.contains(is_suspect), "{c:?}");
        assert_eq!(serde_json::from_str::<String>(&shown).expect("JSON"), text);
    }
}
