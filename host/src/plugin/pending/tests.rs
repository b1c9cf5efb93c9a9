use futures_util::FutureExt as _;

use super::*;
use crate::plugin::abi::ToolResult;

/// A loaded plugin.
struct Loaded(PluginId, Digest, Surface);

#[async_trait]
impl Provider for Loaded {
    fn id(&self) -> &PluginId {
        &self.0
    }
    fn digest(&self) -> &Digest {
        &self.1
    }
    fn surface(&self) -> &Surface {
        &self.2
    }
    async fn call_tool(&self, name: &str, _: Arc<str>, _: Call) -> Result<ToolOutcome, CallError> {
        assert_eq!(name, "x");
        Ok(ToolOutcome::Complete(ToolResult { content: Vec::new(), structured: None, is_error: false, meta: None }))
    }
}

fn id() -> PluginId {
    PluginId::parse("p").expect("an id")
}

fn pending() -> (PendingPlugin, Compiled) {
    pending_for(Duration::from_secs(30))
}

fn pending_for(timeout: Duration) -> (PendingPlugin, Compiled) {
    let limits = Limits { timeout, ..Limits::default() };
    PendingPlugin::new(id(), Digest::of(b""), Surface::default(), limits, Grants::default())
}

#[tokio::test]
async fn calls_wait_for_the_code() {
    let (plugin, compiled) = pending();
    let mut call = plugin.call_tool("x", "{}".into(), Call::new("1"));
    assert!((&mut call).now_or_never().is_none());
    assert!(!plugin.may_ask(Access::Elicit, &Identity::local()));
    compiled.serve_from(Arc::new(Loaded(id(), Digest::of(b""), Surface::default())));
    let called = call.await;
    assert!(matches!(called, Ok(ToolOutcome::Complete(_))), "{called:?}");
    assert!(plugin.may_ask(Access::Elicit, &Identity::local()));
}

#[tokio::test]
async fn calls_of_a_plugin_that_is_refused_fail() {
    let (plugin, compiled) = pending();
    let mut call = plugin.call_tool("x", "{}".into(), Call::new("1"));
    assert!((&mut call).now_or_never().is_none());
    drop(compiled);
    assert_eq!(call.await, Err(Fault::NotLoaded.into()));
}

#[tokio::test]
async fn calls_wait_until_their_deadline_and_no_longer_than_a_call_may_take() {
    let (short, long) = (Duration::from_millis(20), Duration::from_secs(30));
    for (timeout, deadline) in [(short, None), (short, Some(long)), (long, Some(short))] {
        let (plugin, _compiled) = pending_for(timeout);
        let start = Instant::now();
        let deadline = deadline.map(|left| start + left);
        let called = plugin.call_tool("x", "{}".into(), Call { deadline, ..Call::new("1") }).await;
        assert_eq!(called, Err(Fault::Compiling.into()));
        assert!(start.elapsed() >= short);
    }
}

/// The wait counts for the time limit of the call.
#[tokio::test]
async fn a_call_has_what_is_left_of_its_time() {
    let (plugin, compiled) = pending();
    let start = Instant::now();
    compiled.serve_from(Arc::new(Loaded(id(), Digest::of(b""), Surface::default())));
    let (_, call) = plugin.loaded(Call::new("1")).await.expect("loaded");
    let deadline = call.deadline.expect("a deadline");
    assert!(deadline >= start + Duration::from_secs(30) && deadline <= Instant::now() + Duration::from_secs(30));
    let early = start + Duration::from_secs(1);
    let (_, call) = plugin.loaded(Call { deadline: Some(early), ..Call::new("2") }).await.expect("loaded");
    assert_eq!(call.deadline, Some(early));
}
