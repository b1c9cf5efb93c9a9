use std::time::Duration;

use futures_util::FutureExt as _;
use tokio::time::Instant;

use super::{Bounds, WaitDeadline};
use crate::plugin::PluginId;
use crate::server::bounds::unread::AllUnread;

const PATIENCE: Duration = Duration::from_millis(50);

fn bounds() -> Bounds {
    Bounds::new(AllUnread::new(1000, 1000).of(&"caller".into(), 100), 2, PATIENCE)
}

fn plugin(name: &str) -> PluginId {
    PluginId::parse(name).expect("a plugin's name")
}

#[tokio::test]
async fn a_plugin_without_permits_does_not_delay_others() {
    let bounds = bounds();
    let (slow, other) = (plugin("slow"), plugin("other"));
    let mut held = Vec::new();
    for _ in 0..2 {
        held.push(bounds.acquire(&slow, &mut WaitDeadline::default()).await.ok().expect("a permit"));
    }
    assert!(bounds.acquire(&other, &mut WaitDeadline::default()).now_or_never().is_some_and(|permit| permit.is_ok()));
    let began = Instant::now();
    let refused = bounds.acquire(&slow, &mut WaitDeadline::default()).await.err().expect("no permit is free");
    assert_eq!((refused.code(), began.elapsed() >= PATIENCE), ("busy", true));
    held.pop();
    assert!(bounds.acquire(&slow, &mut WaitDeadline::default()).await.is_ok(), "released");
}

#[tokio::test]
async fn no_request_begins_for_a_client_that_does_not_read() {
    let bounds = bounds();
    let unread = bounds.unread.take(51);
    let mut deadline = WaitDeadline::default();
    assert!(bounds.acquire(&plugin("p"), &mut deadline).await.is_err());
    drop(unread);
    let late = bounds.acquire(&plugin("p"), &mut deadline).await;
    assert!(late.is_ok(), "a free permit needs no wait");
    drop(late);
    assert!(bounds.acquire(&plugin("p"), &mut WaitDeadline::default()).await.is_ok());
}

#[tokio::test]
async fn unused_semaphores_are_removed() {
    let bounds = bounds();
    let kept = bounds.acquire(&plugin("kept"), &mut WaitDeadline::default()).await.ok().expect("a permit");
    for number in 0..1000 {
        let _ = bounds.acquire(&plugin(&format!("p{number}")), &mut WaitDeadline::default()).await;
    }
    let plugins = bounds.plugins.lock().expect("not poisoned");
    assert!(plugins.len() <= 16 && plugins.contains_key(&plugin("kept")), "{}", plugins.len());
    drop((plugins, kept));
}
