//! In place of the families, in a build without the feature `metrics`.

use std::sync::Arc;
use std::time::Duration;

use super::{Called, OpenKind, Operation, Sample};

/// There is none.
pub(super) enum Families {}

/// There is none.
pub(super) enum PerTool {}

impl Families {
    pub(super) fn new(_version: &str) -> Option<Self> {
        None
    }

    pub(super) fn operation(&self, _operation: Operation, _took: Duration) {
        match *self {}
    }

    pub(super) fn target(&self, _plugin: &str, _tool: &str) -> Arc<PerTool> {
        match *self {}
    }

    pub(super) fn called(&self, _target: &PerTool, _called: &Called) {
        match *self {}
    }

    pub(super) fn opened(&self, _kind: OpenKind, _by: i64) {
        match *self {}
    }

    pub(super) fn reload(&self, _result: &'static str, _took: Option<Duration>) {
        match *self {}
    }

    pub(super) fn text(&self, _sample: &Sample) -> String {
        match *self {}
    }
}
