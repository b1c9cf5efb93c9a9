//! JSON and CBOR. What a component is given is encoded deterministically (RFC 8949, 4.2): ciborium writes the shortest
//! heads and floats, and the keys are sorted here.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ciborium::Value as Cbor;
use serde_json::{Map, Number, Value};

use crate::json;

/// Bytes of CBOR that are read: a byte can become a value of tens of bytes.
const MAX_READ: usize = 256 << 10;

/// The CBOR of a text of JSON. `None`: it is no JSON.
pub(super) fn of_json(text: &str) -> Option<Vec<u8>> {
    Some(encoded(&cbor(json::tree(text, json::MAX_DEPTH).ok()?)))
}

pub(super) fn of_text(text: &str) -> Vec<u8> {
    encoded(&Cbor::Text(text.to_owned()))
}

/// The text of JSON of CBOR. `None`: it is no CBOR, or too large or too deep.
pub(super) fn to_json(bytes: &[u8]) -> Option<String> {
    Some(value(read(bytes)?)?.to_string())
}

pub(super) fn to_bool(bytes: &[u8]) -> Option<bool> {
    read(bytes)?.as_bool()
}

fn read(bytes: &[u8]) -> Option<Cbor> {
    let mut rest = bytes;
    let value = (bytes.len() <= MAX_READ)
        .then(|| ciborium::de::from_reader_with_recursion_limit(&mut rest, json::MAX_DEPTH).ok())??;
    rest.is_empty().then_some(value)
}

fn encoded(value: &Cbor) -> Vec<u8> {
    let mut bytes = Vec::new();
    ciborium::into_writer(value, &mut bytes).expect("memory can be written to");
    bytes
}

fn cbor(value: Value) -> Cbor {
    match value {
        Value::Null => Cbor::Null,
        Value::Bool(value) => Cbor::Bool(value),
        Value::Number(number) => match number.as_i128() {
            Some(integer) if i64::try_from(integer).is_ok() || u64::try_from(integer).is_ok() => {
                number.as_u64().map(Cbor::from).or_else(|| number.as_i64().map(Cbor::from)).unwrap_or(Cbor::Null)
            }
            _ => Cbor::Float(number.as_f64().unwrap_or(f64::NAN)),
        },
        Value::String(text) => Cbor::Text(text),
        Value::Array(items) => Cbor::Array(items.into_iter().map(cbor).collect()),
        Value::Object(members) => {
            let mut members: Vec<(String, Value)> = members.into_iter().collect();
            // By their encoded form, which begins with the length.
            members.sort_by(|(a, _), (b, _)| (a.len(), a).cmp(&(b.len(), b)));
            Cbor::Map(members.into_iter().map(|(name, value)| (Cbor::Text(name), cbor(value))).collect())
        }
    }
}

fn value(from: Cbor) -> Option<Value> {
    Some(match from {
        Cbor::Null => Value::Null,
        Cbor::Bool(value) => Value::Bool(value),
        Cbor::Integer(integer) => {
            let integer = i128::from(integer);
            match (u64::try_from(integer), i64::try_from(integer)) {
                (Ok(integer), _) => integer.into(),
                (_, Ok(integer)) => integer.into(),
                _ => return None,
            }
        }
        Cbor::Float(number) => Number::from_f64(number).map_or(Value::Null, Value::Number),
        Cbor::Text(text) => Value::String(text),
        Cbor::Bytes(bytes) => Value::String(STANDARD.encode(bytes)),
        Cbor::Array(items) => Value::Array(items.into_iter().map(value).collect::<Option<_>>()?),
        Cbor::Map(members) => {
            let mut object = Map::new();
            for (key, held) in members {
                let key = match value(key)? {
                    Value::String(text) => text,
                    other => other.to_string(),
                };
                object.insert(key, value(held)?);
            }
            Value::Object(object)
        }
        Cbor::Tag(_, held) => value(*held)?,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_encoded_deterministically() {
        for (json, bytes) in [
            ("{}", &[0xa0][..]),
            (r#"{"b":1,"aa":2,"a":3}"#, &[0xa3, 0x61, b'a', 3, 0x61, b'b', 1, 0x62, b'a', b'a', 2]),
            ("[0,23,24,-1,1e3,1.5]", &[0x86, 0, 0x17, 0x18, 0x18, 0x20, 0xf9, 0x63, 0xd0, 0xf9, 0x3e, 0]),
            ("18446744073709551615", &[0x1b, 255, 255, 255, 255, 255, 255, 255, 255]),
            (r#"[true,null,"é"]"#, &[0x83, 0xf5, 0xf6, 0x62, 0xc3, 0xa9]),
        ] {
            assert_eq!(of_json(json).as_deref(), Some(bytes), "{json}");
        }
        assert_eq!(of_json("{"), None);
    }

    #[test]
    fn values_become_json() {
        for json in [r#"{"a":[1,-2,1.5,"x",null,true]}"#, "18446744073709551615", "-9223372036854775808"] {
            assert_eq!(to_json(&of_json(json).expect("JSON")).as_deref(), Some(json));
        }
        assert_eq!(to_json(&[0x43, 0, 1, 2]).as_deref(), Some(r#""AAEC""#));
        assert_eq!(to_json(&[0xa1, 1, 2]).as_deref(), Some(r#"{"1":2}"#));
        // A tag of a date.
        assert_eq!(to_json(&[0xc1, 1]).as_deref(), Some("1"));
        assert_eq!(to_bool(&[0xf5]), Some(true));
    }

    #[test]
    fn what_is_no_cbor_is_not_read() {
        let deep = vec![0x81; 100_000];
        let long = [&[0x9a, 0, 0x20, 0, 0][..], &vec![0; 2 << 20]].concat();
        let claimed = [0x9b, 0x10, 0, 0, 0, 0, 0, 0, 0];
        for bytes in [&b""[..], &[0xff], &[1, 1], &[0x61], &claimed, &deep, &long] {
            assert_eq!(to_json(bytes), None, "{:?}", &bytes[..bytes.len().min(9)]);
        }
    }
}
