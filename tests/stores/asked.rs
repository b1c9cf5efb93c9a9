//! What is asked of any engine, and what a server that is away answers.

use std::sync::Arc;
use std::time::{Duration, Instant};

use wharf::store::{Changed, Durability, Expected, Put, Store, StoreError};

use crate::servers::{PASSWORD, Server};

/// Each timeout of most stores.
pub(crate) const SHORT: Duration = Duration::from_secs(2);

pub(crate) fn put(key: &str, value: impl Into<Vec<u8>>) -> Put {
    let (expected, durability) = (Expected::Anything, Durability::Power);
    Put { key: key.into(), value: value.into(), expected, durability, expires: None }
}

/// The error, which has to come in time, and has the URL and no password.
pub(crate) fn error<T: std::fmt::Debug>(asked: Instant, answer: Result<T, StoreError>, why: &str, scheme: &str) {
    let StoreError(error) = answer.expect_err(why);
    assert!(asked.elapsed() < SHORT * 2 + Duration::from_secs(1), "{:?}: {error}", asked.elapsed());
    assert!(error.contains(why) && error.contains(scheme) && !error.contains(PASSWORD), "{why}: {error}");
}

/// `scheme`: of the URL in errors.
pub(crate) async fn of_a_server_that_is_away<S: Server>(store: impl Fn(&str) -> Arc<dyn Store>, scheme: &str) {
    let mut server = S::start();
    let url = server.store("away");
    let (node, watching) = (store(&url), store(&url));
    let mut changes = watching.watch();
    node.put(put("a", "kept")).await.expect("usable");
    assert!(changes.recv().await.is_ok());
    assert_eq!(watching.usage("").await.expect("usable").entries, 1);
    server.kill();
    for _ in 0..3 {
        error(Instant::now(), node.get("a").await, "see that it runs there", scheme);
        error(Instant::now(), node.put(put("b", "lost")).await, "see that it runs there", scheme);
        error(Instant::now(), watching.usage("").await, "see that it runs there", scheme);
    }
    server.start_again();
    // Without doing anything here: what was written is there, and writing goes on.
    assert_eq!(node.get("a").await.expect("usable").expect("there").value, b"kept");
    node.put(put("b", "new")).await.expect("usable");
    assert_eq!(watching.usage("").await.expect("usable").entries, 2);
    let deadline = Instant::now() + Duration::from_secs(20);
    // Whoever watches looks at everything, since it may have missed something.
    while !matches!(changes.recv().await, Ok(Changed::All)) {
        assert!(Instant::now() < deadline);
    }
    node.put(put("c", "")).await.expect("usable");
    while !matches!(changes.recv().await, Ok(Changed::Key(key)) if key == "c") {
        assert!(Instant::now() < deadline);
    }
}
