//! What is left of tasks when their process dies.

use rustix::process::Signal;

use super::*;
use crate::support::http::serve;
use crate::support::streamable::Streamable;

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

/// Over HTTP the threads of connections run them.
#[test]
fn a_server_over_http_that_is_stopped_gives_its_tasks_time() {
    let home = home(SOON);
    let (mut process, address) = serve(&home, &[]);
    let mut client = Client::with_capabilities(Streamable::connect(address), MODERN, capabilities());
    client.tools_until(|tools| tools.iter().any(|tool| tool == "everything_slow_compute"));
    let id = task(&mut client, "slow_compute", json!({"seconds": 1.0}));
    drop(client);
    process.signal(Signal::TERM);
    assert!(process.wait().success());
    let shown = run(&home, ["tasks", "show", &id, "--json"]);
    let shown: Value = serde_json::from_slice(&shown.stdout).expect("JSON");
    assert_eq!(shown["status"], "completed", "{shown}");
}

#[test]
fn what_cannot_be_repeated_has_failed_when_its_server_is_stopped() {
    let home = home(SOON);
    let mut stops = client(&home);
    let id = task(&mut stops, "slow_compute", json!({"seconds": 600.0}));
    stops.process().signal(Signal::TERM);
    assert!(stops.process().wait().success());
    stops.process().log_with("cut off tasks");
    // Nobody waits until its process counts as gone.
    let shown = run(&home, ["tasks", "show", &id, "--json"]);
    let shown: Value = serde_json::from_slice(&shown.stdout).expect("JSON");
    assert_eq!((&shown["status"], &shown["error"]["data"]["reason"]), (&json!("failed"), &json!("task_interrupted")));
}

#[test]
fn the_operator_sees_that_no_process_runs_a_task() {
    let home = home(SOON);
    let mut dies = client(&home);
    task(&mut dies, "slow_compute", json!({"seconds": 600.0}));
    dies.process().signal(Signal::KILL);
    let deadline = Instant::now() + PATIENCE;
    loop {
        let shown = run(&home, ["tasks", home.plugins().to_str().expect("UTF-8")]);
        let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
        if shown.contains("  interrupted") {
            break;
        }
        assert!(Instant::now() < deadline && shown.contains("  working"), "{shown}");
    }
}

/// Each of them may be the last one: whoever goes on says that it does.
#[test]
fn answers_that_arrive_together_begin_one_round() {
    let home = home(SOON);
    for others_process in [false, true] {
        let mut dies = client(&home);
        let mut other = client(&home);
        let id = task(&mut dies, "multi_input", json!({}));
        let asks = until_status(&mut dies, &id, "input_required");
        let keys: Vec<String> = asks["inputRequests"].as_object().expect("questions").keys().cloned().collect();
        let update = |key: &String| json!({"taskId": id, "inputResponses": {key: {"action": "decline"}}});
        let one = dies.post("tasks/update", update(&keys[0]));
        let last = if others_process { &mut other } else { &mut dies };
        let two = last.post("tasks/update", update(&keys[1]));
        last.answer(two);
        dies.answer(one);
        until(&mut dies, &id, |got| got["status"] != "input_required");
        for client in [&mut dies, &mut other] {
            client.process().signal(Signal::KILL);
        }
        // The round takes half a second: it was interrupted, or has just ended.
        let mut client = client(&home);
        let ended = until(&mut client, &id, |got| got["status"] != "working");
        assert!(["failed", "completed"].contains(&ended["status"].as_str().expect("a status")), "{ended}");
    }
}
