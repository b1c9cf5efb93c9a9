use icu_properties::props::GeneralCategoryGroup as Group;

use super::unseen::category;
use super::*;

fn cleaned(text: &str) -> String {
    let mut text = text.to_owned();
    crate::text::drop_hidden(&mut text, &mut Leeway::default());
    text
}

/// Real text, long enough that no leeway would cover it.
#[test]
fn texts_of_many_scripts_pass_unchanged() {
    let many = [
        // French: before signs, within quotes and numbers.
        "Voulez-vous l’ouvrir\u{202f}? Oui\u{202f}! «\u{a0}Bonjour\u{a0}», dit-il\u{a0}: 12\u{202f}345\u{a0}€, soit 10\u{a0}%\u{202f}; merci. ",
        // German, Czech, and thin spaces around dashes.
        "Das ist z.\u{202f}B. ein Satz, d.\u{202f}h. kurz. Er sagt: Nein! ",
        "Bydlí v\u{a0}Praze a\u{a0}pracuje v\u{a0}Brně. ",
        "One\u{200a}—\u{200a}two\u{200a}—\u{200a}three; §\u{a0}5 and 20\u{a0}°C. ",
        // Japanese and Chinese.
        "\n　これは文章です。　山田　太郎「はい！　そうです」\n",
        "葛\u{e0100}飾区と葛\u{e0100}城市。辻\u{e0101}さん、祇\u{e0100}園。",
        "中文说明：读取文件，并返回内容。\n",
        // Persian, Arabic, Hebrew.
        "می\u{200c}خواهم خانه\u{200c}های بزرگ\u{200c}تر را ببینم، سال ۱۳۵۰ ه\u{200d}. ش. ",
        "بِسْمِ ٱللَّهِ ٱلرَّحْمَٰنِ ٱلرَّحِيمِ \u{6dd}١ ",
        "הקובץ נקרא מתוך התיקייה שבה הוא נמצא ונכתב (C++\u{200e}) אל התיקייה השנייה. ",
        // Hindi, Nepali, Sinhala, Malayalam, Kannada, Bengali.
        "यह फ़ाइल को पढ़ता है और उसकी सामग्री लौटाता है, जैसे शक्ति और क्\u{200c}षमा। ",
        "उसले काम गर\u{94d}\u{200d}यो र घर गर\u{94d}\u{200d}यो। ",
        "ශ්\u{200d}රී ලංකාව, ක්\u{200d}රියා, වාක්\u{200d}ය. ",
        "അവന്\u{200d} പറഞ്ഞു, അവള്\u{200d} വന്നു. ",
        "ರ\u{200d}್ಯಾಂಕ್ ಮತ್ತು ರ\u{200d}್ಯಾಲಿ ನಡೆಯಿತು. ",
        "র\u{200d}্যাব এবং র\u{200d}্যালি। ",
        // Khmer, Thai, Burmese, Tai Tham.
        "ខ្ញុំ\u{200b}ចង់\u{200b}អាន\u{200b}ឯកសារ\u{200b}នេះ\u{200b}ហើយ ",
        "อ่านไฟล์\u{200b}แล้วส่งกลับ\u{200b}เนื้อหา ",
        "ဗုဒ္ဓဘာသာ ကမ္ဘာ သတ္တိ ",
        // Mongolian, hieroglyphs, Khitan, Brahmi, Tifinagh, Ogham, braille.
        "ᠮᠣᠩᠭᠣᠯ\u{202f}ᠤᠨ ᠭᠠᠷ\u{180e}ᠠ ᠠ\u{180b}ᠮᠢᠳᠤᠷᠠᠯ ᠤᠯᠤᠰ ",
        "𓇋\u{13430}𓏏\u{13431}𓈖 𓊹\u{13437}𓂋\u{13430}𓏏\u{13438}\u{13431}𓀀 \u{1343c}𓇳\u{13430}𓏺\u{1343d} ",
        "𘬀\u{16fe4}𘬁𘬂𘬃 𑁒\u{1107f}𑁓𑁒𑁓 ⵜⴰⵎⴰⵣⵉⵖ\u{2d7f}ⵜ 𛰀\u{1bc9d}𛰁𛰂𛰃 ",
        "ᚁᚂ\u{1680}ᚃᚄ ",
        "⠃⠗⠁⠊⠇\u{2800}⠇⠑⠎⠑⠝ ",
        // Emoji.
        "❤\u{fe0f} ⚠\u{fe0f} ✔\u{fe0f} ⭐\u{fe0f} 1\u{fe0f}\u{20e3} ☀\u{fe0e} ",
        "👩\u{200d}🚀 👨\u{200d}👩\u{200d}👧\u{200d}👦 👩🏽\u{200d}💻 🧑🏻\u{200d}🤝\u{200d}🧑🏿 👁\u{fe0f}\u{200d}🗨\u{fe0f} 🤷🏻\u{200d}♂\u{fe0f} 🏃\u{200d}♀\u{fe0f}\u{200d}➡\u{fe0f} ",
        "❤\u{fe0f}\u{200d}🔥 🏳\u{fe0f}\u{200d}🌈 🏴\u{200d}☠\u{fe0f} 🐻\u{200d}❄\u{fe0f} 👩🏽\u{200d}❤\u{fe0f}\u{200d}💋\u{200d}👨🏿 ",
        // Marks on one letter, as in Vietnamese that is decomposed and in Hebrew with all points.
        "Tie\u{302}\u{301}ng Vie\u{323}\u{302}t, בְּרֵאשִׁ֖ית ",
    ];
    for once in many {
        let text = once.repeat(40);
        let first = Hidden::of(&text, &mut Leeway::default()).next();
        let place = first.map(|(at, c)| (format!("U+{:04X}", u32::from(c)), at, at % once.len()));
        assert_eq!(place, None, "{}", once.escape_unicode());
    }
}

/// All of Unicode, repeated, between letters and beside signs: in Latin text, invisible characters
/// are limited by the leeway.
#[test]
fn invisible_characters_in_latin_text_stay_within_the_leeway() {
    let mut free = [0; 4];
    for c in ('\0'..=char::MAX).filter(|c| !c.is_ascii()) {
        let text: String = "Reads, then w: é ".chars().flat_map(|letter| [letter, c]).collect::<String>().repeat(2);
        // Others do not depend on their context. Of the highest planes a sample is enough.
        let limited = is_suspect(c) || is_unusual_space(c) || is_mark(c);
        let full = limited && (!matches!(c, '\u{40000}'..) || u32::from(c) % 61 == 0);
        let left = if full { cleaned(&text).chars().filter(|it| *it == c).count() } else { 34 * usize::from(!limited) };
        assert_eq!(cleaned(&format!("a{c}b")).contains(c), left > 0, "U+{:04X}", u32::from(c));
        if left == 34 {
            // Characters without a limit are visible.
            let group = match category(c) {
                it if Group::Letter.contains(it) => 0,
                it if Group::Number.contains(it) || Group::Symbol.contains(it) || Group::Punctuation.contains(it) => 1,
                it if Group::Mark.contains(it) => 2,
                // Shown as a box; a later version of Unicode may assign a letter.
                icu_properties::props::GeneralCategory::Unassigned if !matches!(c, '\u{40000}'..='\u{effff}') => 3,
                other => panic!("U+{:04X} passes: {other:?}", u32::from(c)),
            };
            free[group] += 1;
        } else {
            assert!(left <= 24, "U+{:04X}: {left}", u32::from(c));
            assert!(is_unusual_space(c) || left == 0, "U+{:04X}: {left}", u32::from(c));
        }
    }
    // Letters; numbers and symbols; marks, which are visible on their base; unassigned.
    assert!(free[0] > 130_000 && free[1] > 8_000 && free[2] > 2_000 && free[3] > 50_000, "{free:?}");
    // Characters that are blank, join or fill.
    let blank = "\u{115f}\u{1160}\u{3164}\u{ffa0}\u{1d159}\u{13441}\u{13442}\u{fffc}\u{fff9}\u{34f}\u{17b4}\
                 \u{1039}\u{17d2}\u{1a60}\u{1bab}\u{2d7f}\u{aaf6}\u{10a3f}\u{1107f}\u{11133}\u{113d0}\u{11a47}\
                 \u{11a99}\u{11f42}\u{16fe4}\u{1bc9d}\u{1bca0}\u{1d173}\u{180e}\u{2061}\u{2065}\u{e0001}\u{85}\u{2028}";
    for c in blank.chars() {
        assert_eq!(cleaned(&format!("a{c}b {c}c{c}")).replace('\n', ""), "ab c", "U+{:04X}", u32::from(c));
    }
}

/// Pseudorandom bits.
fn bits() -> impl Iterator<Item = bool> {
    let mut state: u32 = 1;
    std::iter::repeat_with(move || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state >> 31 == 1
    })
}

/// Encodes a thousand bits in two spellings and cleans the text. Returns how many choices are left:
/// spellings that differ from the one before.
fn choices(zero: &str, one: &str) -> usize {
    let text: String = bits().take(1000).map(|bit| if bit { one } else { zero }).collect();
    let clean = cleaned(&text);
    let (mut rest, mut last, mut choices) = (clean.as_str(), None, 0);
    let neither = zero.replace(is_suspect, "").replace(is_unusual_space, " ");
    let mut spellings = [zero, one, &neither];
    // The longest first: one may begin with another.
    spellings.sort_by_key(|spelling| std::cmp::Reverse(spelling.len()));
    while !rest.is_empty() {
        let spelt = spellings.iter().find_map(|spelling| Some((*spelling, rest.strip_prefix(spelling)?)));
        let Some((is, after)) = spelt else { panic!("{}", rest.escape_unicode().take(80).collect::<String>()) };
        choices += usize::from(last.is_some_and(|last| last != is));
        (last, rest) = (Some(is), after);
    }
    choices
}

#[test]
fn lookalike_spellings_carry_no_message() {
    let pairs = [
        ("word ", "word\u{a0}"),
        ("word\u{2009}", "word\u{200a}"),
        ("word ; ", "word\u{202f}; "),
        ("10 km. ", "10\u{a0}km. "),
        ("a word ", "a\u{a0}word "),
        ("語 語 ", "語\u{3000}語 "),
        ("語", "語\u{e0100}"),
        ("語\u{e0101}", "語\u{e0100}"),
        ("❤ ", "❤\u{fe0f} "),
        ("❤\u{fe0e} ", "❤\u{fe0f} "),
        ("😀 ", "😀\u{fe0f} "),
        ("⭐ ", "⭐\u{fe0f} "),
        ("1\u{20e3}", "1\u{fe0f}\u{20e3}"),
        ("😀😀 ", "😀\u{200d}😀 "),
        ("∩ ", "∩\u{fe00} "),
        ("a\u{332}", "a\u{332}\u{332}"),
        ("ا ", "ا\u{200f} "),
        ("ب\u{64e}ب ", "ب\u{200d}\u{64e}ب "),
        ("क\u{94d}त ", "क\u{94d}\u{200d}त "),
        ("رو", "ر\u{200c}و"),
    ];
    for (zero, one) in pairs {
        // Each choice can change the spelling and change it back.
        let choices = choices(zero, one);
        let letters = 1000 * zero.chars().filter(|c| units(*c) > 0).count();
        assert!(choices <= 2 * (8 + letters / 32) + 4, "{} {}: {choices}", zero.escape_unicode(), one.escape_unicode());
    }
    // A byte after each of several ideographs.
    let selected: String = ('\u{4e00}'..'\u{4f00}').zip('\u{e0100}'..='\u{e01ef}').flat_map(|(c, s)| [c, s]).collect();
    let left = cleaned(&selected).chars().filter(|c| is_suspect(*c)).count();
    assert_eq!(left, 4);
    // Emoji with text presentation by default, and with emoji presentation, each once.
    let once = |emoji: &str| emoji.chars().map(|c| format!("{c}\u{fe0f} ")).collect::<String>();
    let selected = |emoji| cleaned(&once(emoji)).matches('\u{fe0f}').count();
    assert_eq!(selected("☀☁☂☃☄☎☑☘☝☠☢☣☦☪☮☯☸☹♀♂♠♣♥♦"), 12 + 8);
    assert_eq!(selected("⌚⌛⏩⏰☔☕♈♉♊♿⚓⚡⚪⚫⚽⭐⭕🌍🍸😀"), 8);
    // Characters that a script's spelling needs are limited to a share of its letters.
    for (spelt, share) in [
        ("क\u{94d}\u{200d}त", 16),
        ("رو\u{200c}", 16),
        ("ខ\u{200b}", 3),
        ("ᠠ\u{180b}", 3),
        ("ⴰ\u{2d7f}", 3),
        ("𘬀\u{16fe4}", 3),
        ("𑁒\u{1107f}", 3),
        ("𛰀\u{1bc9d}", 3),
    ] {
        let clean = cleaned(&spelt.repeat(1000));
        let left = clean.chars().filter(|c| is_suspect(*c)).count();
        let letters = clean.chars().filter(|c| units(*c) > 0).count();
        assert!(left <= 8 + letters / share, "{}: {left} of {letters}", spelt.escape_unicode());
    }
    // Kinds of spaces next to all signs.
    let signs = "; : ! ? « » ‹ › “ ” % € $ § – — − × ÷ = · … / + ± ¶ ° £ ";
    let spaced: String = signs.repeat(20).replace(' ', "\u{202f}");
    let left = cleaned(&spaced).chars().filter(|c| is_unusual_space(*c)).count();
    assert!(left <= (8 + 12) * 20, "{left}");
}

/// So that braille art keeps its columns.
#[test]
fn dropped_blank_braille_is_replaced_by_a_space() {
    assert_eq!(cleaned("⣿\u{2800}\u{2800}\u{2800}⣿\n\u{2800}\u{2800}⣿").chars().count(), 9);
    assert_eq!(cleaned("a\u{2800}\u{2800}b"), "a  b");
}
