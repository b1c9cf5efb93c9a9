//! The metrics that Prometheus gets, as metrics of OTLP under the names of OpenTelemetry.

use std::collections::BTreeMap;

use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::number_data_point::Value as Number;
use opentelemetry_proto::tonic::metrics::v1::{
    AggregationTemporality, Gauge, Histogram, HistogramDataPoint, Metric, NumberDataPoint, ResourceMetrics,
    ScopeMetrics, Sum,
};

use super::{attribute, resource, scope};
use crate::metrics::read::{ReadFamily, ReadKind, ReadPoint, Suffix};

/// Ends of names, and the units that they mean (UCUM).
const UNITS: [(&str, &str); 3] = [("_seconds", "s"), ("_bytes", "By"), ("_ratio", "1")];
/// Names that OpenTelemetry has for what Prometheus calls otherwise.
const NAMES: [(&str, &str); 2] =
    [("process.cpu", "process.cpu.time"), ("process.resident.memory", "process.memory.usage")];

/// `began`, `now`: nanoseconds since 1970.
pub(in crate::telemetry) fn request(
    attributes: &[(String, String)],
    families: &[ReadFamily],
    began: u64,
    now: u64,
) -> ExportMetricsServiceRequest {
    let metrics = families.iter().map(|family| metric(family, began, now)).collect();
    let scoped = ScopeMetrics { scope: Some(scope()), metrics, ..ScopeMetrics::default() };
    let all = ResourceMetrics {
        resource: Some(resource(attributes)),
        scope_metrics: vec![scoped],
        ..ResourceMetrics::default()
    };
    ExportMetricsServiceRequest { resource_metrics: vec![all] }
}

fn metric(family: &ReadFamily, began: u64, now: u64) -> Metric {
    let known = UNITS.iter().find_map(|(end, unit)| Some((family.name.strip_suffix(end)?, *unit)));
    let (name, unit) = known.unwrap_or((&family.name, ""));
    let name = name.replace('_', ".");
    let name = NAMES.iter().find(|(own, _)| *own == name).map_or(name.clone(), |(_, theirs)| (*theirs).to_owned());
    let number = |point: &ReadPoint| NumberDataPoint {
        attributes: labels(point, &[]),
        start_time_unix_nano: began,
        time_unix_nano: now,
        value: Some(Number::AsDouble(point.value)),
        ..NumberDataPoint::default()
    };
    let cumulative = AggregationTemporality::Cumulative.into();
    let data = match family.kind {
        ReadKind::Counter => Data::Sum(Sum {
            data_points: family.points.iter().filter(|point| point.suffix == Suffix::Total).map(number).collect(),
            aggregation_temporality: cumulative,
            is_monotonic: true,
        }),
        ReadKind::Histogram => Data::Histogram(Histogram {
            data_points: histograms(&family.points, began, now),
            aggregation_temporality: cumulative,
        }),
        _ => Data::Gauge(Gauge { data_points: family.points.iter().map(number).collect() }),
    };
    Metric { name, description: family.help.clone(), unit: unit.to_owned(), data: Some(data), ..Metric::default() }
}

/// A point for each set of labels: its buckets are cumulative in OpenMetrics, and counted by themselves in OTLP.
fn histograms(points: &[ReadPoint], began: u64, now: u64) -> Vec<HistogramDataPoint> {
    let mut by_labels: BTreeMap<Vec<&(String, String)>, (HistogramDataPoint, f64)> = BTreeMap::new();
    for point in points {
        let key = point.labels.iter().filter(|(name, _)| name != "le").collect();
        let (made, below) = by_labels.entry(key).or_insert_with(|| {
            let empty = HistogramDataPoint {
                attributes: labels(point, &["le"]),
                start_time_unix_nano: began,
                time_unix_nano: now,
                ..HistogramDataPoint::default()
            };
            (empty, 0.0)
        });
        match point.suffix {
            Suffix::Sum => made.sum = Some(point.value),
            Suffix::Count => made.count = point.value as u64,
            Suffix::Bucket => {
                made.bucket_counts.push((point.value - *below).max(0.0) as u64);
                *below = point.value;
                let bound = point.labels.iter().find(|(name, _)| name == "le").and_then(|(_, le)| le.parse().ok());
                made.explicit_bounds.extend(bound.filter(|bound: &f64| bound.is_finite()));
            }
            Suffix::None | Suffix::Total | Suffix::Info => {}
        }
    }
    by_labels.into_values().map(|(point, _)| point).collect()
}

/// Empty ones are as none.
fn labels(point: &ReadPoint, but: &[&str]) -> Vec<KeyValue> {
    let own = point.labels.iter().filter(|(name, value)| !value.is_empty() && !but.contains(&name.as_str()));
    own.map(|(name, value)| attribute(&name.replace('_', "."), Value::StringValue(value.clone()))).collect()
}
