//! The telemetry of a server: what is exported, if anything, and the thread that does it.

use std::sync::Arc;
use std::time::Duration;

use crate::config::Config;
use crate::report::{self, Failure};
use crate::telemetry::{self, Exporter, Settings};
use crate::traces::{Queue, Traces};

/// For the last export, when the server stops.
const CLOSING: Duration = Duration::from_secs(1);

/// Traces that are collected, and what is needed to export them.
#[derive(Default)]
pub(super) struct Telemetry {
    pub(super) traces: Traces,
    exporting: Option<(Settings, Arc<Queue>)>,
}

/// An exporter that runs, if there is one.
pub(super) struct Running(Option<Exporter>);

/// Reads the configuration and the environment. Says where it goes, and what is not used. `id`: of this process.
pub(super) fn prepare(config: &Config, id: &str) -> Result<Telemetry, Failure> {
    if !telemetry::SUPPORTED {
        return Ok(Telemetry::default());
    }
    let configured =
        config.telemetry(id.to_owned()).map_err(|error| Failure::usage(error.to_string()).hint(error.hint))?;
    let (settings, warnings) = Settings::of(&configured, &|name| std::env::var(name).ok());
    for warning in warnings {
        tracing::warn!("{warning}");
    }
    let Some(settings) = settings else { return Ok(Telemetry::default()) };
    let queue = Arc::new(Queue::new(settings.queue, settings.batch));
    let mut traces = Traces::default();
    if let Some(endpoint) = &settings.traces {
        traces = Traces::on(settings.sampler, queue.clone())
            .map_err(|error| Failure::new(format!("draw a random number: {error}")))?;
        report::announce(&format!("traces are exported to {}", endpoint.target));
    }
    if let Some(endpoint) = &settings.metrics {
        report::announce(&format!("metrics are exported to {}", endpoint.target));
    }
    Ok(Telemetry { traces, exporting: Some((settings, queue)) })
}

impl Telemetry {
    pub(super) fn wants_metrics(&self) -> bool {
        self.exporting.as_ref().is_some_and(|(settings, _)| settings.metrics.is_some())
    }

    /// `metrics`: as Prometheus gets them.
    pub(super) fn start(self, metrics: Box<dyn Fn() -> String + Send>) -> Result<Running, Failure> {
        let Some((settings, queue)) = self.exporting else { return Ok(Running(None)) };
        let started = Exporter::start(settings, queue, metrics);
        started
            .map(|exporter| Running(Some(exporter)))
            .map_err(|error| Failure::new(format!("export telemetry: {error}")))
    }
}

impl Running {
    /// Exports what is left.
    pub(super) fn close(self) {
        if let Some(exporter) = self.0 {
            exporter.close(CLOSING);
        }
    }
}
