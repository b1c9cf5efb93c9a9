//! Servers that run at the same time, called in short alternating turns, so that other load on the
//! machine affects all figures equally.

use anyhow::Result;

use crate::batch::{Batch, Workload};
use crate::calls::{one_at_a_time, percentile};
use crate::client::Client;
use crate::contender::Contender;

/// Calls of one server per turn.
const CALLS: usize = 100;

/// For each server, the p50 of its calls in each turn, in microseconds.
pub fn medians(contender: &Contender, servers: &mut [(Client, Workload)], turns: usize) -> Result<Vec<Vec<f64>>> {
    let mut medians = vec![Vec::with_capacity(turns); servers.len()];
    let mut order: Vec<usize> = (0..servers.len()).collect();
    for turn in 0..=turns {
        for &at in &order {
            let (client, workload) = &mut servers[at];
            let batch = Batch::new(*workload, contender, client.ids(CALLS as u64), CALLS);
            let mut times = one_at_a_time(client, &batch)?;
            times.sort_unstable();
            // The first turn is a warm-up.
            medians[at].extend((turn > 0).then_some(percentile(&times, 50).as_secs_f64() * 1e6));
        }
        // Reversed each turn, so that drift affects all servers equally.
        order.reverse();
    }
    Ok(medians)
}
