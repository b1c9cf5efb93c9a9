//! JSON Pointer (RFC 6901), on the text of the document: what it points to is cut out as
//! it was written, so that large numbers and the order of members survive.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::value::RawValue;
use wharf_plugin::*;

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Pointer {
    /// The JSON document: any JSON value.
    document: Box<RawValue>,
    /// Where the value is, such as /users/0/name; the empty text is the whole document.
    /// In names, write ~1 for / and ~0 for ~.
    pointer: String,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Found {
    /// The value that is there.
    value: Box<RawValue>,
}

pub(crate) fn pointer(_: &Call, args: Pointer) -> Result<Json<Found>> {
    let mut value: &RawValue = &args.document;
    if !args.pointer.is_empty() && !args.pointer.starts_with('/') {
        return Err(Error::invalid("/pointer", "must be empty or begin with /"));
    }
    let mut way = String::new();
    for token in args.pointer.split('/').skip(1) {
        let name = token.replace("~1", "/").replace("~0", "~");
        value = step(value, &name)
            .map_err(|reason| Error::invalid("/pointer", format!("leads nowhere after `{way}`: {reason}")))?;
        way.push('/');
        way.push_str(token);
    }
    Ok(Json(Found { value: value.to_owned() }))
}

/// One step down, or what is there instead.
fn step<'a>(value: &'a RawValue, name: &str) -> Result<&'a RawValue, String> {
    let text = value.get();
    if text.starts_with('{') {
        let members: BTreeMap<Cow<'a, str>, &'a RawValue> =
            serde_json::from_str(text).map_err(|error| error.to_string())?;
        if let Some(member) = members.get(name) {
            return Ok(member);
        }
        let names: Vec<_> = members.keys().take(20).map(|name| &**name).collect();
        return Err(format!("no member `{name}`; there are: {}", names.join(", ")));
    }
    if text.starts_with('[') {
        let elements: Vec<&'a RawValue> = serde_json::from_str(text).map_err(|error| error.to_string())?;
        // RFC 6901 wants digits without leading zeros.
        let canonical = name == "0" || (!name.starts_with('0') && name.bytes().all(|digit| digit.is_ascii_digit()));
        return match name.parse::<usize>() {
            Ok(place) if canonical && place < elements.len() => Ok(elements[place]),
            Ok(_) if canonical => Err(format!("no element {name}; there are {}", elements.len())),
            _ => Err(format!("`{name}` is no place in a list of {}", elements.len())),
        };
    }
    Err(format!("`{name}` is below a value that has nothing below it"))
}
