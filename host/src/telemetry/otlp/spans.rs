//! Traces as spans of OTLP.

use std::time::{Duration, SystemTime};

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span, Status};

use super::{attribute, resource, scope};
use crate::telemetry::export::nanoseconds;
use crate::traces::{self, Attribute, Ended, Value};

/// The flags of a sampled span.
const SAMPLED: u32 = 1;

pub(in crate::telemetry) fn request(attributes: &[(String, String)], ended: &[Ended]) -> ExportTraceServiceRequest {
    let scoped =
        ScopeSpans { scope: Some(scope()), spans: ended.iter().flat_map(spans).collect(), ..ScopeSpans::default() };
    let all =
        ResourceSpans { resource: Some(resource(attributes)), scope_spans: vec![scoped], ..ResourceSpans::default() };
    ExportTraceServiceRequest { resource_spans: vec![all] }
}

/// That of the request, and those of what it did.
fn spans(ended: &Ended) -> impl Iterator<Item = Span> {
    let own = Span {
        parent_span_id: ended.parent.map(Vec::from).unwrap_or_default(),
        kind: SpanKind::Server.into(),
        dropped_links_count: 0,
        ..span(
            ended,
            ended.own.span,
            &ended.name,
            (ended.began, ended.took),
            (&ended.attributes, ended.error.as_deref()),
        )
    };
    let own = match ended.dropped {
        0 => own,
        dropped => {
            let mut attributes = own.attributes;
            attributes.push(attribute("wharf.spans.dropped", Any::IntValue(dropped.into())));
            Span { attributes, ..own }
        }
    };
    std::iter::once(own).chain(ended.spans.iter().map(move |each| child(ended, each)))
}

fn child(ended: &Ended, each: &traces::Span) -> Span {
    let kind = if each.is_remote { SpanKind::Client } else { SpanKind::Internal };
    let time = (ended.began + each.began, each.took);
    Span {
        parent_span_id: each.within.unwrap_or(ended.own.span).to_vec(),
        kind: kind.into(),
        ..span(ended, each.id, &each.name, time, (&each.attributes, each.error.as_deref()))
    }
}

fn span(
    ended: &Ended,
    id: [u8; 8],
    name: &str,
    (began, took): (SystemTime, Duration),
    (attributes, error): (&[Attribute], Option<&str>),
) -> Span {
    let error_type = error.map(|kind| attribute("error.type", Any::StringValue(kind.to_owned())));
    Span {
        trace_id: ended.own.trace.to_vec(),
        span_id: id.to_vec(),
        trace_state: ended.own.state.as_ref().map(|state| state.as_str().to_owned()).unwrap_or_default(),
        flags: SAMPLED,
        name: name.to_owned(),
        start_time_unix_nano: nanoseconds(began),
        end_time_unix_nano: nanoseconds(began + took),
        attributes: attributes.iter().map(key_value).chain(error_type).collect(),
        status: error.map(|_| Status { code: StatusCode::Error.into(), ..Status::default() }),
        ..Span::default()
    }
}

fn key_value((key, value): &Attribute) -> KeyValue {
    let value = match value {
        Value::Text(text) => Any::StringValue(text.clone().into_owned()),
        Value::Integer(number) => Any::IntValue(*number),
        Value::Number(number) => Any::DoubleValue(*number),
    };
    attribute(key, value)
}
