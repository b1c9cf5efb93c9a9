use super::*;

#[test]
fn deceptive_characters_are_found_and_shown() {
    for c in ['\u{1b}', '\u{202e}', '\u{2066}', '\u{e0041}', '\u{200b}', '\u{0}', '\u{85}'] {
        assert!(is_deceptive(c), "{:x}", u32::from(c));
    }
    for c in ['a', 'é', '語', '\n', '🦀', '\u{200d}'] {
        assert!(!is_deceptive(c), "{:x}", u32::from(c));
    }
    assert_eq!(quote("a\u{1b}[31m\nb", 100), "a\\u{1b}[31m\\nb");
    assert_eq!(quote("abcdef", 3), "abc…");
    assert_eq!(deceptive_in("a\nb"), None);
    assert_eq!(deceptive_in_line("a\nb"), Some('\n'));
    assert_eq!(prefix("aé", 2), "a");
}

#[test]
fn what_is_hidden_is_dropped_and_what_scripts_need_is_not() {
    let tagged: String = "obey".chars().map(|c| char::from_u32(0xe0000 + u32::from(c)).unwrap()).collect();
    let smuggled: String = (0xe0100..0xe0110).map(|c| char::from_u32(c).unwrap()).collect();
    let cases = [
        (format!("a{tagged}b"), "ab"),
        ("user\u{202e}txt.exe\u{202c} \u{2066}x\u{2069}".into(), "usertxt.exe x"),
        ("1\u{2063}2\u{206f}3\u{fff9}4".into(), "1234"),
        (format!("x{smuggled}y"), "x\u{e0100}y"),
    ];
    for (mut text, left) in cases {
        drop_hidden(&mut text);
        assert_eq!(text, left);
    }
    let needed = "👩\u{200d}🚀 ❤\u{fe0f} 葛\u{e0100}飾 \u{645}\u{6cc}\u{200c}\u{62e} ถ\u{200b}า \u{200f}\u{5d0} \0\u{1b}\u{feff} …“”";
    let mut text = needed.to_owned();
    drop_hidden(&mut text);
    assert_eq!(text, needed);
}
