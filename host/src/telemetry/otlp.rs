//! Messages of OTLP.

pub(super) mod metrics;
pub(super) mod spans;

use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, InstrumentationScope, KeyValue};
use opentelemetry_proto::tonic::resource::v1::Resource;

fn resource(attributes: &[(String, String)]) -> Resource {
    let attributes = attributes.iter().map(|(key, value)| attribute(key, Value::StringValue(value.clone())));
    Resource { attributes: attributes.collect(), ..Resource::default() }
}

/// Who has measured.
fn scope() -> InstrumentationScope {
    InstrumentationScope {
        name: "wharf".into(),
        version: env!("CARGO_PKG_VERSION").into(),
        ..InstrumentationScope::default()
    }
}

fn attribute(key: &str, value: Value) -> KeyValue {
    KeyValue { key: key.to_owned(), value: Some(AnyValue { value: Some(value) }), ..KeyValue::default() }
}
