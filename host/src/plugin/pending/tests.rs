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
    PendingPlugin::new(id(), Digest::of(b""), Surface::default())
}

#[tokio::test]
async fn calls_wait_for_the_code() {
    let (plugin, compiled) = pending();
    let mut call = plugin.call_tool("x", "{}".into(), Call::new("1"));
    assert!((&mut call).now_or_never().is_none());
    assert!(!plugin.may_ask(Access::Elicit));
    compiled.serve_from(Arc::new(Loaded(id(), Digest::of(b""), Surface::default())));
    let called = call.await;
    assert!(matches!(called, Ok(ToolOutcome::Complete(_))), "{called:?}");
    assert!(plugin.may_ask(Access::Elicit));
}

#[tokio::test]
async fn calls_of_a_plugin_that_is_refused_find_nothing() {
    let (plugin, compiled) = pending();
    let mut call = plugin.call_tool("x", "{}".into(), Call::new("1"));
    assert!((&mut call).now_or_never().is_none());
    drop(compiled);
    assert_eq!(call.await, Err(CallError::Guest(GuestError::NotFound)));
}

#[tokio::test]
async fn calls_wait_until_their_deadline_and_no_longer_than_a_minute() {
    let (plugin, _compiled) = pending();
    let start = Instant::now();
    let soon = start + Duration::from_millis(20);
    let called = plugin.call_tool("x", "{}".into(), Call { deadline: Some(soon), ..Call::new("1") }).await;
    assert_eq!(called, Err(Fault::Compiling.into()));
    assert!(start.elapsed() >= Duration::from_millis(20));
    assert_eq!(end_of_wait(start, None), start + MAX_WAIT);
    assert_eq!(end_of_wait(start, Some(start + 2 * MAX_WAIT)), start + MAX_WAIT);
}
