//! What the server answers.

use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};

use crate::{Request, Response};

const STATELESS: &str = "2026-07-28";
const SESSION: &str = "a-session";

/// A fresh instance has not been initialized.
static INITIALIZED: AtomicBool = AtomicBool::new(false);

pub(crate) fn answer(request: &Request) -> Response {
    let mode = std::env::var("MODE").unwrap_or_default();
    match mode.as_str() {
        "html" => return Response::Whole(200, "text/html", Vec::new(), "<html></html>".into()),
        "missing" => return Response::status(404),
        "failing" => return Response::status(500),
        "redirecting" => {
            let field = vec![("location", "http://169.254.169.254/mcp".to_owned())];
            return Response::Whole(302, "text/plain", field, String::new());
        }
        "silent" => return Response::Nothing,
        "panicking" => panic!("as it was told to"),
        "spinning" => loop {
            std::hint::black_box(());
        },
        "root" if request.path != "/" => return Response::status(404),
        "root" => {}
        _ if request.path != "/mcp" => return Response::status(404),
        _ => {}
    }
    let Ok(message) = serde_json::from_str::<Value>(&request.body) else { return Response::status(400) };
    let revision = if mode.starts_with("20") { mode.clone() } else { STATELESS.to_owned() };
    let wrong =
        if revision == STATELESS { is_wrong(request, &message) } else { in_session(request, &message, &revision) };
    if let Some(wrong) = wrong {
        return wrong;
    }
    let id = &message["id"];
    let answer = match result(&message, &mode, &revision) {
        Ok(result) if mode == "wrong-id" => json!({ "jsonrpc": "2.0", "id": 77, "result": result }),
        Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
        Err(Failed::Error(code, text)) => {
            json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": text } })
        }
        Err(Failed::Capability(name)) => {
            let data = json!({ "requiredCapabilities": { name: {} } });
            let error = json!({ "code": -32021, "message": "the client cannot be asked", "data": data });
            json!({ "jsonrpc": "2.0", "id": id, "error": error })
        }
        Err(Failed::Response(response)) => return response,
    };
    if message["method"] == "initialize" {
        return Response::Whole(200, "application/json", vec![("mcp-session-id", SESSION.into())], answer.to_string());
    }
    match mode.as_str() {
        "stream" => {
            let first = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"hi"}}"#;
            let text = format!(": begin\n\nid: 1\ndata: {first}\n\nevent: message\r\ndata: {answer}\r\n\r\n");
            Response::Whole(200, "text/event-stream; charset=utf-8", Vec::new(), text)
        }
        "open" => Response::Open(format!("data: {answer}\n\n")),
        _ => Response::json(if answer.get("error").is_some() { 400 } else { 200 }, &answer),
    }
}

/// What a server of 2026-07-28 refuses.
fn is_wrong(request: &Request, message: &Value) -> Option<Response> {
    let meta = &message["params"]["_meta"];
    let about = match message["method"].as_str().unwrap_or_default() {
        "tools/call" | "prompts/get" => message["params"]["name"].as_str(),
        "resources/read" => message["params"]["uri"].as_str(),
        "initialize" => return Some(Response::status(400)),
        _ => None,
    };
    let is_right = request.header("mcp-protocol-version") == Some(STATELESS)
        && meta["io.modelcontextprotocol/protocolVersion"] == STATELESS
        && meta["io.modelcontextprotocol/clientCapabilities"].is_object()
        && request.header("mcp-method") == message["method"].as_str()
        && request.header("mcp-name") == about
        && request.header("content-type") == Some("application/json")
        && request.header("accept").is_some_and(|accept| accept.contains("text/event-stream"));
    let error =
        json!({ "jsonrpc": "2.0", "id": message["id"], "error": { "code": -32020, "message": "wrong headers" } });
    (!is_right).then(|| Response::json(400, &error))
}

/// What an older server answers besides results.
fn in_session(request: &Request, message: &Value, revision: &str) -> Option<Response> {
    match message["method"].as_str().unwrap_or_default() {
        "initialize" => None,
        // Of a client that knows no handshake, a server of the official SDKs says this.
        _ if request.header("mcp-session-id") != Some(SESSION) => Some(Response::status(400)),
        _ if request.header("mcp-protocol-version") != Some(revision) => Some(Response::status(400)),
        "notifications/initialized" => {
            INITIALIZED.store(true, Ordering::Relaxed);
            Some(Response::status(202))
        }
        _ if !INITIALIZED.load(Ordering::Relaxed) => Some(Response::status(400)),
        _ => None,
    }
}

enum Failed {
    Error(i64, String),
    /// The client lacks that capability.
    Capability(&'static str),
    Response(Response),
}

fn result(message: &Value, mode: &str, revision: &str) -> Result<Value, Failed> {
    let params = &message["params"];
    let capabilities = json!({ "tools": {}, "prompts": {}, "resources": {}, "completions": {} });
    let mut result = match message["method"].as_str().unwrap_or_default() {
        "server/discover" => json!({ "supportedVersions": [STATELESS], "capabilities": capabilities }),
        "initialize" => json!({ "protocolVersion": revision, "capabilities": capabilities,
            "serverInfo": { "name": "served", "version": "1" } }),
        "tools/list" => tools(params, mode),
        "tools/call" => call(params)?,
        "prompts/list" => {
            json!({ "prompts": [{ "name": "greet", "arguments": [{ "name": "who", "required": true }] }] })
        }
        "prompts/get" if params["arguments"]["who"] == "ask" => asking(
            params,
            "form",
            |answers| json!({ "messages": [{ "role": "user", "content": { "type": "text", "text": answers } }] }),
        ),
        "prompts/get" => {
            let text = format!("Greet {}.", params["arguments"]["who"].as_str().unwrap_or("nobody"));
            json!({ "messages": [{ "role": "user", "content": { "type": "text", "text": text } }] })
        }
        "resources/list" => json!({ "resources": [{ "uri": "note://a", "name": "note", "mimeType": "text/plain" }] }),
        "resources/templates/list" => {
            json!({ "resourceTemplates": [{ "uriTemplate": "item://{name}", "name": "items" }] })
        }
        "resources/read" => match params["uri"].as_str().unwrap_or_default() {
            "item://ask" => {
                asking(params, "form", |answers| json!({ "contents": [{ "uri": "item://ask", "text": answers }] }))
            }
            uri @ ("note://a" | "item://one") => json!({ "contents": [{ "uri": uri, "text": "of a file" }] }),
            uri @ "item://bytes" => json!({ "contents": [{ "uri": uri, "blob": "AAEC" }] }),
            _ => return Err(Failed::Error(-32002, "no such resource".into())),
        },
        "completion/complete" => {
            json!({ "completion": { "values": [format!("{}x", params["argument"]["value"].as_str().unwrap_or_default())] } })
        }
        _ => return Err(Failed::Error(-32601, "no such method".into())),
    };
    if revision == STATELESS && result.get("resultType").is_none() {
        result["resultType"] = json!("complete");
    }
    Ok(result)
}

fn tools(params: &Value, mode: &str) -> Value {
    let schema = json!({ "type": "object" });
    match mode {
        "many" => {
            let tool = |at: usize| json!({ "name": format!("tool-{at}"), "inputSchema": schema });
            return json!({ "tools": (0..2000).map(tool).collect::<Vec<_>>() });
        }
        "pages" => return json!({ "tools": [], "nextCursor": "again" }),
        "nested" => {
            return serde_json::from_str(&format!("{{\"tools\":{}{}}}", "[".repeat(100), "]".repeat(100)))
                .unwrap_or_default();
        }
        "nameless" => return json!({ "tools": [{ "inputSchema": schema }] }),
        _ => {}
    }
    if params["cursor"] == "second" {
        return json!({ "tools": [{ "name": "fault", "inputSchema": schema }] });
    }
    let sum = json!({ "type": "object", "properties": { "sum": { "type": "integer" } }, "required": ["sum"] });
    let region =
        json!({ "type": "object", "properties": { "region": { "type": "string", "x-mcp-header": "Region" } } });
    json!({ "nextCursor": "second", "tools": [
        { "name": "add", "title": "Adder", "description": "Adds a and b.", "outputSchema": sum,
          "annotations": { "readOnlyHint": true },
          "inputSchema": { "type": "object", "properties": { "a": { "type": "integer" }, "b": { "type": "integer" } }, "required": ["a", "b"] } },
        { "name": "variable", "description": "Says what a variable is.", "inputSchema": schema },
        { "name": "place", "description": "Says where.", "inputSchema": region },
        { "name": "contents", "description": "Has one of each.", "inputSchema": schema },
        { "name": "meta", "description": "Says what came with the request.", "inputSchema": schema },
        { "name": "ask", "description": "Asks, and says what was answered.", "inputSchema": schema },
    ] })
}

fn call(params: &Value) -> Result<Value, Failed> {
    let arguments = &params["arguments"];
    let text = |text: String| json!({ "content": [{ "type": "text", "text": text }] });
    let name = |name: &str| arguments[name].as_str().unwrap_or_default().to_owned();
    Ok(match params["name"].as_str().unwrap_or_default() {
        "add" => {
            let sum = arguments["a"].as_i64().unwrap_or_default() + arguments["b"].as_i64().unwrap_or_default();
            json!({ "content": [], "structuredContent": { "sum": sum } })
        }
        "meta" => text(params["_meta"].to_string()),
        "variable" => text(std::env::var(name("name")).map_err(|error| Failed::Error(-32603, error.to_string()))?),
        "place" => text(name("region")),
        "contents" => json!({ "isError": false, "content": [
            { "type": "text", "text": "a", "annotations": { "audience": ["user"], "priority": 0.5 } },
            { "type": "image", "data": "AAEC", "mimeType": "image/png" },
            { "type": "resource_link", "uri": "note://a", "name": "note" },
            { "type": "resource", "resource": { "uri": "note://a", "text": "b" } },
        ] }),
        "ask" if name("what") == "if-possible" && client(params)["elicitation"].is_null() => {
            return Err(Failed::Capability("elicitation"));
        }
        "ask" if arguments["result"].is_object() => arguments["result"].clone(),
        "ask" => asking(params, &name("what"), |answers| text(answers.to_owned())),
        "fault" => fault(&name("how"))?,
        _ => return Err(Failed::Error(-32602, "unknown tool".into())),
    })
}

/// What can be asked of the client.
fn client(params: &Value) -> &Value {
    &params["_meta"]["io.modelcontextprotocol/clientCapabilities"]
}

/// A question, and once there are answers or a state, these and what the client can be asked.
fn asking(params: &Value, what: &str, answered: impl Fn(&str) -> Value) -> Value {
    let answers = &params["inputResponses"];
    if what != "again" && (answers.is_object() || params["requestState"].is_string()) {
        let said = json!({ "answers": answers, "state": params["requestState"], "client": client(params) });
        return answered(&said.to_string());
    }
    let schema = json!({ "type": "object", "properties": { "name": { "type": "string" } } });
    let form = json!({ "method": "elicitation/create",
        "params": { "mode": "form", "message": "Who?", "requestedSchema": schema } });
    let visit = json!({ "method": "elicitation/create",
        "params": { "mode": "url", "message": "Pay.", "url": "https://pay.example/" } });
    let said = json!({ "role": "user", "content": { "type": "text", "text": "Hi." } });
    let model = json!({ "method": "sampling/createMessage", "params": { "messages": [said], "maxTokens": 10 } });
    let roots = json!({ "method": "roots/list" });
    let asked = match what {
        "form" => json!({ "form": form }),
        "all" => json!({ "form": form, "visit": visit, "model": model, "roots": roots }),
        "state" => json!({}),
        "odd" => json!({ "odd": { "method": "tools/list" } }),
        _ => json!({ "roots": roots }),
    };
    json!({ "resultType": "input_required", "inputRequests": asked, "requestState": "a state: é" })
}

/// What is wrong with the response of this call.
fn fault(how: &str) -> Result<Value, Failed> {
    let whole = |text: &str| Response::Whole(200, "application/json", Vec::new(), text.to_owned());
    Err(Failed::Response(match how {
        "endless" => Response::Endless("application/json", "[".repeat(4096)),
        "endless-stream" => Response::Endless("text/event-stream", ": no event\n".repeat(300)),
        "unfinished" => Response::Unfinished("{\"jsonrpc\":".into()),
        "silent" => Response::Nothing,
        "empty" => whole(""),
        "text" => whole("it worked"),
        "other" => whole(r#"{"jsonrpc":"2.0","id":99,"result":{"content":[]}}"#),
        "nested" => whole(&format!(r#"{{"jsonrpc":"2.0","id":1,"result":{}{}}}"#, "[".repeat(200), "]".repeat(200))),
        "values" => whole(&format!(r#"{{"jsonrpc":"2.0","id":1,"result":[{}0]}}"#, "0,".repeat(400_000))),
        "redirect" => Response::Whole(307, "text/plain", vec![("location", "/other".into())], String::new()),
        "teapot" => Response::status(418),
        "no-events" => Response::Whole(200, "text/event-stream", Vec::new(), ": nothing\n\n".into()),
        "content" => {
            whole(r#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[{"type":"hologram"}]}}"#)
        }
        "question" => return Ok(json!({ "resultType": "input_required", "inputRequests": {} })),
        "task" => return Ok(json!({ "resultType": "task", "taskId": "1" })),
        "error" => return Err(Failed::Error(-32000, "it failed".into())),
        "not-found" => return Err(Failed::Error(-32002, "no note of that name".into())),
        "no-method" => return Err(Failed::Error(-32601, "not in this release".into())),
        "invalid" => return Err(Failed::Error(-32602, "wrong argument".into())),
        "panic" => panic!("as it was told to"),
        _ => return Ok(json!({ "content": [], "isError": true })),
    }))
}
