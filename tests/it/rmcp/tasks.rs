//! The tasks extension, through the official Rust client. It has neither the tasks of 2025-11-25 nor streams of their
//! status.

use std::collections::BTreeMap;

use rmcp::model::{
    CallToolResponse, CancelTaskParams, ClientConfig, ErrorCode, GetTaskParams, InputRequests, InputResponses,
    ProtocolVersion, TaskPayload, TaskStatus, UpdateTaskParams,
};
use rmcp::service::{RoleClient, RunningService, ServiceError};
use rmcp::{ClientHandler, ClientLifecycleMode};
use serde_json::{Value, json};

use super::host::{Host, Way, both_ways, connect};
use super::{params, within};
use crate::support::home::Home;

both_ways!(calls_that_become_tasks);

/// A client with tasks, which can be asked for forms.
struct TaskClient;

impl ClientHandler for TaskClient {
    fn get_info(&self) -> ClientConfig {
        let mut info = ClientConfig::default().with_protocol_version(ProtocolVersion::V_2026_07_28);
        let able = json!({"elicitation": {"form": {}}, "extensions": {"io.modelcontextprotocol/tasks": {}}});
        info.capabilities = serde_json::from_value(able).expect("capabilities");
        info
    }
}

type Client = RunningService<RoleClient, TaskClient>;

async fn connected(home: &Home, way: Way) -> (Client, Host) {
    let mode = ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] };
    connect(home, way, TaskClient, mode).await
}

/// Calls a tool, which must become a task; its id.
async fn begun(client: &Client, tool: &'static str, arguments: Value) -> String {
    let made = within(client.call_tool_once(params(tool, arguments))).await.expect("a response");
    let CallToolResponse::Task(made) = made else { panic!("no task: {made:?}") };
    assert_eq!(made.task.status, TaskStatus::Working);
    assert!(made.task.ttl_ms.is_some() && made.task.poll_interval_ms.is_some(), "{made:?}");
    made.task.task_id
}

/// Asks for the status until the task does not work any more.
async fn until_it_rests(client: &Client, id: &str) -> TaskPayload {
    within(async {
        loop {
            let got = client.get_task(GetTaskParams::new(id)).await.expect("a task");
            if got.task.status() != TaskStatus::Working {
                return got.task.payload;
            }
        }
    })
    .await
}

/// The text of a completed task's result.
async fn text_of(client: &Client, id: &str) -> String {
    let payload = until_it_rests(client, id).await;
    let TaskPayload::Completed { result } = payload else { panic!("not completed: {payload:?}") };
    result["content"][0]["text"].as_str().expect("text").to_owned()
}

fn accepted(questions: &InputRequests) -> InputResponses {
    let answer = json!({"action": "accept", "content": {"name": "Ada", "confirm": true}});
    questions.keys().map(|key| (key.clone(), answer.clone())).collect()
}

async fn calls_that_become_tasks(way: Way) {
    let home = Home::with(&["everything"]);
    home.configure("[tasks]\nafter = '100ms'\n");
    let (client, host) = connected(&home, way).await;
    let server = client.peer_info().expect("the server's answer");
    assert!(server.capabilities.supports_tasks());

    let at_once = within(client.call_tool_once(params("everything_greet", json!({"name": "Ada"})))).await;
    assert!(matches!(at_once, Ok(CallToolResponse::Complete(_))), "{at_once:?}");
    let id = begun(&client, "everything_slow_compute", json!({"seconds": 0.5, "label": "it"})).await;
    assert_eq!(text_of(&client, &id).await, "it is done");
    let id = begun(&client, "everything_failing_job", json!({})).await;
    assert_eq!(text_of(&client, &id).await, "the job failed");
    let id = begun(&client, "everything_protocol_error_job", json!({})).await;
    let failed = until_it_rests(&client, &id).await;
    assert!(matches!(&failed, TaskPayload::Failed { error } if error["code"] == -32021), "{failed:?}");

    for (tool, arguments, said) in [
        ("everything_confirm_delete", json!({"filename": "a"}), "a: deleted"),
        ("everything_multi_input", json!({}), "true true"),
    ] {
        let id = begun(&client, tool, arguments).await;
        let asks = until_it_rests(&client, &id).await;
        let TaskPayload::InputRequired { input_requests } = asks else { panic!("it does not ask: {asks:?}") };
        within(client.update_task(UpdateTaskParams::new(&id, accepted(&input_requests)))).await.expect("an answer");
        assert_eq!(text_of(&client, &id).await, said);
    }
    let call = params("everything_test_tool_with_task", json!({}));
    let asked = within(client.call_tool_once(call.clone())).await.expect("a response");
    let CallToolResponse::InputRequired(asked) = asked else { panic!("it does not ask: {asked:?}") };
    let answers = accepted(asked.input_requests.as_ref().unwrap_or(&BTreeMap::new()));
    let again = call.with_input_responses(answers).with_request_state(asked.request_state.expect("a state"));
    let made = within(client.call_tool_once(again)).await.expect("a response");
    let CallToolResponse::Task(made) = made else { panic!("no task: {made:?}") };
    assert_eq!(text_of(&client, &made.task.task_id).await, "Hello, Ada!");

    let id = begun(&client, "everything_slow_compute", json!({"seconds": 600.0})).await;
    within(client.cancel_task(CancelTaskParams::new(&id))).await.expect("an answer");
    assert_eq!(until_it_rests(&client, &id).await, TaskPayload::Cancelled);
    let unknown = within(client.get_task(GetTaskParams::new("unknown"))).await.expect_err("no such task");
    let ServiceError::McpError(error) = unknown else { panic!("{unknown}") };
    assert_eq!(error.code, ErrorCode::INVALID_PARAMS);
    host.end(client).await;
}
