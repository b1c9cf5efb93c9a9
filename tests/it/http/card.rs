//! The server's card and the catalog that names it (SEP-2127).

use serde_json::{Value, json};
use wharf::transport::http::{Settings, Token};

use crate::support::home::Home;
use crate::support::http::{HttpConnection, HttpServer, Request, Response, listening_address, serve};
use crate::support::process::{Process, command};
use crate::support::streamable::{Endpoint, stateless};

const CARD: &str = "/mcp/server-card";
const CATALOG: &str = "/.well-known/ai-catalog.json";
const URL: &str = "https://tools.example/wharf/mcp";

/// `[server]` with what a card needs, and further lines of `[server.http]`.
fn home(http: &str) -> Home {
    let home = Home::with(&["echo"]);
    let server = "name = 'example.tools/wharf'\ntitle = 'Tools'\ndescription = 'Tools of the team'";
    home.configure(&format!("[server]\n{server}\n[server.http]\n{http}\n"));
    home
}

fn with_url() -> Home {
    home(&format!("server-card = {{ url = '{URL}' }}"))
}

fn json_of(response: &Response) -> Value {
    assert_eq!(response.status, 200, "{}", response.text());
    serde_json::from_slice(&response.body).expect("JSON")
}

/// What the schema of the extension (`schema.json` of modelcontextprotocol/ext-server-card at 526201bb) requires of the
/// members that are used; others are not allowed here.
fn assert_valid(card: &Value) {
    let text = json!({"type": "string", "minLength": 1, "maxLength": 100});
    let variable = json!({
        "type": "object", "additionalProperties": false,
        "properties": {"description": {"type": "string"}, "isRequired": {"type": "boolean"}, "isSecret": {"type": "boolean"}},
    });
    let header = json!({
        "type": "object", "additionalProperties": false, "required": ["name"],
        "properties": {
            "name": {"type": "string"}, "value": {"type": "string"}, "description": {"type": "string"},
            "isRequired": {"type": "boolean"}, "isSecret": {"type": "boolean"},
            "variables": {"type": "object", "additionalProperties": variable},
        },
    });
    let remote = json!({
        "type": "object", "additionalProperties": false, "required": ["type", "url"],
        "properties": {
            "type": {"enum": ["streamable-http", "sse"]},
            "url": {"type": "string", "pattern": "^https?://[^\\s]+$"},
            "headers": {"type": "array", "items": header},
            "supportedProtocolVersions": {"type": "array", "items": {"type": "string"}},
        },
    });
    let schema = json!({
        "type": "object", "additionalProperties": false, "required": ["$schema", "name", "version", "description"],
        "properties": {
            "$schema": {"const": "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json"},
            "name": {"type": "string", "minLength": 3, "maxLength": 200, "pattern": "^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$"},
            "version": {"type": "string", "maxLength": 255},
            "title": text, "description": text,
            "remotes": {"type": "array", "items": remote},
        },
    });
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    let errors: Vec<String> = validator.iter_errors(card).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{errors:?} in {card}");
}

#[test]
fn without_the_setting_there_is_neither() {
    for (settings, status) in [
        (Settings::default(), 404),
        (Settings { tokens: vec![Token::new("ci", "0123456789abcdef")].into(), ..Settings::default() }, 401),
    ] {
        let server = HttpServer::start(settings);
        for path in [CARD, CATALOG] {
            assert_eq!(server.exchange(&Request::new("GET", path, server.address)).status, status, "{path}");
        }
    }
}

#[test]
fn the_card_says_what_the_server_says_of_itself() {
    let home = with_url();
    let (_process, address) = serve(&home, &[]);
    let get = |path: &str| HttpConnection::connect(address).exchange(&Request::new("GET", path, address));
    let card = json_of(&get(CARD));
    assert_valid(&card);
    let remote = &card["remotes"][0];
    assert_eq!((&remote["type"], &remote["url"]), (&json!("streamable-http"), &json!(URL)));
    assert!(remote.get("headers").is_none(), "{card}");
    let discovered = json_of(&Endpoint::new(address).exchange(&stateless(1, "server/discover", json!({}))));
    let own = &discovered["result"]["_meta"]["io.modelcontextprotocol/serverInfo"];
    assert_eq!(own["description"], "Tools of the team", "{discovered}");
    for member in ["name", "version", "title", "description"] {
        assert_eq!(card[member], own[member], "{member}");
    }
    let versions = remote["supportedProtocolVersions"].as_array().expect("an array");
    for version in discovered["result"]["supportedVersions"].as_array().expect("an array") {
        assert!(versions.contains(version), "{version} is not in {card}");
    }
    // A session of each of the others can be had at that endpoint.
    for version in versions.iter().filter_map(Value::as_str).filter(|version| *version != "2026-07-28") {
        Endpoint::initialize(address, version);
    }
    // Nothing about plugins, which depend on who asks.
    assert!(!card.to_string().contains("echo"), "{card}");

    let catalog = json_of(&get(CATALOG));
    let entry = json!({
        "identifier": "urn:air:tools.example:mcp:wharf", "type": "application/mcp-server-card+json",
        "url": format!("{URL}/server-card"),
    });
    assert_eq!(catalog, json!({"specVersion": "1.0", "entries": [entry]}));
    // Where a proxy does not remove the path of the address, and nowhere else.
    assert_eq!(json_of(&get("/wharf/mcp/server-card")), card);
    for elsewhere in ["/server-card", "/mcp/server-card/", "/mcp/server-card.json", "/.well-known/ai-catalog.json/"] {
        assert_eq!(get(elsewhere).status, 404, "{elsewhere}");
    }
}

#[test]
fn pages_of_all_sites_may_read_both_and_keep_them() {
    let home = with_url();
    let (_process, address) = serve(&home, &[]);
    let exchange = |request: &Request| HttpConnection::connect(address).exchange(request);
    for (path, content_type) in [(CARD, "application/mcp-server-card+json"), (CATALOG, "application/ai-catalog+json")] {
        let request = |method: &str| Request::new(method, path, address).with("Origin", "https://elsewhere.example");
        let response = exchange(&request("GET").with("Accept", "text/html"));
        let assert_headers = |response: &Response| {
            for (name, value) in [
                ("cache-control", "public, max-age=3600"),
                ("access-control-allow-origin", "*"),
                ("access-control-allow-methods", "GET"),
                ("access-control-allow-headers", "Content-Type, If-None-Match"),
                ("access-control-expose-headers", "ETag"),
            ] {
                assert_eq!(response.header(name), Some(value), "{path}: {name}");
            }
        };
        assert_eq!((response.status, response.header("content-type")), (200, Some(content_type)));
        assert_headers(&response);
        let tag = response.header("etag").expect("a tag");
        for known in [tag, "*", &format!("W/{tag}"), &format!("\"other\", {tag}")] {
            let again = exchange(&request("GET").with("If-None-Match", known));
            assert_eq!((again.status, again.body.len(), again.header("etag")), (304, 0, Some(tag)), "{known}");
            assert_headers(&again);
        }
        assert_eq!(exchange(&request("GET").with("If-None-Match", "\"other\"")).status, 200);
        let head = exchange(&request("HEAD"));
        assert_eq!((head.status, head.body.len(), head.header("etag")), (200, 0, Some(tag)));
        assert_eq!(head.header("content-length"), Some(response.body.len().to_string().as_str()));
        let preflight = request("OPTIONS").with("Access-Control-Request-Method", "GET");
        let preflight = exchange(&preflight.with("Access-Control-Request-Headers", "if-none-match"));
        assert_eq!((preflight.status, preflight.header("access-control-allow-origin")), (204, Some("*")));
        for method in ["POST", "PUT", "DELETE", "TRACE"] {
            let refused = exchange(&request(method).json("{}"));
            assert_eq!((refused.status, refused.header("allow")), (405, Some("GET, HEAD")), "{method}");
        }
        // By another name it is another site's page that reads it.
        let rebound = exchange(&request("GET").set("Host", "elsewhere.example"));
        assert_eq!((rebound.status, rebound.cors()), (403, vec![]));
    }
}

/// With OAuth clients find out by its metadata what they need, and must not ask for a token.
#[test]
fn a_card_names_the_token_that_only_the_operator_gives() {
    let token = "0123456789abcdef";
    let tokens = home(&format!("server-card = {{ url = '{URL}' }}\ntokens = [{{ name = 'ci', env = 'CARD_TOKEN' }}]"));
    let oauth = home(
        "server-card = {}\noauth = { resource = 'https://tools.example/mcp', issuers = [{ issuer = 'http://127.0.0.1:9' }] }",
    );
    for (home, url, is_named) in [(tokens, URL, true), (oauth, "https://tools.example/mcp", false)] {
        let mut serving = command(&home, ["serve".as_ref(), home.plugins().as_os_str()]);
        serving.args(["--http", "127.0.0.1:0"]).env("CARD_TOKEN", token);
        let process = Process::start(serving);
        let address = listening_address(&process);
        let get = |path: &str| HttpConnection::connect(address).exchange(&Request::new("GET", path, address));
        let card = json_of(&get(CARD));
        assert_valid(&card);
        assert_eq!(card["remotes"][0]["url"], url);
        let header = card["remotes"][0].get("headers").map(|headers| &headers[0]);
        assert_eq!(header.is_some(), is_named, "{card}");
        if let Some(header) = header {
            assert_eq!((&header["name"], &header["isRequired"]), (&json!("Authorization"), &json!(true)));
            assert_eq!((&header["value"], &header["isSecret"]), (&json!("Bearer {token}"), &json!(true)));
        }
        assert!(!card.to_string().contains(token) && !card.to_string().contains("ci\""), "{card}");
        assert_eq!(get(CATALOG).status, 200);
        assert_eq!(HttpConnection::connect(address).exchange(&Request::discover(address)).status, 401);
    }
}
