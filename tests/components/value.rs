//! A value that a schema allows, of the keywords that schemas of plain functions have.

use serde_json::{Map, Value, json};

use crate::random::Random;

pub(crate) fn of(schema: &Value, random: &mut Random) -> Value {
    if let Some(cases) = schema["anyOf"].as_array() {
        return of(&cases[random.below(cases.len())], random);
    }
    if let Some(names) = schema["enum"].as_array() {
        return names[random.below(names.len())].clone();
    }
    if let Some(only) = schema.get("const") {
        return only.clone();
    }
    match schema["type"].as_str() {
        Some("object") => object(schema, random),
        Some("array") => array(schema, random),
        Some("string") if schema["contentEncoding"] == "base64" => json!(["", "AA==", "AAEC"][random.below(3)]),
        Some("string") if schema["maxLength"] == 1 => json!(["a", "é", "\u{1f980}", " "][random.below(4)]),
        Some("string") => json!(["", "a text", "é\n\"", "\u{1f980}"][random.below(4)]),
        Some("integer") => {
            let bounds = [&schema["minimum"], &schema["maximum"], &json!(1)];
            bounds[random.below(3)].clone()
        }
        Some("number") => json!([0.0, -1.5, 1e10, 3.0][random.below(4)]),
        Some("boolean") => json!(random.one_in(2)),
        _ => Value::Null,
    }
}

fn object(schema: &Value, random: &mut Random) -> Value {
    let required = schema["required"].as_array().map_or(&[][..], Vec::as_slice);
    let mut members = Map::new();
    for (name, schema) in schema["properties"].as_object().into_iter().flatten() {
        if required.iter().any(|one| one == name) || random.one_in(2) {
            members.insert(name.clone(), of(schema, random));
        }
    }
    members.into()
}

fn array(schema: &Value, random: &mut Random) -> Value {
    if let Some(items) = schema["prefixItems"].as_array() {
        return items.iter().map(|schema| of(schema, random)).collect();
    }
    let most = if schema["uniqueItems"] == true { 1 } else { 2 };
    let least = schema["minItems"].as_u64().unwrap_or_default() as usize;
    let count = least.max(random.below(most + 1));
    std::iter::repeat_with(|| of(&schema["items"], random)).take(count).collect()
}
