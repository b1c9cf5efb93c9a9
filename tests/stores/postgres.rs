//! PostgreSQL.

use std::fs;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use wharf::store::{Expected, Postgres, PostgresSettings, Put, Store as _, StoreError, Usage};

use crate::asked::{self, SHORT, put};
use crate::promises::{self, for_each_promise};
use crate::servers::postgres::PostgresServer;
use crate::servers::{OnDisk as _, PASSWORD, Server as _};

fn settings(url: &str) -> PostgresSettings {
    let mut settings = PostgresSettings::of_url(url).expect("a URL");
    settings.set_password(PASSWORD);
    settings.connect_timeout = SHORT;
    settings.request_timeout = SHORT;
    settings
}

/// Where what is tested is not how long this machine takes.
fn patient(url: &str) -> Arc<Postgres> {
    let mut settings = settings(url);
    settings.connect_timeout = Duration::from_secs(30);
    settings.request_timeout = Duration::from_secs(30);
    Postgres::new(settings)
}

fn store(url: &str) -> Arc<Postgres> {
    Postgres::new(settings(url))
}

/// As [`asked::error`], of this engine.
fn error<T: std::fmt::Debug>(since: Instant, answer: Result<T, StoreError>, why: &str) {
    asked::error(since, answer, why, "postgres://");
}

#[tokio::test(flavor = "multi_thread")]
async fn it_keeps_what_a_store_promises() {
    let server = PostgresServer::start();
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
    let server = PostgresServer::start();
    let url = server.store("clock");
    promises::what_has_expired_by_a_clock_that_is_ahead_stays(&|| patient(&url)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn many_nodes_create_the_tables_at_the_same_time() {
    let server = PostgresServer::start();
    let url = server.store("fresh");
    let nodes = (0..12).map(|number| {
        let mut settings = settings(&url);
        settings.connect_timeout = Duration::from_secs(30);
        let node = Postgres::new(settings);
        tokio::spawn(async move { node.put(put(&format!("node/{number}"), "")).await })
    });
    for node in join_all(nodes).await {
        assert!(node.expect("no panic").expect("usable").is_some());
    }
    assert_eq!(store(&url).usage("node/").await.expect("usable").entries, 12);
    assert_eq!(server.sql("fresh", "SELECT version FROM wharf_schema").trim(), "2");
    // Tables of another release are left alone.
    server.sql("fresh", "UPDATE wharf_schema SET version = 7");
    error(Instant::now(), store(&url).get("a").await, "its tables have version 7");
}

/// The tables, as they were at first.
const VERSION_1: &str = "
    CREATE SEQUENCE wharf_version;
    CREATE TABLE wharf_entry (
        key text COLLATE \"C\" NOT NULL,
        version bigint NOT NULL,
        expires bigint,
        size bigint NOT NULL,
        value bytea NOT NULL,
        PRIMARY KEY (key) INCLUDE (size)
    );
    CREATE INDEX wharf_entry_expires ON wharf_entry (expires) WHERE expires IS NOT NULL;
    CREATE TABLE wharf_schema (version integer NOT NULL);
    INSERT INTO wharf_schema VALUES (1);
    INSERT INTO wharf_entry SELECT 'keyvalue/notes/' || who || '/b/' || number, nextval('wharf_version'), NULL, 30, 'x'
        FROM generate_series(1, 2000) AS number, unnest(ARRAY['ada', 'bob']) AS who;
    INSERT INTO wharf_entry VALUES ('tasks/1', nextval('wharf_version'), NULL, 8, 'x');
";

/// The sums of values, beside what is there.
fn sums(server: &PostgresServer, database: &str) -> (String, String) {
    let summed = "SELECT prefix, entries, bytes FROM wharf_usage ORDER BY prefix";
    let there = "SELECT substring(key FROM 'keyvalue/[^/]*/[^/]*/'), count(*), sum(size) FROM wharf_entry
        WHERE key LIKE 'keyvalue/%' GROUP BY 1 ORDER BY 1";
    (server.sql(database, summed), server.sql(database, there))
}

#[tokio::test(flavor = "multi_thread")]
async fn tables_of_an_earlier_version_are_changed_by_the_first_node() {
    let server = PostgresServer::start();
    let url = server.store("earlier");
    server.sql("earlier", VERSION_1);
    let nodes = (0..8).map(|_| {
        let mut settings = settings(&url);
        settings.connect_timeout = Duration::from_secs(30);
        let node = Postgres::new(settings);
        tokio::spawn(async move { node.usage("keyvalue/notes/ada/").await })
    });
    for node in join_all(nodes).await {
        assert_eq!(node.expect("no panic"), Ok(Usage { entries: 2000, bytes: 60_000 }));
    }
    assert_eq!(server.sql("earlier", "SELECT version FROM wharf_schema").trim(), "2");
    // A node of the release before that has its connection still.
    server.sql("earlier", "DELETE FROM wharf_entry WHERE key LIKE 'keyvalue/notes/ada/%' AND right(key, 1) <> '7'");
    let (summed, there) = sums(&server, "earlier");
    assert!(summed == there && summed.contains("keyvalue/notes/ada/|200|6000"), "{summed}");
    assert_eq!(store(&url).usage("keyvalue/notes/").await, Ok(Usage { entries: 2200, bytes: 66_000 }));
    assert_eq!(store(&url).usage("keyvalue/notes/ada/b/").await, Ok(Usage { entries: 200, bytes: 6000 }));
    assert_eq!(store(&url).usage("tasks/").await, Ok(Usage { entries: 1, bytes: 8 }));
}

#[tokio::test(flavor = "multi_thread")]
async fn sums_of_values_are_right_whoever_writes_at_the_same_time() {
    let server = PostgresServer::start();
    let url = server.store("counted");
    let writers = (0..6).map(|writer| {
        let url = url.clone();
        tokio::spawn(async move {
            let mut settings = settings(&url);
            (settings.connect_timeout, settings.request_timeout) = (Duration::from_secs(30), Duration::from_secs(30));
            let node = Postgres::new(settings);
            for round in 0..60_usize {
                // Of two users, the same keys by all nodes: added, replaced and removed.
                let key = format!("keyvalue/notes/{}/b/{}", round % 2, round % 7);
                let written = put(&key, "v".repeat(round % 5));
                let done = match (round + writer) % 3 {
                    0 => node.delete(&key).await.map(drop),
                    1 => node.put(Put { expected: Expected::Absent, ..written }).await.map(drop),
                    _ => node.put(written).await.map(drop),
                };
                done.expect("usable");
            }
        })
    });
    for writer in join_all(writers).await {
        writer.expect("no panic");
    }
    let (summed, there) = sums(&server, "counted");
    assert_eq!(summed, there);
    let node = store(&url);
    node.put(put("keyvalue/notes/0/b/last", "")).await.expect("usable");
    for key in node.keys("keyvalue/", "", 99).await.expect("usable").keys {
        node.delete(&key).await.expect("usable");
    }
    // Nothing is left of users without values.
    assert_eq!(sums(&server, "counted"), (String::new(), String::new()));
    // What is there is not added up to know it.
    node.put(put("keyvalue/notes/0/b/1", "")).await.expect("usable");
    server.sql("counted", "UPDATE wharf_usage SET entries = 7");
    assert_eq!(node.usage("keyvalue/notes/0/").await.expect("usable").entries, 7);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_away_is_an_error_until_it_is_back() {
    asked::of_a_server_that_is_away::<PostgresServer>(|url| store(url), "postgres://").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_does_not_answer_is_an_error_in_time() {
    let server = PostgresServer::start();
    let url = server.store("silent");
    let node = store(&url);
    node.put(put("a", "")).await.expect("usable");
    // Another session holds what each write needs.
    let mut locking =
        server.psql("silent", "BEGIN; LOCK TABLE wharf_entry; SELECT pg_sleep(600)").spawn().expect("psql");
    let locked =
        "SELECT count(*) FROM pg_locks WHERE mode = 'AccessExclusiveLock' AND granted AND locktype = 'relation'";
    while server.sql("silent", locked).trim() == "0" {
        std::thread::sleep(Duration::from_millis(20));
    }
    let asked = Instant::now();
    // More than there are connections: those that wait for one are not forgotten either.
    let writers = (0..10).map(|number| {
        let node = node.clone();
        tokio::spawn(async move { node.put(put(&format!("b/{number}"), "")).await })
    });
    for answer in join_all(writers).await {
        error(asked, answer.expect("no panic"), "silent");
    }
    locking.kill().expect("it runs");
    locking.wait().expect("it ended");
    server.sql("postgres", "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE '%pg_sleep(600)%' AND pid <> pg_backend_pid()");
    node.put(put("a", "")).await.expect("usable");
    // What nobody waited for any more has not been done later.
    assert_eq!(node.usage("b/").await.expect("usable").entries, 0);
    // The whole machine hangs.
    server.freeze();
    for _ in 0..2 {
        error(Instant::now(), node.get("a").await, "within 2s");
    }
    server.thaw();
    assert!(node.get("a").await.expect("usable").is_some());
    // Nobody answers there at all.
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = silent.local_addr().expect("an address").port();
    let node = store(&format!("postgres://wharf@127.0.0.1:{port}/silent"));
    error(Instant::now(), node.get("a").await, "there was no connection within 2s");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_without_room_for_its_log_stops_and_loses_nothing() {
    let mut server = PostgresServer::start_on_disk();
    let node = store(&server.store("log"));
    node.put(put("a", "kept")).await.expect("usable");
    server.disk().fill();
    // Nothing grows but the log.
    let write = "SELECT pg_logical_emit_message(false, 'wharf', repeat('x', 1000000))";
    while server.psql("postgres", write).output().is_ok_and(|output| output.status.success()) {}
    error(Instant::now(), node.put(put("b", "lost")).await, "see that it runs there");
    server.disk().make_room();
    server.kill();
    server.start_again();
    assert_eq!(node.get("a").await.expect("usable").expect("there").value, b"kept");
    node.put(put("b", "new")).await.expect("usable");
}

#[tokio::test(flavor = "multi_thread")]
async fn it_is_reached_with_tls_and_a_password_or_not_at_all() {
    let server = PostgresServer::start();
    server.store("safe");
    let url = format!("postgres://wharf@localhost:{}/safe?sslmode=verify-full", server.port());
    let trusting = |ca: &str| {
        let mut settings = settings(&url);
        settings.ca = Some(server.path(ca));
        Postgres::new(settings)
    };
    let node = trusting("cert.pem");
    node.put(put("a", "")).await.expect("usable");
    let encrypted =
        "SELECT count(*) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE ssl AND application_name = 'wharf'";
    assert_eq!(server.sql("safe", encrypted).trim(), "1");
    let other = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
    fs::write(server.path("other.pem"), other.cert.pem()).expect("a file");
    error(Instant::now(), trusting("other.pem").get("a").await, "TLS");
    error(Instant::now(), trusting("missing.pem").get("a").await, "read its certificates");
    error(Instant::now(), store(&url).get("a").await, "TLS");
    let mut wrong = settings(&url.replace("verify-full", "disable"));
    wrong.set_password("another");
    error(Instant::now(), Postgres::new(wrong).get("a").await, "store.password as the database has them");
    let without = PostgresSettings::of_url(&url.replace("verify-full", "disable")).expect("a URL");
    error(Instant::now(), Postgres::new(without).get("a").await, "password missing");
    error(Instant::now(), store(&server.url("absent")).get("a").await, "create the database");
}
