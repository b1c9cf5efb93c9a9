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
