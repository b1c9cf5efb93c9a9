//! JSON for people: indented and coloured. The spelling of names and values stays.

use wharf_report::{LITERAL, MEMBER, TEXT};

/// A longer text stays as it is: in bytes, since indentation may multiply it.
const MAX: usize = 1 << 20;

/// The same JSON with a member or an item to a line, with styles that [`crate::report::print`] drops off
/// terminals.
pub(super) fn indented(json: &str) -> String {
    if json.len() > MAX {
        return json.to_owned();
    }
    let (mut text, mut depth, mut rest) = (String::with_capacity(json.len() * 2), 0_usize, json.trim_start());
    while let Some(first) = rest.chars().next() {
        let token;
        (token, rest) = rest.split_at(length(rest, first));
        rest = rest.trim_start();
        match first {
            '{' | '[' => {
                text.push(first);
                if !rest.starts_with(['}', ']']) {
                    depth += 1;
                    new_line(&mut text, depth);
                }
            }
            '}' | ']' => {
                if !text.ends_with(['{', '[']) {
                    depth = depth.saturating_sub(1);
                    new_line(&mut text, depth);
                }
                text.push(first);
            }
            ',' => {
                text.push(',');
                new_line(&mut text, depth);
            }
            ':' => text.push_str(": "),
            _ => {
                let style = match first {
                    '"' if rest.starts_with(':') => MEMBER,
                    '"' => TEXT,
                    _ => LITERAL,
                };
                text += &format!("{style}{token}{style:#}");
            }
        }
    }
    text
}

/// Bytes of the token at the start.
fn length(json: &str, first: char) -> usize {
    match first {
        '{' | '}' | '[' | ']' | ',' | ':' => 1,
        '"' => {
            let mut escaped = false;
            let end = json.bytes().skip(1).position(|byte| {
                let is_end = byte == b'"' && !escaped;
                escaped = byte == b'\\' && !escaped;
                is_end
            });
            end.map_or(json.len(), |end| end + 2)
        }
        first => {
            let end = json.find(|c: char| c.is_ascii_whitespace() || "{}[],:\"".contains(c));
            end.unwrap_or(json.len()).max(first.len_utf8())
        }
    }
}

fn new_line(text: &mut String, depth: usize) {
    text.push('\n');
    text.extend(std::iter::repeat_n("  ", depth));
}

#[cfg(test)]
mod tests {
    use super::indented;

    fn plain(json: &str) -> String {
        anstream::adapter::strip_str(&indented(json)).to_string()
    }

    #[test]
    fn members_and_items_are_on_lines_of_their_own() {
        let json = r#"{"a":[1,-2.50e3,{}],"b":{"c\"}":"x,[\\"},"d":[ ], "e":null}"#;
        let lines = r#"{
  "a": [
    1,
    -2.50e3,
    {}
  ],
  "b": {
    "c\"}": "x,[\\"
  },
  "d": [],
  "e": null
}"#;
        assert_eq!(plain(json), lines);
        for json in ["5", "\"text\"", "[]", "", "\"open", "\u{fc}"] {
            assert_eq!(plain(json), json);
        }
    }

    #[test]
    fn names_and_texts_are_coloured() {
        assert_eq!(indented(r#"{"a":"b"}"#), "{\n  \u{1b}[34m\"a\"\u{1b}[0m: \u{1b}[32m\"b\"\u{1b}[0m\n}");
    }
}
