//! NATS JetStream.

use std::fs;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use serde_json::json;
use wharf::store::{Expected, Nats, NatsSettings, Put, Store as _, StoreError, Usage};

use crate::asked::{self, SHORT, put};
use crate::promises::{self, for_each_promise};
use crate::servers::nats::NatsServer;
use crate::servers::{PASSWORD, Server as _};

fn settings(url: &str) -> NatsSettings {
    let mut settings = NatsSettings::of_url(url).expect("a URL");
    settings.set_password(PASSWORD);
    settings.connect_timeout = SHORT;
    settings.request_timeout = SHORT;
    settings
}

fn store(url: &str) -> Arc<Nats> {
    Nats::new(settings(url))
}

/// What is tested is not how long this machine takes.
fn patient(url: &str) -> Arc<Nats> {
    let mut settings = settings(url);
    settings.connect_timeout = Duration::from_secs(30);
    settings.request_timeout = Duration::from_secs(30);
    Nats::new(settings)
}

/// As [`asked::error`], of this engine.
fn error<T: std::fmt::Debug>(since: Instant, answer: Result<T, StoreError>, why: &str) {
    asked::error(since, answer, why, "://");
}

#[tokio::test(flavor = "multi_thread")]
async fn it_keeps_what_a_store_promises() {
    let server = NatsServer::start();
    macro_rules! kept {
        ($($promise:ident)*) => {$(
            let url = server.store(stringify!($promise));
            promises::$promise(&|| patient(&url)).await;
        )*};
    }
    for_each_promise!(kept);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_expires_is_removed_by_the_clock_of_the_server_too() {
    let server = NatsServer::start();
    let url = server.store("clock");
    promises::what_has_expired_by_a_clock_that_is_ahead_stays(&|| patient(&url)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn many_nodes_create_the_streams_at_the_same_time() {
    let server = NatsServer::start();
    let url = server.store("fresh");
    let nodes = (0..12).map(|number| {
        let node = patient(&url);
        tokio::spawn(async move { node.put(put(&format!("node/{number}"), "")).await })
    });
    for node in join_all(nodes).await {
        assert!(node.expect("no panic").expect("usable").is_some());
    }
    assert_eq!(store(&url).usage("node/").await.expect("usable").entries, 12);
    // Tools of NATS find it as a bucket.
    let found = server.ask("$JS.API.STREAM.MSG.GET.KV_fresh", r#"{"last_by_subj":"$KV.fresh.node/7"}"#);
    assert_eq!(found["message"]["subject"], "$KV.fresh.node/7");
}

#[tokio::test(flavor = "multi_thread")]
async fn streams_that_would_lose_entries_are_left_alone() {
    let server = NatsServer::start();
    for (number, (setting, why)) in [
        (r#""max_msgs_per_subject":5"#, "has another history than one"),
        (r#""max_msgs_per_subject":1,"storage":"memory""#, "is in memory"),
        (r#""max_msgs_per_subject":1,"max_age":1000000000000"#, "forgets by age"),
        (r#""max_msgs_per_subject":1,"max_bytes":1000000,"discard":"old""#, "discards old entries"),
        (r#""max_msgs_per_subject":1,"deny_delete":true"#, "denies deletion"),
    ]
    .into_iter()
    .enumerate()
    {
        let name = format!("b{number}");
        let config = format!(r#"{{"name":"KV_{name}","subjects":["$KV.{name}.>"],{setting}}}"#);
        let made = server.ask(&format!("$JS.API.STREAM.CREATE.KV_{name}"), &config);
        assert!(made.get("error").is_none(), "{made}");
        error(Instant::now(), store(&server.store(&name)).get("a").await, why);
    }
    // One with limits of the operator's is used, and is full once it is.
    let config =
        r#"{"name":"KV_small","subjects":["$KV.small.>"],"max_msgs_per_subject":1,"discard":"new","max_bytes":20000}"#;
    server.ask("$JS.API.STREAM.CREATE.KV_small", config);
    let node = store(&server.store("small"));
    node.put(put("a", vec![b'x'; 10_000])).await.expect("usable");
    error(Instant::now(), node.put(put("b", vec![b'x'; 15_000])).await, "make room");
    assert_eq!(node.usage("").await, Ok(Usage { entries: 1, bytes: 10_001 }));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_full_says_so_and_goes_on_when_there_is_room() {
    let server = NatsServer::with(&NatsServer::configuration(", max_file_store: 3MB"));
    let node = patient(&server.store("full"));
    for number in 0..5 {
        node.put(put(&format!("a/{number}"), vec![b'x'; 500_000])).await.expect("usable");
    }
    let StoreError(full) = node.put(put("b", vec![b'x'; 2_000_000])).await.expect_err("full");
    assert!(full.contains("make room"), "{full}");
    // Nothing of it is left.
    assert_eq!(server.state("WHARF_full")["messages"], 0);
    // What is there can be read, and removed: also by another node, and if it has expired.
    let other = patient(&server.store("full"));
    assert_eq!(other.usage("").await.expect("usable").entries, 5);
    assert_eq!(node.list("a/", "", 9, usize::MAX).await.expect("usable").entries.len(), 5);
    for number in 0..5 {
        assert_eq!(node.delete(&format!("a/{number}")).await, Ok(true));
        assert_eq!(node.get(&format!("a/{number}")).await, Ok(None));
    }
    assert_eq!(node.usage("").await, Ok(Usage::default()));
    assert_eq!(other.list("", "", 9, 99).await.expect("usable").entries, []);
    assert_eq!(other.usage("").await, Ok(Usage::default()));
    node.put(put("b", vec![b'x'; 2_000_000])).await.expect("usable");
    assert_eq!(node.get("b").await.expect("usable").expect("there").value.len(), 2_000_000);
}

#[tokio::test(flavor = "multi_thread")]
async fn large_values_are_in_parts_which_go_with_their_entries() {
    let server = NatsServer::start();
    let url = server.store("large");
    let (node, other) = (patient(&url), patient(&url));
    node.usage("").await.expect("usable");
    let value = |seed: usize, size: usize| (0..size).map(|at| (at / 7 + seed) as u8).collect::<Vec<u8>>();
    // On both sides of what fits into one message, and the largest record.
    for (number, (size, parts)) in
        [(512 << 10, 0), ((512 << 10) + 1, 2), (1 << 20, 2), (4 << 20, 8)].into_iter().enumerate()
    {
        let key = format!("a/{number}");
        node.put(put(&key, value(number, size))).await.expect("usable");
        assert!(other.get(&key).await.expect("usable").expect("there").value == value(number, size));
        let state = server.state("WHARF_large");
        let mine = state["messages"].as_u64().expect("a number");
        assert_eq!(mine, [0, 2, 4, 12][number], "{parts} more");
    }
    let size = (512 << 10) + (512 << 10) + 1 + (1 << 20) + (4 << 20) + 4 * 3;
    assert_eq!(other.usage("a/").await, Ok(Usage { entries: 4, bytes: size }));
    let page = other.list("a/", "", 9, 1 << 20).await.expect("usable");
    assert_eq!((page.entries.len(), page.more), (2, true));
    assert!(page.entries[1].value == value(1, (512 << 10) + 1));
    // A condition that does not hold leaves nothing behind.
    let refused = Put { expected: Expected::Absent, ..put("a/3", value(9, 4 << 20)) };
    assert_eq!(node.put(refused).await, Ok(None));
    assert_eq!(server.state("WHARF_large")["messages"], 12);
    // What is written again, removed, or expires takes its parts along.
    node.put(put("a/3", "short")).await.expect("usable");
    assert_eq!(node.delete("a/2").await, Ok(true));
    let expires = Put { expires: Some(7), ..put("a/1", value(5, 1 << 20)) };
    node.put(expires).await.expect("usable");
    // Left by a node that died long ago, and by one that writes now.
    let now = std::time::UNIX_EPOCH.elapsed().expect("a time").as_millis();
    for name in ["1000-ab".to_owned(), format!("{now}-ab")] {
        server.ask(&format!("$WHARF.large.{name}.0"), "left");
    }
    assert_eq!(node.remove_expired(8, 9).await, Ok(1));
    let deadline = Instant::now() + Duration::from_secs(20);
    while server.state("WHARF_large")["messages"] != 1 {
        assert!(Instant::now() < deadline, "{}", server.state("WHARF_large"));
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(server.state("WHARF_large")["subjects"], json!({format!("$WHARF.large.{now}-ab.0"): 1}));
    assert_eq!(other.usage("a/").await.expect("usable").entries, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_says_that_a_key_is_gone_goes_too() {
    let server = NatsServer::start();
    let url = server.store("gone");
    let mut sweeping = settings(&url);
    sweeping.keep_removals = Duration::ZERO;
    let (sweeping, other) = (Nats::new(sweeping), patient(&url));
    for number in 0..20 {
        let key = format!("a/{number}");
        other.put(put(&key, "x")).await.expect("usable");
        assert_eq!(other.delete(&key).await, Ok(true));
    }
    assert_eq!(other.usage("").await, Ok(Usage::default()));
    assert_eq!(server.state("KV_gone")["messages"], 20);
    assert_eq!(other.remove_expired(0, 99).await, Ok(0));
    assert_eq!(server.state("KV_gone")["messages"], 20, "they may be news for others");
    assert_eq!(sweeping.remove_expired(0, 99).await, Ok(0));
    // All but the last message, by which a node knows that it has seen everything.
    assert_eq!(server.state("KV_gone")["messages"], 1);
    // Their keys can be added again, as those of which that is still said.
    for key in ["a/0", "a/19"] {
        let added = Put { expected: Expected::Absent, ..put(key, "y") };
        assert!(other.put(added).await.expect("usable").is_some(), "{key}");
    }
    assert_eq!(sweeping.usage("").await.expect("usable").entries, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_others_do_with_the_streams_is_noticed() {
    let server = NatsServer::start();
    let url = server.store("shared");
    let node = patient(&url);
    for key in ["a", "b"] {
        node.put(put(key, "x")).await.expect("usable");
    }
    assert_eq!(node.usage("").await.expect("usable").entries, 2);
    // A tool of NATS writes and removes.
    server.ask("$KV.shared.c", "y");
    assert_eq!(node.usage("").await.expect("usable").entries, 3);
    assert_eq!(node.get("c").await.expect("usable").expect("there").value, b"y");
    server.ask("$JS.API.STREAM.PURGE.KV_shared", r#"{"filter":"$KV.shared.c"}"#);
    assert_eq!(node.get("c").await, Ok(None));
    assert_eq!(node.list("c", "", 9, 99).await.expect("usable").entries, []);
    assert_eq!(node.usage("").await.expect("usable").entries, 2);
    // The last message is gone: who begins now does not wait for it.
    assert_eq!(patient(&url).usage("").await.expect("usable").entries, 2);
    // The stream is gone: the next one makes it again.
    server.ask("$JS.API.STREAM.DELETE.KV_shared", "");
    assert!(node.get("a").await.is_err());
    assert_eq!(node.get("a").await, Ok(None));
    node.put(put("d", "z")).await.expect("usable");
    assert_eq!(node.usage("").await.expect("usable").entries, 1);
    let page = node.list("", "", 9, 99).await.expect("usable");
    assert_eq!(page.entries.first().map(|entry| &*entry.key), Some("d"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_away_is_an_error_until_it_is_back() {
    asked::of_a_server_that_is_away::<NatsServer>(|url| store(url), "://").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_keeps_everything_without_one_of_its_servers_or_is_refused() {
    let mut servers = NatsServer::cluster();
    let hosts: Vec<String> = servers.iter().map(|server| format!("127.0.0.1:{}", server.port())).collect();
    let url = |name: &str| format!("nats://wharf@{}/{name}?replicas=3", hosts.join(","));
    // It has no leader at first.
    let node = patient(&url("many"));
    let deadline = Instant::now() + Duration::from_secs(60);
    while let Err(StoreError(error)) = node.put(put("first", "kept")).await {
        if error.contains("lose writes before NATS 2.9.21") {
            assert!(!NatsServer::keeps_replicas(), "{error}");
            return;
        }
        assert!(Instant::now() < deadline, "{error}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert!(NatsServer::keeps_replicas(), "their writes may be lost");
    let (turns, one) = (url("turns"), url("one"));
    promises::concurrent_writers_take_turns(&|| patient(&turns)).await;
    promises::one_of_many_adds_or_replaces_an_entry(&|| patient(&one)).await;
    // Nodes are connected to the first one that answers.
    let watching = store(&url("many"));
    assert_eq!(watching.usage("").await.expect("usable").entries, 1);
    servers[0].kill();
    let node = store(&url("many"));
    let deadline = Instant::now() + Duration::from_secs(60);
    while let Err(error) = node.put(put("second", vec![b'x'; 1 << 20])).await {
        assert!(Instant::now() < deadline, "{error}");
    }
    assert_eq!(node.get("first").await.expect("usable").expect("there").value, b"kept");
    assert_eq!(node.get("second").await.expect("usable").expect("there").value.len(), 1 << 20);
    while let Err(error) = watching.usage("").await {
        assert!(Instant::now() < deadline, "{error}");
    }
    assert_eq!(watching.usage("").await.expect("usable").entries, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_does_not_answer_is_an_error_in_time() {
    let server = NatsServer::start();
    let url = server.store("silent");
    let node = store(&url);
    node.put(put("a", "")).await.expect("usable");
    assert_eq!(node.usage("").await.expect("usable").entries, 1);
    server.freeze();
    let asked = Instant::now();
    // More than are sent at the same time: those that wait for it are not forgotten either.
    let readers = (0..200).map(|_| {
        let node = node.clone();
        tokio::spawn(async move { (node.get("a").await, node.usage("").await) })
    });
    for answer in join_all(readers).await {
        let (got, used) = answer.expect("no panic");
        let StoreError(got) = got.expect_err("silent");
        let StoreError(used) = used.expect_err("silent");
        assert!(got.contains("see that it runs there") && used.contains("see that it runs there"), "{got} {used}");
    }
    // Twice what one of them may take.
    assert!(asked.elapsed() < SHORT * 4 + Duration::from_secs(4), "{:?}", asked.elapsed());
    server.thaw();
    assert!(node.get("a").await.expect("usable").is_some());
    node.put(put("b", "")).await.expect("usable");
    assert_eq!(node.usage("").await.expect("usable").entries, 2);
    // Nobody answers there at all; and somebody who is no server of NATS.
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = silent.local_addr().expect("an address").port();
    let node = store(&format!("nats://wharf@127.0.0.1:{port}/silent"));
    error(Instant::now(), node.get("a").await, "there was no connection within 2s");
    // Another host of the URL is tried meanwhile.
    let node = store(&format!("nats://wharf@127.0.0.1:{port},127.0.0.1:{}/silent", server.port()));
    assert!(node.get("a").await.expect("usable").is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn it_is_reached_with_tls_and_a_password_or_not_at_all() {
    let tls = "tls { cert_file: \"FOLDER/cert.pem\", key_file: \"FOLDER/key.pem\" }\n";
    let server = NatsServer::with(&format!("{tls}{}", NatsServer::configuration("")));
    let url = format!("tls://wharf@localhost:{}/safe", server.port());
    let trusting = |ca: &str| {
        let mut settings = settings(&url);
        settings.ca = Some(server.path(ca));
        settings
    };
    let node = Nats::new(trusting("cert.pem"));
    node.put(put("a", "")).await.expect("usable");
    assert_eq!(node.usage("").await.expect("usable").entries, 1);
    let other = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
    fs::write(server.path("other.pem"), other.cert.pem()).expect("a file");
    error(Instant::now(), Nats::new(trusting("other.pem")).get("a").await, "TLS");
    error(Instant::now(), Nats::new(trusting("missing.pem")).get("a").await, "read its certificates");
    error(Instant::now(), store(&url).get("a").await, "TLS");
    // Another name than that of the certificate, and no TLS at all.
    let mut elsewhere = settings(&url.replace("localhost", "127.0.0.1"));
    elsewhere.ca = Some(server.path("cert.pem"));
    error(Instant::now(), Nats::new(elsewhere).get("a").await, "TLS");
    error(Instant::now(), store(&url.replace("tls://", "nats://")).get("a").await, "write tls:// in store.url");
    let mut wrong = trusting("cert.pem");
    wrong.set_password("another");
    error(Instant::now(), Nats::new(wrong).get("a").await, "store.password or store.credentials");
    // A server that has no TLS is not asked for its entries.
    let plain = NatsServer::start();
    let node = store(&plain.store("a").replace("nats://", "tls://").replace("127.0.0.1", "localhost"));
    error(Instant::now(), node.get("a").await, "it has no TLS");
}

/// Of a user's key: 32 bytes of 7.
const SEED: &str = "SUAAOBYHA4DQOBYHA4DQOBYHA4DQOBYHA4DQOBYHA4DQOBYHA4DQOBZ5FE";

#[tokio::test(flavor = "multi_thread")]
async fn a_user_may_be_a_token_or_a_key_and_needs_few_rights() {
    let server = NatsServer::with("jetstream { store_dir: \"FOLDER/data\" }\nauthorization { token: hunter2 }\n");
    let url = format!("nats://127.0.0.1:{}/token", server.port());
    store(&url).put(put("a", "")).await.expect("usable");
    let without = NatsSettings::of_url(&url).expect("a URL");
    error(Instant::now(), Nats::new(without).get("a").await, "store.password or store.credentials");

    let page = fs::read_to_string(crate::support::home::repository().join("docs/store.md")).expect("a page");
    let rights = page.split("```hocon\n").nth(1).and_then(|rest| rest.split("```").next()).expect("the rights");
    let mut keyed = NatsSettings::of_url("nats://127.0.0.1/wharf").expect("a URL");
    keyed.set_credentials(SEED).expect("a seed");
    let key = keyed.public_key().expect("a key");
    let users = rights.replace("user: wharf, password: \"…\"", &format!("nkey: {key}"));
    let server = NatsServer::with(&format!("jetstream {{ store_dir: \"FOLDER/data\" }}\n{users}"));
    let open = |bucket: &str| {
        let url = format!("nats://127.0.0.1:{}/{bucket}", server.port());
        let mut settings = NatsSettings::of_url(&url).expect("a URL");
        settings.set_credentials(SEED).expect("a seed");
        settings.keep_removals = Duration::ZERO;
        (settings.connect_timeout, settings.request_timeout) = (SHORT, SHORT);
        Nats::new(settings)
    };
    // All that a store does, with the rights of the page.
    let node = open("wharf");
    for key in ["a", "b", "c"] {
        node.put(put(key, vec![b'x'; 600 << 10])).await.expect("usable");
    }
    assert_eq!(node.delete("a").await, Ok(true));
    assert_eq!(node.list("", "", 9, usize::MAX).await.expect("usable").entries.len(), 2);
    node.put(Put { expires: Some(1), ..put("d", "") }).await.expect("usable");
    assert_eq!(node.remove_expired(2, 9).await, Ok(1));
    assert_eq!(node.remove_expired(2, 9).await, Ok(0));
    assert_eq!(node.usage("").await.expect("usable").entries, 2);
    // Another bucket is not its own, which is said at once.
    let asked = Instant::now();
    error(asked, open("other").get("a").await, "grant the user the subjects of docs/store.md");
    assert!(asked.elapsed() < SHORT, "{:?}", asked.elapsed());
    // There is a server, and no JetStream.
    let server = NatsServer::with("authorization { token: hunter2 }\n");
    let url = format!("nats://127.0.0.1:{}/none", server.port());
    error(Instant::now(), store(&url).get("a").await, "enable JetStream");
    let server = NatsServer::start();
    error(Instant::now(), store(&format!("{}?replicas=3", server.store("many"))).get("a").await, "lower replicas");
}
