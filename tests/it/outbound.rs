//! Outbound HTTP of plugins, through both front ends of the real binary: grants, limits,
//! connections, and secrets in requests. The guests are the sample `fetch` and `online`.

use std::sync::Arc;
use std::sync::mpsc::channel;

use rustix::process::Signal;
use serde_json::{Value, json};
use tokio_rustls::rustls::{ServerConfig, crypto};

use crate::support::TIMEOUT;
use crate::support::client::{Client, first_text};
use crate::support::home::{Home, component};
use crate::support::process::{Process, command, run};
use crate::support::site::{Connections, Site, field, write, write_one};

const SECRET: &str = "tok-5ecret+/=value";

/// A home with both guests, which have these grants.
fn home(grants: &str) -> Home {
    let home = Home::with(&["fetch", "online"]);
    home.configure(&format!("[plugins.fetch.grants]\n{grants}[plugins.online.grants]\n{grants}"));
    home
}

/// The error text of a call that must fail.
fn refusal(client: &mut Client, tool: &str, arguments: Value) -> String {
    let result = client.call(tool, arguments);
    assert_eq!(result["isError"], true, "{result}");
    first_text(&result).to_owned()
}

/// The arguments of the tool `outgoing` for a request to that site.
fn outgoing(site: &Site, path: &str) -> Value {
    json!({"authority": format!("127.0.0.1:{}", site.port), "path": path})
}

#[test]
fn a_page_can_be_fetched_with_one_grant() {
    let site = Site::page("text/html", "<h1>Rain</h1><p>It <em>rains</em>.</p><script>no()</script>");
    let home = home(&site.grant());
    let mut client = Client::start_modern(&home);
    assert_eq!(client.text("fetch", json!({"url": site.url("/weather")})), "# Rain\n\nIt *rains*.");
    let head = site.heads().concat();
    assert!(head.starts_with("GET /weather HTTP/1.1\r\n"), "{head}");
    assert_eq!(field(&head, "host"), Some(format!("127.0.0.1:{}", site.port).as_str()));
}

#[test]
fn both_front_ends_send_the_same_request() {
    let site = Site::start(|head, connection| {
        let chunked = field(head, "transfer-encoding").is_some();
        let (seen, expected) = if chunked { ("chunked", "4\r\nmilk\r\n0\r\n\r\n") } else { ("whole", "milk") };
        let mut body = vec![0; expected.len()];
        connection.read_exact(&mut body).expect("a body");
        assert_eq!(body, expected.as_bytes());
        write(connection, "201 Created", "", &format!("{} {seen}", field(head, "x-own").unwrap_or_default()));
    });
    let grant = site.grant().replace("private", "methods = [\"POST\"], private");
    let home = home(&grant);
    let mut client = Client::start_modern(&home);
    let own = json!([["X-Own", "mine"]]);
    let fetched = json!({"method": "POST", "url": site.url("/notes?a=b"), "headers": own, "body": "milk"});
    assert_eq!(client.text("online_fetch", fetched), "201 \nmine whole");
    let mut sent = outgoing(&site, "/notes?a=b");
    sent["method"] = json!("POST");
    sent["headers"] = own;
    sent["body"] = json!("milk");
    assert_eq!(client.text("online_outgoing", sent), "201\nmine chunked");
    for head in site.heads() {
        assert!(head.starts_with("POST /notes?a=b HTTP/1.1\r\n"), "{head}");
    }
}

#[test]
fn without_a_grant_nothing_is_sent_and_the_log_has_the_line_to_add() {
    let site = Site::page("text/plain", "inside");
    let home = home("");
    let mut client = Client::start_modern(&home);
    let line = site.grant();
    let line = line.trim();
    for _ in 0..2 {
        let result = client.call("fetch", json!({"url": site.url("/x")}));
        assert_eq!(result["_meta"]["wharf/fault"]["code"], "denied", "{result}");
        assert!(first_text(&result).contains(&format!("no grant allows this request; this one would: {line}")));
    }
    let reported = refusal(&mut client, "online_outgoing", outgoing(&site, "/x"));
    assert!(reported.contains("HttpRequestDenied"), "{reported}");
    let file = home.path("config/wharf/wharf.toml");
    let hint = format!("put `{line}` under `[plugins.fetch.grants]` in {}", file.display());
    let log = client.process().log_with(&hint);
    assert_eq!(log.matches(&hint).count(), 1, "{log}");
    client.process().log_with(&hint.replace("fetch", "online"));

    // Without `private` the grant does not cover an address of this machine.
    home.configure(&format!("[plugins.online.grants]\nhttp = [\"{}\"]\n", site.url("")));
    let mut client = Client::start_modern(&home);
    let reported = refusal(&mut client, "online_fetch", json!({"url": site.url("/x")}));
    assert!(reported.contains("the host is not at a public address"), "{reported}");
    let reported = refusal(&mut client, "online_outgoing", outgoing(&site, "/x"));
    assert!(reported.contains("DestinationIpProhibited"), "{reported}");
    client.process().log_with(&format!("put `{line}` under `[plugins.online.grants]`"));
    assert!(site.heads().is_empty());

    // Following the hint works for both.
    home.configure(&format!("[plugins.online.grants]\n{line}\n"));
    let mut client = Client::start_modern(&home);
    assert_eq!(client.text("online_fetch", json!({"url": site.url("/x")})), "200 \ninside");
    assert_eq!(client.text("online_outgoing", outgoing(&site, "/x")), "200\ninside");
}

#[test]
fn a_redirect_without_a_grant_is_not_followed() {
    let inside = Site::page("text/plain", "inside");
    let elsewhere = format!("Location: {}\r\n", inside.url("/admin"));
    let site = Site::start(move |_, connection| write(connection, "302 Found", &elsewhere, ""));
    let home = home(&site.grant());
    let mut client = Client::start_modern(&home);
    let seen = client.text("online_fetch", json!({"url": site.url("/")}));
    assert_eq!(seen, format!("302 {}\n", inside.url("/admin")));
    let reported = refusal(&mut client, "fetch", json!({"url": site.url("/")}));
    assert!(reported.contains("no grant allows this request"), "{reported}");
    assert!(inside.heads().is_empty());
}

#[test]
fn too_many_headers_are_refused_in_both_directions() {
    let site = Site::start(|_, connection| write(connection, "200 OK", &"X: 1\r\n".repeat(33_000), ""));
    let home = home(&site.grant());
    let mut client = Client::start_modern(&home);
    let many: Vec<_> = (0..33_000).map(|n| json!([format!("x-{n}"), "1"])).collect();
    let reported = refusal(&mut client, "online_fetch", json!({"url": site.url("/"), "headers": many}));
    assert!(reported.contains("too many header fields"), "{reported}");
    let mut sent = outgoing(&site, "/");
    sent["headers"] = json!(many);
    refusal(&mut client, "online_outgoing", sent);
    assert!(site.heads().is_empty());
    // The same limit applies to the headers of a response.
    let reported = refusal(&mut client, "online_fetch", json!({"url": site.url("/")}));
    assert!(reported.contains("violated the protocol"), "{reported}");
    let reported = refusal(&mut client, "online_outgoing", outgoing(&site, "/"));
    assert!(reported.contains("HttpProtocolError"), "{reported}");
}

#[test]
fn an_endless_body_is_refused() {
    let site = Site::start(|_, connection| {
        let _ = connection.write_all(b"HTTP/1.1 200 OK\r\n\r\n");
        while connection.write_all(&[b'x'; 64 << 10]).is_ok() {}
    });
    let home = home("");
    // Enough memory for the guest to read the body.
    let room = "[plugins.online.limits]\nmemory = \"256MiB\"\n";
    home.configure(&format!("{room}[plugins.online.grants]\n{}", site.grant()));
    let mut client = Client::start_modern(&home);
    let reported = refusal(&mut client, "online_fetch", json!({"url": site.url("/")}));
    assert!(reported.contains("the response has more than 16777216 bytes"), "{reported}");
    let reported = refusal(&mut client, "online_outgoing", outgoing(&site, "/"));
    assert!(reported.contains("16777216"), "{reported}");
}

#[test]
fn a_call_that_ends_closes_its_connection() {
    let (sender, closed) = channel();
    let site = Site::start(move |_, connection| {
        let _ = sender.send(connection.read(&mut [0]).unwrap_or(0));
    });
    let home = home(&site.grant());
    home.configure(&format!("[plugins.online.limits]\ntimeout = \"1s\"\n[plugins.online.grants]\n{}", site.grant()));
    let mut client = Client::start_modern(&home);
    for (tool, arguments) in
        [("online_fetch", json!({"url": site.url("/")})), ("online_outgoing", outgoing(&site, "/"))]
    {
        let result = client.call(tool, arguments);
        assert_eq!(result["_meta"]["wharf/fault"]["code"], "timeout", "{result}");
        assert_eq!(closed.recv_timeout(TIMEOUT), Ok(0));
    }
    // A guest may set a shorter timeout, and continues after it.
    let mut sent = outgoing(&site, "/");
    for ms in [0, 100] {
        sent["timeout_ms"] = json!(ms);
        let reported = refusal(&mut client, "online_outgoing", sent.clone());
        assert!(reported.contains("Timeout"), "{reported}");
    }
}

#[test]
fn connections_are_not_shared_between_plugins_or_grants() {
    let site = Site::keep_alive(|_, connection| write_one(connection, "200 OK", "", "ok"));
    let home = home(&site.grant());
    let mut client = Client::start_modern(&home);
    for path in ["/a", "/b"] {
        assert_eq!(client.text("online_fetch", json!({"url": site.url(path)})), "200 \nok");
        assert_eq!(client.text("online_outgoing", outgoing(&site, path)), "200\nok");
    }
    assert_eq!(site.connections(1), Connections { all: 1, open: 1 });
    assert_eq!(client.text("fetch", json!({"url": site.url("/c")})), "ok");
    assert_eq!(site.connections(2), Connections { all: 2, open: 2 });

    // A changed grant gets a new connection, and a revoked one none.
    let other = site.grant().replace("private", "methods = [\"GET\", \"POST\"], private");
    home.configure(&format!("[plugins.online.grants]\n{other}"));
    client.process().signal(Signal::HUP);
    assert_eq!(site.connections(0), Connections { all: 2, open: 0 });
    assert_eq!(client.text("online_fetch", json!({"url": site.url("/d")})), "200 \nok");
    assert_eq!(site.connections(1), Connections { all: 3, open: 1 });
    let reported = refusal(&mut client, "fetch", json!({"url": site.url("/e")}));
    assert!(reported.contains("no grant allows this request"), "{reported}");
    assert_eq!(site.heads().len(), 6);
    client.finish();
    assert_eq!(site.connections(0), Connections { all: 3, open: 0 });
}

#[test]
fn an_unrequested_response_is_discarded() {
    let site = Site::keep_alive(|_, connection| {
        write_one(connection, "200 OK", "", "ok") && write_one(connection, "200 OK", "", "evil")
    });
    let home = home(&site.grant());
    let mut client = Client::start_modern(&home);
    for asked in 1..4 {
        assert_eq!(client.text("online_fetch", json!({"url": site.url("/")})), "200 \nok");
        assert_eq!(site.connections(0), Connections { all: asked, open: 0 });
    }
}

/// A certificate for a host, and a server that uses it.
pub(crate) fn certified(host: &str) -> (rcgen::CertifiedKey<rcgen::KeyPair>, ServerConfig) {
    let own = rcgen::generate_simple_self_signed([host.to_owned()]).expect("a certificate");
    let key = tokio_rustls::rustls::pki_types::PrivateKeyDer::Pkcs8(own.signing_key.serialize_der().into());
    let config = ServerConfig::builder_with_provider(Arc::new(crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![own.cert.der().clone()], key)
        .expect("a server");
    (own, config)
}

/// A client of a server that trusts that certificate.
fn trusting(home: &Home, own: &rcgen::CertifiedKey<rcgen::KeyPair>) -> Client {
    let roots = home.path("roots.pem");
    std::fs::write(&roots, own.cert.pem()).expect("a file");
    let mut serve = command(home, ["serve".as_ref(), home.plugins().as_os_str()]);
    serve.env("SSL_CERT_FILE", &roots);
    Client::new(Process::start(serve), true)
}

#[test]
fn calls_share_a_tls_connection() {
    let (own, config) = certified("localhost");
    let site = Site::keep_alive_with_tls(config, |_, connection| write_one(connection, "200 OK", "", "ok"));
    let url = format!("https://localhost:{}", site.port);
    let home = home(&format!("http = [{{ url = \"{url}\", private = true }}]\n"));
    let mut client = trusting(&home, &own);
    for _ in 0..3 {
        assert_eq!(client.text("online_fetch", json!({"url": url})), "200 \nok");
    }
    assert_eq!(site.connections(1), Connections { all: 1, open: 1 });
}

#[test]
fn tls_checks_the_name_and_trusted_roots() {
    let (own, config) = certified("localhost");
    let site = Site::with_tls(config, |_, connection| write(connection, "200 OK", "", "over TLS"));
    let (named, numbered) = (format!("https://localhost:{}", site.port), format!("https://127.0.0.1:{}", site.port));
    let entry = |url: &str| format!("{{ url = \"{url}\", private = true }}");
    let home = home(&format!("http = [{}, {}]\n", entry(&named), entry(&numbered)));
    let mut client = trusting(&home, &own);
    assert_eq!(client.text("online_fetch", json!({"url": named})), "200 \nover TLS");
    let sent = |https| json!({"authority": format!("localhost:{}", site.port), "path": "/", "https": https});
    assert_eq!(client.text("online_outgoing", sent(true)), "200\nover TLS");
    // The certificate is for another name.
    let reported = refusal(&mut client, "online_fetch", json!({"url": numbered}));
    assert!(reported.contains("no TLS connection: "), "{reported}");
    // The other scheme was not granted.
    let reported = refusal(&mut client, "online_outgoing", sent(false));
    assert!(reported.contains("HttpRequestDenied"), "{reported}");
    assert_eq!(site.heads().len(), 2);

    // Without the certificate in its roots, the server does not trust it.
    let mut client = Client::start_modern(&home);
    let reported = refusal(&mut client, "online_fetch", json!({"url": named}));
    assert!(reported.contains("no TLS connection: "), "{reported}");
    let reported = refusal(&mut client, "online_outgoing", sent(true));
    assert!(reported.contains("TlsProtocolError"), "{reported}");
}

/// A site that echoes the `Authorization` header, and a home that sends it a secret.
fn echoing(secret: &str) -> (Site, Home) {
    let site = Site::start(|head, connection| {
        write(connection, "200 OK", "", field(head, "authorization").unwrap_or("nothing"));
    });
    let home = echoing_home(&site, secret);
    (site, home)
}

/// A home that sends that site a secret.
fn echoing_home(site: &Site, secret: &str) -> Home {
    let granted = site.grant().replace("private", "headers = { Authorization = \"Bearer ${api}\" }, private");
    let home = home(&granted);
    home.configure(&format!(
        "[secrets]\napi = {{ file = \"api\" }}\n[plugins.fetch.grants]\n{granted}[plugins.online.grants]\n{granted}"
    ));
    std::fs::write(home.path("config/wharf/api"), secret).expect("a secret");
    home
}

#[test]
fn a_secret_is_sent_to_the_server_and_redacted_everywhere_else() {
    let (site, home) = echoing(SECRET);
    let mut client = Client::start_modern(&home);
    let request = json!({"url": site.url("/"), "headers": [["Authorization", "my own"]]});
    assert_eq!(client.text("online_fetch", request.clone()), "200 \nBearer [redacted api]");
    assert_eq!(client.text("online_outgoing", outgoing(&site, "/")), "200\nBearer [redacted api]");
    for head in site.heads() {
        assert_eq!(field(&head, "authorization"), Some(format!("Bearer {SECRET}").as_str()));
    }
    let reported = refusal(&mut client, "online_fail", request.clone());
    assert!(reported.contains("Bearer [redacted api]"), "{reported}");

    // Every channel redacts it.
    let meta = json!({"progressToken": 1, "io.modelcontextprotocol/logLevel": "debug"});
    let shown = client.result("tools/call", json!({"name": "online_tell", "arguments": request, "_meta": meta}));
    assert_eq!(shown["structuredContent"]["again"], json!(["200 \nBearer [redacted api]"]));
    let progress = client.notification("notifications/progress");
    assert_eq!(progress["params"]["message"], "200 \nBearer [redacted api]");
    let texts = [client.notification("notifications/message"), client.notification("notifications/message")];
    let log = client.process().log_with("stdout");
    for (what, text) in [("result", shown.to_string()), ("messages", json!(texts).to_string()), ("log", log)] {
        assert!(text.contains("[redacted api]"), "{what}: {text}");
        assert!(!text.contains("5ecret"), "{what}: {text}");
    }
}

/// Invisible characters are removed for the client, and escaped in the log.
#[test]
fn a_secret_with_invisible_characters_or_html_entities_is_redacted() {
    const HIDDEN: &str = "\u{200b}\u{e0041}\u{202e}\u{1b}";
    const TOLD: &str = "ab [redacted api] [redacted api]";
    let behind: String = SECRET.chars().flat_map(|c| [c.to_string(), HIDDEN.into()]).collect();
    let html = SECRET.replace('5', "&#53").replace('-', "&#x2d").replace('+', "&plus;").replace('/', "&sol;");
    let body = format!("a{HIDDEN}b {} {}", behind.trim_end_matches(HIDDEN), html.replace('=', "&equals;"));
    let site = Site::start(move |_, connection| write(connection, "200 OK", "", &body));
    let home = echoing_home(&site, SECRET);
    let mut client = Client::start_modern(&home);
    let meta = json!({"progressToken": 1, "io.modelcontextprotocol/logLevel": "debug"});
    let request = json!({"name": "online_tell", "arguments": {"url": site.url("/")}, "_meta": meta});
    let shown = client.result("tools/call", request.clone());
    assert_eq!(shown["structuredContent"]["said"], format!("200 \n{TOLD}"));
    assert_eq!(client.notification("notifications/progress")["params"]["message"], format!("200 \n{TOLD}"));
    let messages = ["info", "warning"].map(|level| {
        let message = client.notification("notifications/message")["params"].take();
        assert_eq!(message["level"], level);
        message["data"].clone()
    });
    assert_eq!(messages, [json!(format!("200 \n{TOLD}")), json!({"said": format!("200 \n{TOLD}")})]);
    let reported = refusal(&mut client, "online_fail", request["arguments"].clone());
    assert!(reported.contains(TOLD), "{reported}");

    let log = client.process().log_with("[redacted api] source=\"stdout\"");
    assert_eq!(log.matches("[redacted api] [redacted api]").count(), 3, "{log}");
    assert!(log.contains("a\\u{200b}\\u{e0041}\\u{202e}\\u{1b}b [redacted api]"), "{log}");
    assert!(!log.contains(|c| HIDDEN.contains(c)) && !log.contains("5ecret"), "{log}");
}

#[test]
fn a_grant_with_a_missing_secret_is_denied_until_it_exists() {
    let (site, home) = echoing("");
    let file = home.path("config/wharf/api");
    let mut client = Client::start_modern(&home);
    for why in ["is not at least 1 visible ASCII characters", "cannot be read"] {
        let needs = format!("it needs the secret 'api', which {why}: ");
        let lack = format!("{needs}write it to its file, then send the server SIGHUP");
        let reported = refusal(&mut client, "online_fetch", json!({"url": site.url("/")}));
        assert!(reported.contains(&format!("grant `http` cannot be used: {lack}.")), "{reported}");
        assert!(reported.contains(&format!("a grant allows this request, but {lack}")), "{reported}");
        assert!(!reported.contains(&file.display().to_string()), "{reported}");
        let reported = refusal(&mut client, "online_outgoing", outgoing(&site, "/"));
        assert!(reported.contains(&lack), "{reported}");
        let log = client.process().log_with(&format!("access denied: grant cannot be used: {needs}"));
        assert!(log.contains(&file.display().to_string()), "{log}");
        assert!(log.contains("then send the server SIGHUP") && !log.contains("http = ["), "{log}");
        // In the second round the file is already missing.
        let _ = std::fs::remove_file(&file);
        client = Client::start_modern(&home);
    }
    assert!(site.heads().is_empty());
    // Following the hint works while the plugin is loaded.
    refusal(&mut client, "online_fetch", json!({"url": site.url("/")}));
    std::fs::write(&file, SECRET).expect("a secret");
    client.process().signal(Signal::HUP);
    client.process().log_with("settings reloaded");
    assert_eq!(client.text("online_fetch", json!({"url": site.url("/")})), "200 \nBearer [redacted api]");
}

#[test]
fn check_says_which_grant_a_file_needs() {
    let home = home("");
    let output = run(&home, ["check".as_ref(), component("online").as_os_str()]);
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(text.contains("wasi:http/outgoing-handler@0.2"), "{text}");
    assert!(
        text.contains("grant    http, not granted: put `http = [\"https://HOST\"]` under `[plugins.online.grants]`")
    );
    home.configure("[plugins.online.grants]\nhttp = [\"https://api.example.com\"]\n");
    let output = run(&home, ["check".as_ref(), component("online").as_os_str()]);
    assert!(String::from_utf8(output.stdout).expect("UTF-8").contains("grant    http, granted\n"));
}

#[test]
fn an_invalid_grant_is_an_error_with_its_position() {
    let home = home("");
    home.configure("[plugins.online.grants]\nhttp = [\"https://*.example.com\"]\n");
    let output = run(&home, ["list".as_ref(), home.plugins().as_os_str()]);
    let reported = String::from_utf8(output.stderr).expect("UTF-8");
    assert_eq!(output.status.code(), Some(2), "{reported}");
    assert!(reported.contains("column 9: plugins.online.grants.http: a grant is a scheme, a host"), "{reported}");
}

#[test]
fn a_site_sends_only_so_many_interim_responses() {
    const MOST: usize = 16;
    let site = Site::start(|head, connection| {
        let interim = b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n";
        if head.starts_with("GET /endless") {
            while connection.write_all(&interim.repeat(1000)).is_ok() {}
            return;
        }
        let count = if head.starts_with("GET /most") { MOST } else { MOST + 1 };
        let _ = connection.write_all(&interim.repeat(count));
        write(connection, "200 OK", "", "late");
    });
    let home = home(&site.grant());
    let mut client = Client::start_modern(&home);
    assert_eq!(client.text("online_outgoing", outgoing(&site, "/most")), "200\nlate");
    assert_eq!(client.text("online_fetch", json!({"url": site.url("/most")})), "200 \nlate");
    let began = std::time::Instant::now();
    for path in ["/more", "/endless"] {
        for (tool, arguments) in
            [("online_outgoing", outgoing(&site, path)), ("online_fetch", json!({"url": site.url(path)}))]
        {
            let why = refusal(&mut client, tool, arguments);
            assert!(why.contains("interim responses") || tool == "online_outgoing", "{path} {tool}: {why}");
        }
    }
    // Long before the deadline for the first byte.
    assert!(began.elapsed() < TIMEOUT / 2, "{:?}", began.elapsed());
    assert_eq!(site.connections(0).open, 0, "their connections are closed");
}
