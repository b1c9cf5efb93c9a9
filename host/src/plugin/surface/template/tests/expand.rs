//! Expands a template by the algorithm of RFC 6570 section 3.2.1: a plain reference implementation.

#[derive(Debug, Clone)]
pub(super) enum Value {
    Text(String),
    List(Vec<String>),
    Object(Vec<(String, String)>),
}

/// Names without a value are undefined; of two values for a name the first is used.
pub(super) fn expand(template: &str, values: &[(String, Value)]) -> String {
    let mut uri = String::new();
    let mut rest = template;
    while let Some((literal, after)) = rest.split_once('{') {
        let (body, after) = after.split_once('}').expect("a whole expression");
        uri += literal;
        uri += &expression(body, values);
        rest = after;
    }
    uri + rest
}

fn expression(body: &str, values: &[(String, Value)]) -> String {
    let operator = body.chars().next().filter(|c| "+#./;?&".contains(*c));
    let (first, separator, named, if_empty) = match operator {
        Some('#') => ("#", ",", false, ""),
        Some('.') => (".", ".", false, ""),
        Some('/') => ("/", "/", false, ""),
        Some(';') => (";", ";", true, ""),
        Some('?') => ("?", "&", true, "="),
        Some('&') => ("&", "&", true, "="),
        _ => ("", ",", false, ""),
    };
    let encode = |text: &str| encoded(text, matches!(operator, Some('+' | '#')));
    let with_name = |name: &str, value: &str| match (named, value.is_empty()) {
        (false, _) => value.to_owned(),
        (true, true) => format!("{name}{if_empty}"),
        (true, false) => format!("{name}={value}"),
    };
    let mut parts = Vec::new();
    for spec in body[operator.map_or(0, char::len_utf8)..].split(',') {
        let explode = spec.ends_with('*');
        let (name, prefix) =
            spec.trim_end_matches('*').split_once(':').unwrap_or((spec.trim_end_matches('*'), "10000"));
        let Some((_, value)) = values.iter().find(|(defined, _)| defined == name) else { continue };
        let prefix = prefix.parse().expect("a length");
        match value {
            Value::Text(text) => {
                parts.push(with_name(name, &encode(&text.chars().take(prefix).collect::<String>())));
            }
            Value::List(list) if list.is_empty() => {}
            Value::Object(pairs) if pairs.is_empty() => {}
            Value::List(list) if explode => parts.extend(list.iter().map(|item| with_name(name, &encode(item)))),
            Value::Object(pairs) if explode => parts.extend(pairs.iter().map(|(key, value)| {
                let value = encode(value);
                let equals = if value.is_empty() && named { if_empty } else { "=" };
                format!("{}{equals}{value}", encode(key))
            })),
            // A prefix of a list is an error in RFC 6570; treated as undefined.
            _ if prefix < 10_000 => {}
            Value::List(list) => {
                parts.push(with_name(name, &list.iter().map(|item| encode(item)).collect::<Vec<_>>().join(",")));
            }
            Value::Object(pairs) => {
                let pairs = pairs.iter().map(|(key, value)| format!("{},{}", encode(key), encode(value)));
                parts.push(with_name(name, &pairs.collect::<Vec<_>>().join(",")));
            }
        }
    }
    if parts.is_empty() { String::new() } else { format!("{first}{}", parts.join(separator)) }
}

fn encoded(text: &str, reserved: bool) -> String {
    let mut out = String::new();
    for (at, byte) in text.bytes().enumerate() {
        let triplet = byte == b'%'
            && text.as_bytes().get(at + 1..at + 3).is_some_and(|hex| hex.iter().all(u8::is_ascii_hexdigit));
        let plain = byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
        if plain || (reserved && (triplet || b":/?#[]@!$&'()*+,;=".contains(&byte))) {
            out.push(char::from(byte));
        } else {
            out += &format!("%{byte:02X}");
        }
    }
    out
}
