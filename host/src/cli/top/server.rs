//! What a server's metrics say of it besides its calls.

use crate::metrics::read::{ReadFamily, ReadPoint};

/// A server at a moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ServerState {
    pub(super) version: String,
    /// Seconds of processor time since its start.
    pub(super) cpu: f64,
    pub(super) running: f64,
    pub(super) waiting: f64,
    pub(super) plugins: f64,
    /// Bytes of all guests.
    pub(super) guest_memory: f64,
    /// Bytes of the process.
    pub(super) memory: f64,
    /// Kinds, and how many are open.
    pub(super) open: Vec<(String, f64)>,
    /// The least is first.
    pub(super) budgets: Vec<BudgetState>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct BudgetState {
    pub(super) budget: String,
    pub(super) resource: String,
    /// From 0 to 1.
    pub(super) left: f64,
}

impl ServerState {
    pub(super) fn of(families: &[ReadFamily]) -> Self {
        let points = |name: &str| -> &[ReadPoint] {
            families.iter().find(|family| family.name == name).map_or(&[], |family| &family.points)
        };
        let value = |name: &str| points(name).first().map_or(0.0, |point| point.value);
        let budgets = points("wharf_budget_left_ratio").iter().map(|point| BudgetState {
            budget: point.label("budget").to_owned(),
            resource: point.label("resource").to_owned(),
            left: point.value,
        });
        let mut budgets: Vec<BudgetState> = budgets.collect();
        budgets.sort_by(|one, other| one.left.total_cmp(&other.left));
        Self {
            version: points("wharf_build").first().map_or_else(String::new, |point| point.label("version").to_owned()),
            cpu: value("process_cpu_seconds"),
            running: value("wharf_instances_running"),
            waiting: value("wharf_calls_waiting"),
            plugins: value("wharf_plugins"),
            guest_memory: value("wharf_guest_memory_bytes"),
            memory: value("process_resident_memory_bytes"),
            open: points("wharf_open").iter().map(|point| (point.label("kind").to_owned(), point.value)).collect(),
            budgets,
        }
    }
}
