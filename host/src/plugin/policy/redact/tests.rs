use std::collections::HashMap;

use base64::Engine as _;

use super::*;
use crate::plugin::policy::secret::Missing;

const VALUE: &str = "s3cret/+value=\"x";

fn redactor(value: &str) -> Option<Redactor> {
    Redactor::of(&[Secret::new("token".into(), false, Ok(value.into()))])
}

#[test]
fn a_secret_is_found_in_usual_encodings() {
    let redactor = redactor(VALUE).expect("a secret");
    let base64 = |text: &str| base64::engine::general_purpose::STANDARD.encode(text);
    let url_safe = base64::engine::general_purpose::URL_SAFE.encode(VALUE);
    let json = serde_json::to_string(VALUE).expect("JSON");
    for input in [
        VALUE,
        "s3cret%2F%2Bvalue%3D%22x",
        "s3cret%2f%2bvalue%3d%22x",
        &json,
        &base64(VALUE),
        &url_safe,
        &base64(&format!("u:{VALUE}")),
        &base64(&format!("user:{VALUE}:more")),
    ] {
        let redacted = redactor.text(&format!("before {input} after"));
        assert!(redacted.contains("[redacted token]"), "{input}: {redacted}");
        assert!(redacted.starts_with("before ") && redacted.ends_with(" after"), "{redacted}");
        assert!(!redacted.contains("s3cret"), "{redacted}");
    }
    assert_eq!(redactor.text("no secret"), "no secret");
    assert_eq!(redactor.text(&format!("{VALUE}{VALUE}")), "[redacted token][redacted token]");
    assert_eq!(redactor.bytes(&[0xff, 0, b's']).as_ref(), [0xff, 0, b's']);
}

/// Every visible character.
fn all_characters() -> String {
    ('!'..='~').collect()
}

fn each(value: &str, spell: impl Fn(u8) -> String) -> String {
    value.bytes().map(spell).collect()
}

/// Encodes all characters but letters, digits and those of `plain`.
fn encoded(value: &str, plain: &'static str, spell: impl Fn(u8) -> String) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || plain.as_bytes().contains(&byte);
    each(value, |byte| if is_plain(byte) { char::from(byte).into() } else { spell(byte) })
}

#[test]
fn a_secret_is_found_in_the_encodings_of_other_languages() {
    type Spelling = fn(u8) -> String;
    let spellings: [(&str, Spelling); 9] = [
        ("%2F", |byte| format!("%{byte:02X}")),
        ("%2f", |byte| format!("%{byte:02x}")),
        ("%252F", |byte| format!("%25{byte:02X}")),
        ("\\u002F", |byte| format!("\\u{byte:04X}")),
        ("\\u002f", |byte| format!("\\u{byte:04x}")),
        ("\\\\u002f", |byte| format!("\\\\u{byte:04x}")),
        ("\\x2f", |byte| format!("\\x{byte:02x}")),
        ("&#47;", |byte| format!("&#{byte};")),
        ("&#x2F;", |byte| format!("&#x{byte:02X};")),
    ];
    // `encodeURIComponent`, `urllib.parse.quote`, `url.QueryEscape`, PHP's `rawurlencode`, all.
    let plain = ["-_.!~*'()", "/-_.~", "-_.~", "-_.", ""];
    let json = |text: &str| serde_json::to_string(text).expect("JSON");
    for value in [all_characters(), "ab/cd+ef&gh<ij=kl!mn(op)".to_owned(), "x".repeat(600) + "/+/+\"'"] {
        let redactor = redactor(&value).expect("a secret");
        let mut inputs = vec![value.clone(), json(&value), json(&value).replace('/', "\\/"), json(&json(&value))];
        for (_, spell) in spellings {
            inputs.extend(plain.map(|plain| encoded(&value, plain, spell)));
            if value.len() < 512 {
                inputs.push(each(&value, spell));
            }
        }
        let html = |byte| match byte {
            b'&' => "&amp;".into(),
            b'<' => "&lt;".into(),
            b'>' => "&gt;".into(),
            b'"' => "&quot;".into(),
            b'\'' => "&#39;".into(),
            byte => char::from(byte).into(),
        };
        inputs.extend([each(&value, html), encoded(&each(&value, html), "", |byte| char::from(byte).into())]);
        let hexadecimal = ["", ":", "-", " "].map(|between| {
            let digits: Vec<_> = value.bytes().map(|byte| format!("{byte:02x}")).collect();
            digits.join(between)
        });
        inputs.extend(hexadecimal.iter().map(|digits| digits.to_uppercase()));
        inputs.extend(hexadecimal);
        let base64 = base64::engine::general_purpose::STANDARD.encode(&value);
        inputs.extend([base64.replace('/', "\\/"), base64.replace('/', "%2F").replace('+', "%2b"), base64]);
        for input in inputs {
            let redacted = redactor.text(&format!("a {input} b"));
            let redacted = redacted.replace(['"', '\\'], "");
            assert!(redacted.trim_end_matches(['=', ' ', 'b']).ends_with("a [redacted token]"), "{input}: {redacted}");
        }
    }
}

/// Every HTML reference name of a visible ASCII character, except names of two characters.
const NAMES: &str = "! excl  \" quot QUOT  # num  $ dollar  % percnt  & amp AMP  ' apos  ( lpar  ) rpar
    * ast midast  + plus  , comma  . period  / sol  : colon  ; semi  < lt LT  = equals  > gt GT  ? quest
    @ commat  [ lsqb lbrack  \\ bsol  ] rsqb rbrack  ^ Hat  _ lowbar UnderBar  ` grave DiacriticalGrave
    { lcub lbrace  | verbar vert VerticalLine  } rcub rbrace";

#[test]
fn a_secret_is_found_as_html_references() {
    let redactor = redactor(&all_characters()).expect("a secret");
    let mut spellings: HashMap<u8, Vec<String>> =
        (b'!'..=b'~').map(|byte| (byte, vec![char::from(byte).into()])).collect();
    let mut last = b'!';
    for word in NAMES.split_whitespace() {
        match word.as_bytes() {
            [byte] => last = *byte,
            _ => spellings.get_mut(&last).expect("a visible character").push(format!("&{word};")),
        }
    }
    for (byte, spellings) in &mut spellings {
        let bare =
            |name: &&String| ["quot;", "amp;", "lt;", "gt;"].iter().any(|bare| name.to_lowercase().ends_with(bare));
        let bare: Vec<_> = spellings.iter().filter(bare).map(|name| name.replace(';', "")).collect();
        spellings.extend(bare);
        let (digits, upper) = (format!("{byte:x}"), format!("{byte:X}"));
        for number in [&byte.to_string(), &format!("000{byte}"), &format!("x{digits}"), &format!("X00{upper}")] {
            spellings.extend([format!("&#{number};"), format!("&#{number}")]);
        }
    }
    for at in 0..spellings.values().map(Vec::len).max().expect("some") {
        let spell = |byte: u8| spellings[&byte][at % spellings[&byte].len()].clone();
        let (html, marks) = (each(&all_characters(), spell), encoded(&all_characters(), "", spell));
        for input in [html.replace('&', "&amp;"), marks.replace('&', "\\u0026"), marks, html] {
            assert_eq!(redactor.text(&format!("a {input} b")), "a [redacted token] b", "{input}");
        }
    }
}

#[test]
fn redacted_json_is_valid_json() {
    let redactor = redactor("nothing/at\"all").expect("a secret");
    for text in ["\n", "\\", "\"", "a\\", "é", ""] {
        let input = serde_json::to_string(&format!("{text}nothing/at\"all{text}")).expect("JSON");
        let redacted: String = serde_json::from_str(&redactor.text(&input)).expect(&input);
        assert!(redacted.contains("[redacted token]") && !redacted.contains("nothing/at"), "{redacted}");
    }
}

/// The time depends on the text's length alone, not on its contents.
#[test]
fn long_texts_and_many_secrets_are_searched_in_linear_time() {
    let secrets: Vec<Secret> = (0..8u32)
        .map(|n| Secret::new(n.to_string(), false, Ok(blake3::hash(&n.to_le_bytes()).to_hex().to_string())))
        .collect();
    let many = Redactor::of(&secrets).expect("secrets");
    assert!(many.text(&format!("x{}", blake3::hash(&7u32.to_le_bytes()).to_hex())).ends_with("x[redacted 7]"));
    // Too long for patterns: still found verbatim.
    let long: Vec<Secret> =
        (0..8).map(|n| Secret::new(n.to_string(), false, Ok(format!("{n}{}", "/\"".repeat(20_000))))).collect();
    let plain = Redactor::of(&long).expect("secrets");
    assert_eq!(plain.text(&format!("a {} b", long[7].expose().expect("a value"))), "a [redacted 7] b");
    for text in ["\\", "%25", "&amp;#0", "&amp;", "&#38", "&#0", "aaaa", "3a:", "s3cret/+value"] {
        let input = text.repeat((1 << 18) / text.len());
        let began = std::time::Instant::now();
        assert_eq!(many.bytes(input.as_bytes()).len(), input.len());
        assert!(began.elapsed() < std::time::Duration::from_secs(20), "{text}: {:?}", began.elapsed());
    }
}

#[test]
fn a_secret_is_not_split_between_chunks() {
    let redactor = redactor(VALUE).expect("a secret");
    for before in 900..1010 {
        let input = ["x".repeat(before), VALUE.into(), "y".repeat(1000)].concat();
        let piece = &input.as_bytes()[..1000];
        let cut = redactor.cut(piece);
        assert!(cut >= 500, "{cut}");
        let redacted = [redactor.text(&input[..cut]), redactor.text(&input[cut..])].concat();
        assert_eq!(redacted.matches("[redacted token]").count(), 1, "{before}");
    }
}

#[test]
fn short_secrets_are_not_redacted() {
    assert!(redactor("1234567").is_none());
    assert!(redactor("12345678").is_some());
    assert!(
        Redactor::of(&[Secret::new(
            "gone".into(),
            true,
            Err(Missing { why: "is not there".into(), hint: "".into(), temporary: false })
        )])
        .is_none()
    );
    assert!(Redactor::of(&[]).is_none());
}

#[test]
fn each_secret_is_replaced_by_its_own_name() {
    let secret = |name: &str, value: &str| Secret::new(name.into(), false, Ok(value.into()));
    let redactor = Redactor::of(&[secret("short", "12345678"), secret("long", "1234567890")]).expect("secrets");
    assert_eq!(redactor.text("1234567890 12345678"), "[redacted long] [redacted short]");
}

/// The host drops hidden characters afterwards, which must not reassemble a secret.
#[test]
fn a_secret_is_found_despite_hidden_characters() {
    let (value, redacted) = ("tok_ABCDEFGHIJKLMNOP", "before [redacted token] after");
    let redactor = redactor(value).expect("a secret");
    let hidden = ["\u{ad}", "\u{200b}\u{200d}", "\u{e0041}", "\u{1b}", "\r", "\u{fe0f}\u{2800}", "\u{10fffd}"];
    for hidden in hidden {
        let text = format!("before {} after", each(value, |byte| format!("{}{hidden}", char::from(byte))));
        let text = text.replacen(&format!("{hidden} after"), " after", 1);
        assert_eq!(redactor.text(&text), redacted, "{hidden:?}");
        // Invalid UTF-8 before it makes no difference.
        assert_eq!(
            redactor.bytes(&[b"\xff", text.as_bytes()].concat()).as_ref(),
            [b"\xff", redacted.as_bytes()].concat()
        );
        let units = |text: &str| text.encode_utf16().map(|unit| format!("\\u{unit:04X}")).collect::<String>();
        for escaped in [text.replace(hidden, &units(hidden)), serde_json::to_string(&text).expect("JSON")] {
            let mut json = format!("\"{}\"", redactor.text(escaped.trim_matches('"')));
            crate::text::drop_hidden_in_json(&mut json, &mut Default::default());
            assert_eq!(json, format!("\"{redacted}\""), "{hidden:?}");
        }
    }
    let shown = "not a secret: \u{200b}tok_ABCD\u{ad} \\b \\u00ad \\";
    assert_eq!(redactor.text(shown), shown);
}

/// The host replaces other spaces, blank braille and line separators, which must not do so either.
#[test]
fn a_secret_is_found_despite_unusual_spaces() {
    let (value, redacted) = ("open sesame\n1234 5678", "[redacted token]");
    let redactor = redactor(value).expect("a secret");
    for mixed in ["open\u{2800}sesame\u{2028}1234\\u28005678", "op\u{ad}en\u{2800}sesame\u{2028}1234\\u28005\\u00ad678"]
    {
        assert_eq!(redactor.text(mixed), redacted, "{}", mixed.escape_unicode());
    }
    for space in (0..=0xffff).filter_map(char::from_u32).filter(|c| crate::text::is_unusual_space(*c)) {
        for line in ["\n", "\u{2028}", "\u{2029}"] {
            let text = value.replace(' ', &space.to_string()).replace('\n', line);
            assert_eq!(redactor.text(&text), redacted, "{text:?}");
            let escaped: String = text.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect();
            assert_eq!(redactor.text(&escaped), redacted, "{escaped}");
        }
    }
}

/// A backslash of the secret does not start an escape.
#[test]
fn a_secret_with_a_backslash_is_found_despite_hidden_characters() {
    let redactor = redactor(r"pa\bss\rw0rd").expect("a secret");
    assert_eq!(redactor.text("pa\\b\u{200b}ss\\rw0rd"), "[redacted token]");
    assert_eq!(redactor.text(r"pa\\bs\u200bs\\rw0rd"), "[redacted token]");
    assert_eq!(redactor.text(r"pa\\bs\bs\\rw0rd"), "[redacted token]");
}

#[test]
fn overlapping_secrets_are_redacted_whole() {
    let secret = |name: &str, value: &str| Secret::new(name.into(), false, Ok(value.into()));
    let redactor =
        Redactor::of(&[secret("a", "AAAABBBBCCCCDDDDEEEEFFFF"), secret("b", "xyAAAABBBB"), secret("c", "FFFFzzzz")]);
    let redactor = redactor.expect("secrets");
    assert_eq!(redactor.text("1 xyAAAABBBBCCCCDDDDEEEEFFFF 2"), "1 [redacted b] 2");
    assert_eq!(redactor.text("1 xyAAAABBBBCCCCDDDDEEEEFFFFzzzz 2"), "1 [redacted b] 2");
    assert_eq!(redactor.text("1 xyAA\u{ad}AABBBBCCCCDDDDEEEE\u{200b}FFFFzzzz 2"), "1 [redacted b] 2");
    let itself = Redactor::of(&[secret("a", "AAAABBBBAAAA")]).expect("a secret");
    assert_eq!(itself.text("AAAABBBBAAAABBBBAAAA AAAABBBBAAAA"), "[redacted a] [redacted a]");
    // Neither runs of backslashes nor repetitive secrets take longer.
    let itself = Redactor::of(&[secret("a", &"x".repeat(2000))]).expect("a secret");
    let began = std::time::Instant::now();
    assert!(itself.text(&"x".repeat(1 << 16)).matches('x').count() < 2000);
    assert_eq!(redactor.text(&format!("{}u0041AAABBBBCCCCDDDDEEEEFFFF", "\\".repeat(1 << 18))), "[redacted a]");
    assert!(began.elapsed() < std::time::Duration::from_secs(20), "{:?}", began.elapsed());
}

/// The largest pattern there can be.
#[test]
fn the_largest_secret_is_searched_in_all_encodings() {
    // Without repetition, as in a key.
    let digests = (0u32..).flat_map(|n| *blake3::hash(&n.to_le_bytes()).as_bytes());
    let value: String = digests.map(|byte| char::from(b'!' + byte % 94)).take(MAX_PATTERN_CHARS).collect();
    let redactor = redactor(&value).expect("a secret");
    assert!(matches!(redactor.finder, Finder::Spellings(_)));
    let input = value.replace('&', "&amp;").replace('|', "&VerticalLine;");
    assert_eq!(redactor.text(&format!("a {input} b")), "a [redacted token] b");
}
