//! What is between: redirects, tokens, connections that break.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;

use super::double::{Answer, Double};
use super::*;
use crate::support::site::{Site, write};

fn redirect(to: String) -> Answer {
    Answer { status: "307 Temporary Redirect", headers: format!("Location: {to}\r\n"), ..Answer::default() }
}

#[test]
fn a_registry_leads_to_no_private_address() {
    let (home, double) = (Home::new(), Double::start());
    double.publish("1", &component("Does a thing."), json!({}));
    let inside = Site::page("text/plain", "secret");
    for host in ["127.0.0.1", "localhost", "[::1]"] {
        let to = format!("http://{host}:{}/", inside.port);
        double.hook(move |_, path| path.contains("/blobs/").then(|| redirect(to.clone())));
        refused(&home, &double.reference(":1"), "is at a private address, to which localhost");
    }
    for to in
        ["http://169.254.169.254/latest", "http://10.0.0.1/", "file:///etc/passwd", "ftp://a.example/", "http://a@b/"]
    {
        double.hook(move |_, path| path.contains("/blobs/").then(|| redirect(to.to_owned())));
        refused(&home, &double.reference(":1"), "failed to get oci://");
    }
    let realm = format!("http://127.0.0.1:{}/token", inside.port);
    double.hook(move |_, _| {
        let headers = format!("WWW-Authenticate: Bearer realm=\"{realm}\",service=\"x\"\r\n");
        Some(Answer { status: "401 Unauthorized", headers, ..Answer::default() })
    });
    refused(&home, &double.reference(":1"), "is at a private address");
    double.hook(|_, path| Some(redirect(path.to_owned())));
    refused(&home, &double.reference(":1"), "redirected more than 5 times");
    assert_eq!(inside.heads(), [] as [String; 0], "nothing was asked for there");
}

/// A registry that may lead to private addresses, and another server that has its component.
fn with_store() -> (Home, Double, Double) {
    let (home, double, store) = (Home::new(), Double::start(), Double::start());
    home.configure(&format!("[registries.\"{}\"]\nprivate = true\n", double.host()));
    let wasm = component("Does a thing.");
    double.publish("1", &wasm, json!({}));
    store.blob("application/wasm", &wasm);
    (home, double, store)
}

#[test]
fn a_private_registry_may_lead_to_others_if_the_configuration_says_so() {
    let (home, double, store) = with_store();
    let other = store.host();
    double.hook(move |_, path| path.contains("/blobs/").then(|| redirect(format!("http://{other}{path}"))));
    let output = add(&home, &double.reference(":1"), &["--yes"]);
    assert!(output.status.success(), "{}", err(&output));
}

#[test]
fn credentials_go_to_the_token_server_and_tokens_to_the_registry_alone() {
    let (home, double, store) = with_store();
    let (own, other) = (double.host(), store.host());
    double.hook(move |head, path| {
        let has = |what: &str| head.to_ascii_lowercase().contains(&what.to_ascii_lowercase());
        if path.starts_with("/token?") {
            // me:secret
            let body = if has("authorization: basic bWU6c2VjcmV0") { r#"{"token":"t0ken"}"# } else { "{}" };
            return Some(Answer { status: "200 OK", body: body.into(), ..Answer::default() });
        }
        if !has("authorization: bearer t0ken") {
            let headers =
                format!("WWW-Authenticate: Bearer realm=\"http://{own}/token\",service=\"s\",scope=\"repository:acme/p:pull\"\r\n");
            return Some(Answer { status: "401 Unauthorized", headers, ..Answer::default() });
        }
        path.contains("/blobs/").then(|| redirect(format!("http://{other}{path}")))
    });
    refused(&home, &double.reference(":1"), "gave no token");
    let config = json!({ "auths": { double.host(): { "auth": "bWU6c2VjcmV0" } } }).to_string();
    fs::create_dir_all(home.path("home/.docker")).expect("a folder");
    fs::write(home.path("home/.docker/config.json"), config).expect("a file");
    let output = add(&home, &double.reference(":1"), &["--yes"]);
    assert!(output.status.success(), "{}", err(&output));
    let asked = double.heads().into_iter().rfind(|head| head.contains("/token?")).expect("a token was asked for");
    assert!(asked.contains("service=s&scope=repository%3Aacme%2Fp%3Apull"), "{asked}");
    let leaked = |head: &String| head.to_ascii_lowercase().contains("authorization");
    assert!(!store.heads().iter().any(leaked), "{:?}", store.heads());
    assert!(!err(&output).contains("secret") && !err(&output).contains("t0ken"));
}

#[test]
fn a_helper_has_the_credentials() {
    let (home, double) = (Home::new(), Double::start());
    double.publish("1", &component("Does a thing."), json!({}));
    double.hook(|head, _| {
        let is_in = head.to_ascii_lowercase().contains("authorization: basic bwu6c2vjcmv0");
        let headers = "WWW-Authenticate: Basic realm=\"x\"\r\n".to_owned();
        (!is_in).then(|| Answer { status: "401 Unauthorized", headers, ..Answer::default() })
    });
    refused(&home, &double.reference(":1"), "hint: sign in with docker login");
    let bin = home.path("home/bin");
    fs::create_dir_all(&bin).expect("a folder");
    let script = "#!/bin/sh\nread -r server\n[ \"$1\" = get ] && echo '{\"Username\":\"me\",\"Secret\":\"secret\"}'\n";
    let helper = bin.join("docker-credential-test");
    fs::write(&helper, script).expect("a file");
    fs::set_permissions(&helper, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("it is ours");
    fs::create_dir_all(home.path("home/.docker")).expect("a folder");
    fs::write(home.path("home/.docker/config.json"), r#"{"credsStore":"test"}"#).expect("a file");
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap_or_default());
    let output = crate::support::process::command(&home, ["add", &double.reference(":1"), "--yes"])
        .arg(home.plugins())
        .env("PATH", path)
        .output()
        .expect("the binary runs");
    assert!(output.status.success(), "{}", err(&output));
}

#[test]
fn a_download_that_breaks_is_gone_on_with() {
    let (home, double) = (Home::new(), Double::start());
    let wasm = component(&"Does a thing. ".repeat(200));
    double.publish("1", &wasm, json!({}));
    let (tries, bytes) = (Arc::new(AtomicUsize::new(0)), wasm.clone());
    let counted = tries.clone();
    double.hook(move |_, path| {
        let is_cut = path.contains("/blobs/") && counted.fetch_add(1, Ordering::SeqCst) < 2;
        is_cut.then(|| Answer { status: "200 OK", body: bytes.clone(), cut: Some(1000), ..Answer::default() })
    });
    let output = add(&home, &double.reference(":1"), &["--yes"]);
    assert!(output.status.success(), "{}", err(&output));
    assert_eq!(fs::read(home.plugin("p")).expect("the file"), wasm);
    let ranges: Vec<String> = double.heads().into_iter().filter(|head| head.contains("/blobs/")).collect();
    assert!(ranges[1].to_ascii_lowercase().contains("range: bytes=1000-"), "{}", ranges[1]);
    assert!(ranges[2].to_ascii_lowercase().contains("range: bytes=2000-"), "{}", ranges[2]);
}

#[test]
fn a_tag_that_moves_meanwhile_changes_nothing_of_what_was_shown() {
    let (home, double) = (Home::new(), Double::start());
    let first = double.publish("1", &component("Does a thing."), json!({}));
    let second = double.publish("other", &component("Does evil."), json!({}));
    // A registry whose manifest is not the one that it names.
    let body = json!({ "schemaVersion": 2 }).to_string();
    let claimed = first.clone();
    double.hook(move |_, path| {
        let headers = format!("Docker-Content-Digest: {claimed}\r\n");
        path.ends_with("manifests/1").then(|| Answer {
            status: "200 OK",
            headers,
            body: body.clone().into(),
            cut: None,
        })
    });
    refused(&home, &double.reference(":1"), "gave another manifest than");
    double.hook(|_, _| None);
    refused(&home, &format!("{}@{}", double.reference(":1"), super::double::sha256(b"")), "404");
    let output = add(&home, &format!("{}@{first}", double.reference(":other")), &["--yes"]);
    assert!(output.status.success() && first != second, "{}", err(&output));
    assert_eq!(fs::read(home.plugin("p")).expect("the file"), component("Does a thing."));
}

#[test]
fn a_url_is_downloaded() {
    let home = Home::new();
    let site = Site::start(|_, connection| write(connection, "200 OK", "", "x"));
    let output = add(&home, &format!("http://localhost:{}/p.wasm", site.port), &["--yes"]);
    assert!(err(&output).contains("get a plugin from http://"), "{}", err(&output));
    let file = home.path("home/My_Tool.wasm");
    fs::write(&file, component("Does a thing.")).expect("a file");
    let output = add(&home, &file.to_string_lossy(), &["--yes"]);
    assert!(output.status.success(), "{}", err(&output));
    assert_eq!(names_in(&home.plugins()), ["my-tool.wasm", "wharf.lock"]);
}

/// Each gets its own copy, whatever the others do with theirs.
#[test]
fn several_commands_download_the_same_at_the_same_time() {
    let (home, double) = (Home::new(), Double::start());
    let wasm = component(&"Does a thing. ".repeat(200));
    double.publish("1", &wasm, json!({}));
    let layouts: Vec<_> = (0..8).map(|layout| home.path(&format!("home/layout-{layout}"))).collect();
    for _ in 0..3 {
        std::thread::scope(|scope| {
            for layout in &layouts {
                let (home, reference) = (&home, double.reference(":1"));
                scope.spawn(move || {
                    let saved = run(home, ["save".as_ref(), reference.as_ref(), layout.as_os_str()]);
                    assert!(saved.status.success(), "{}", err(&saved));
                });
            }
        });
    }
}
