//! How durations are written in the file: `30s`, `1m 30s` or `250ms`.

use std::time::Duration;

use serde::{Deserialize as _, Deserializer, Serializer};

pub(super) fn serialize<S: Serializer>(
    value: &(impl Copy + Into<Option<Duration>>),
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match (*value).into() {
        Some(value) => serializer.collect_str(&humantime::format_duration(value)),
        None => serializer.serialize_none(),
    }
}

pub(super) fn deserialize<'de, D: Deserializer<'de>, T: From<Duration>>(deserializer: D) -> Result<T, D::Error> {
    let text = String::deserialize(deserializer)?;
    let unexpected = serde::de::Unexpected::Str(&text);
    let value =
        humantime::parse_duration(&text).map_err(|_| serde::de::Error::invalid_value(unexpected, &"a duration"))?;
    Ok(value.into())
}
