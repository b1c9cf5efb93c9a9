//! JSON with comments and trailing commas, as some clients write their configuration.

/// The text as plain JSON, if nothing else is wrong with it.
pub(super) fn without_comments(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(one) = rest.next() {
        match (one, rest.peek()) {
            ('"', _) => {
                plain.push('"');
                while let Some(inner) = rest.next() {
                    plain.push(inner);
                    match inner {
                        '"' => break,
                        '\\' => plain.extend(rest.next()),
                        _ => {}
                    }
                }
            }
            ('/', Some('/')) => while rest.next_if(|next| *next != '\n').is_some() {},
            ('/', Some('*')) => {
                rest.next();
                while let Some(inner) = rest.next() {
                    if inner == '*' && rest.next_if_eq(&'/').is_some() {
                        break;
                    }
                }
            }
            ('}' | ']', _) => {
                let end = plain.trim_end().len();
                if plain[..end].ends_with(',') {
                    plain.truncate(end - 1);
                }
                plain.push(one);
            }
            _ => plain.push(one),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::without_comments;

    #[test]
    fn comments_and_trailing_commas_are_left_out() {
        for (text, plain) in [
            ("{\n  // a \"b\n  \"c\": 1 /* , } */,\n}", "{\n  \n  \"c\": 1 }"),
            (r#"{"a//b": "c\"/*d*/,}", "e": [1, 2, ] , }"#, r#"{"a//b": "c\"/*d*/,}", "e": [1, 2] }"#),
            ("/**/1 /***/ // end", "1  "),
            ("[/* open", "["),
            ("\"open\\", "\"open\\"),
            ("[1 / 2]", "[1 / 2]"),
        ] {
            assert_eq!(without_comments(text), plain, "{text}");
        }
    }
}
