//! What is left of tasks when their process dies.

use rustix::process::Signal;

use super::*;

#[test]
fn a_task_that_asks_is_finished_by_another_process() {
    let home = home(SOON);
    let mut dies = client(&home);
    let id = task(&mut dies, "confirm_delete", json!({"filename": "a"}));
    let asks = until_status(&mut dies, &id, "input_required");
    dies.process().signal(Signal::KILL);
    let mut client = client(&home);
    assert_eq!(get(&mut client, &id)["inputRequests"], asks["inputRequests"]);
    answer(&mut client, &id, json!({key(&asks): accept(json!({"confirm": true}))}));
    let done = until_status(&mut client, &id, "completed");
    assert_eq!(first_text(&done["result"]), "a: deleted");
    drop(client);
    let mut later = super::client(&home);
    assert_eq!(get(&mut later, &id), done);
}

#[test]
fn a_task_that_computed_has_failed_or_runs_again() {
    let home = home(SOON);
    let mut dies = client(&home);
    let once = task(&mut dies, "slow_compute", json!({"seconds": 600.0}));
    let again = task(&mut dies, "slow_again", json!({"seconds": 2.0, "label": "it"}));
    dies.process().signal(Signal::KILL);
    let mut client = client(&home);
    let failed = until_status(&mut client, &once, "failed");
    assert_eq!(failed["error"]["data"]["reason"], "task_interrupted");
    let done = until_status(&mut client, &again, "completed");
    assert_eq!(first_text(&done["result"]), "it took 2 s");
}

/// Another process is alive: it takes over.
#[test]
fn the_tasks_of_a_process_that_dies_are_taken_over() {
    let home = home(SOON);
    let (mut dies, mut stays) = (client(&home), client(&home));
    let id = task(&mut dies, "slow_again", json!({"seconds": 3.0, "label": "it"}));
    assert_eq!(get(&mut stays, &id)["status"], "working");
    dies.process().signal(Signal::KILL);
    let done = until_status(&mut stays, &id, "completed");
    assert_eq!(first_text(&done["result"]), "it took 3 s");
}

#[test]
fn a_server_that_is_stopped_leaves_its_tasks() {
    let home = home(SOON);
    let mut stops = client(&home);
    let id = task(&mut stops, "slow_again", json!({"seconds": 2.0, "label": "it"}));
    stops.process().signal(Signal::TERM);
    assert!(stops.process().wait().success());
    let mut client = client(&home);
    let done = until_status(&mut client, &id, "completed");
    assert_eq!(first_text(&done["result"]), "it took 2 s");
}
