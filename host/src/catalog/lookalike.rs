//! Whether two plugin names are easily confused.
//!
//! Names are lowercase ASCII, digits and `-`, so Unicode confusables do not matter here.

/// Shorter names often differ in one character only.
const MIN_LENGTH: usize = 5;

/// Whether the names look the same, or differ in one character.
pub(super) fn look_alike(one: &str, other: &str) -> bool {
    one != other
        && (skeleton(one) == skeleton(other)
            || one.len() >= MIN_LENGTH && other.len() >= MIN_LENGTH && is_near(one, other))
}

/// The name with each group of similar characters replaced by one of them.
fn skeleton(name: &str) -> String {
    let name = name.replace("rn", "m").replace("vv", "w").replace("cl", "d");
    let representative = |c| match c {
        '0' => Some('o'),
        '1' | 'i' => Some('l'),
        '5' => Some('s'),
        '-' => None,
        c => Some(c),
    };
    name.chars().filter_map(representative).collect()
}

/// Whether one character was inserted, deleted, replaced or transposed, except for a digit by a digit.
fn is_near(one: &str, other: &str) -> bool {
    let numbered = one.len() == other.len()
        && one.bytes().zip(other.bytes()).all(|(a, b)| a == b || (a.is_ascii_digit() && b.is_ascii_digit()));
    !numbered && strsim::osa_distance(one, other) == 1
}

#[cfg(test)]
mod tests {
    use super::look_alike;

    #[test]
    fn similar_names_look_alike() {
        for (one, other) in [
            ("tool", "too1"),
            ("notes", "n0tes"),
            ("list", "1ist"),
            ("mail", "mai1"),
            ("math", "rnath"),
            ("web-search", "websearch"),
            ("weather", "weathar"),
            ("weather", "wheather"),
            ("weather", "waether"),
            ("github", "github2"),
        ] {
            assert!(look_alike(one, other) && look_alike(other, one), "{one} {other}");
        }
        for (one, other) in [
            ("math", "math"),
            ("math", "bath"),
            ("one", "two"),
            ("weather-1", "weather-2"),
            ("notes", "votes-2"),
            ("text", "time"),
            ("echo", "everything"),
        ] {
            assert!(!look_alike(one, other) && !look_alike(other, one), "{one} {other}");
        }
    }
}
