//! The status of tasks on `subscriptions/listen`.

use super::*;

fn listen(client: &mut Client, ids: &[&str]) -> Value {
    client.post("subscriptions/listen", json!({"notifications": {"taskIds": ids}}));
    client.notification("notifications/subscriptions/acknowledged")["params"].take()
}

#[test]
fn a_stream_tells_of_the_tasks_that_it_names() {
    let home = home(SOON);
    let mut client = client(&home);
    let asking = task(&mut client, "confirm_delete", json!({"filename": "a"}));
    let other = task(&mut client, "slow_compute", json!({"seconds": 600.0}));
    let acknowledged = listen(&mut client, &[&asking, "AAAAAAAAAAAAAAAAAAAAAAAA", &asking]);
    assert_eq!(acknowledged["notifications"], json!({"taskIds": [asking]}));
    let mut asks = client.notification("notifications/tasks")["params"].take();
    assert_eq!((&asks["taskId"], &asks["status"]), (&json!(asking), &json!("input_required")));
    let subscription = &asks["_meta"]["io.modelcontextprotocol/subscriptionId"];
    assert_eq!(subscription, &acknowledged["_meta"]["io.modelcontextprotocol/subscriptionId"]);
    assert!(asks.get("resultType").is_none());
    client.result("tasks/cancel", json!({"taskId": other}));
    let asked = key(&asks);
    answer(&mut client, &asking, json!({asked: accept(json!({"confirm": true}))}));
    while asks["status"] != "completed" {
        asks = client.notification("notifications/tasks")["params"].take();
        assert_eq!(asks["taskId"], asking);
    }
    assert_eq!(first_text(&asks["result"]), "a: deleted");
}

#[test]
fn another_process_tells_of_it_too() {
    let home = home(SOON);
    let (mut runs, mut listens) = (client(&home), client(&home));
    let id = task(&mut runs, "slow_compute", json!({"seconds": 600.0}));
    assert_eq!(listen(&mut listens, &[&id])["notifications"]["taskIds"], json!([id]));
    runs.result("tasks/cancel", json!({"taskId": id}));
    loop {
        let told = listens.notification("notifications/tasks")["params"].take();
        if told["status"] == "cancelled" {
            return;
        }
    }
}

#[test]
fn a_client_without_tasks_cannot_follow_any() {
    let home = home(SOON);
    let mut client = Client::with_capabilities(Process::serve(&home), MODERN, json!({}));
    let error = client.error("subscriptions/listen", json!({"notifications": {"taskIds": ["x"]}}));
    assert_eq!(error["code"], -32021);
}
