use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::Semaphore;
use tokio::sync::oneshot::error::TryRecvError;
use tokio::time::timeout;

use super::{BURST, Replacement, replace};
use crate::catalog::tests::member;
use crate::catalog::{Catalog, Member, NewSettings, PluginSettings};
use crate::plugin::{Digest, Grants, Limits, LoadError, PluginId, Provider, SecretTemplate, Surface};

#[test]
fn a_pinned_surface_is_not_replaced() {
    let (before, after) = (member("p", &[("t", "Does.")], true), member("p", &[("t", "Lies.")], true));
    let digest = |member: &Member| member.provider.surface().digest();
    for (pinned, wanted, outcome) in [
        (None, &after, Replacement::Applied),
        (Some(digest(&before)), &before, Replacement::Unchanged),
        (Some(digest(&after)), &after, Replacement::Applied),
    ] {
        let mut members = [Member { pinned_surface: pinned, ..before.clone() }];
        assert_eq!(replace(&mut members, &before.provider, after.provider.clone()), outcome);
        assert_eq!(digest(&members[0]), digest(wanted));
    }
}

#[test]
fn an_equal_listing_changes_nothing() {
    let (before, after) = (member("p", &[("t", "Does.")], true), member("p", &[("t", "Does.")], true));
    let mut members = [before.clone()];
    assert_eq!(replace(&mut members, &before.provider, after.provider), Replacement::Unchanged);
    assert!(Arc::ptr_eq(&members[0].provider, &before.provider));
}

/// A plugin whose listings end when the test allows it. The name of its only tool has the number of its
/// grants and of its listings.
struct Slow {
    id: PluginId,
    granted: usize,
    surface: Surface,
    /// Each permit lets one listing end.
    may_end: Arc<Semaphore>,
    begun: Arc<AtomicUsize>,
    /// The number of listings that still panic.
    bugs: Arc<AtomicUsize>,
}

impl Slow {
    fn member(granted: usize) -> (Member, Arc<Semaphore>, Arc<AtomicUsize>, Arc<AtomicUsize>) {
        let slow = Self {
            id: PluginId::parse("slow").expect("an id"),
            granted,
            surface: Surface::default(),
            may_end: Arc::new(Semaphore::new(0)),
            begun: Arc::default(),
            bugs: Arc::default(),
        };
        let (may_end, begun, bugs) = (slow.may_end.clone(), slow.begun.clone(), slow.bugs.clone());
        let member = Member { provider: Arc::new(slow), naming: Default::default(), pinned_surface: None };
        (member, may_end, begun, bugs)
    }

    fn with(&self, granted: usize, tool: &str) -> Arc<dyn Provider> {
        let tools = member("slow", &[(tool, "")], true).provider;
        let tools = tools.surface().tools.as_deref().unwrap_or_default();
        let tool = &tools[0].tool;
        let surface = Surface {
            tools: Some(vec![crate::plugin::FrozenTool::freeze(tool.clone()).expect("a tool")]),
            ..Surface::default()
        };
        let (may_end, begun, bugs) = (self.may_end.clone(), self.begun.clone(), self.bugs.clone());
        Arc::new(Self { id: self.id.clone(), granted, surface, may_end, begun, bugs })
    }
}

#[async_trait]
impl Provider for Slow {
    fn id(&self) -> &PluginId {
        &self.id
    }
    fn digest(&self) -> &Digest {
        static NONE: std::sync::LazyLock<Digest> = std::sync::LazyLock::new(|| Digest::of(b""));
        &NONE
    }
    fn surface(&self) -> &Surface {
        &self.surface
    }
    fn with_settings(&self, _: Limits, grants: Grants) -> Option<Arc<dyn Provider>> {
        Some(self.with(grants.env.len(), "unlisted"))
    }
    async fn list_again(&self) -> Result<Option<Arc<dyn Provider>>, LoadError> {
        let times = self.begun.fetch_add(1, Ordering::SeqCst);
        self.may_end.acquire().await.expect("it is open").forget();
        let bug = self.bugs.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
        assert!(bug.is_err(), "a bug");
        Ok(Some(self.with(self.granted, &format!("granted-{}-at-{times}", self.granted))))
    }
}

fn settings(granted: usize) -> PluginSettings {
    let env = (0..granted).map(|number| (format!("V{number}"), SecretTemplate::default())).collect();
    let grants = Grants { env, ..Grants::default() };
    PluginSettings { limits: Limits::default(), grants, naming: Default::default() }
}

fn tool(catalog: &Catalog) -> String {
    let snapshot = catalog.snapshot();
    snapshot.tools.names().next().unwrap_or("none").to_owned()
}

async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let condition = async {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), condition).await.unwrap_or_else(|_| panic!("never: {what}"));
}

/// Changed settings, changed lists and new versions in all orders, each while the plugin is being listed:
/// at the end, the provider in service and its lists are those under the last settings.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn settings_hold_whatever_a_plugin_lists_meanwhile() {
    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Step {
        Revoke,
        Changed,
        Version,
    }
    use Step::{Changed, Revoke, Version};
    let orders = [
        [Revoke, Changed, Version],
        [Revoke, Version, Changed],
        [Changed, Revoke, Version],
        [Changed, Version, Revoke],
        [Version, Revoke, Changed],
        [Version, Changed, Revoke],
    ];
    for order in orders {
        let catalog = Arc::new(Catalog::default());
        let (first, may_end, begun, _) = Slow::member(2);
        let id = first.provider.id().clone();
        let mut granted = 2;
        catalog.put(first);
        catalog.list_again(&id);
        until("it is being listed", || begun.load(Ordering::SeqCst) == 1).await;
        for step in order {
            match step {
                Revoke => {
                    granted = 0;
                    let settings = Some(settings(granted));
                    catalog.reconfigure(vec![NewSettings { id: id.clone(), settings, pinned_surface: None }]);
                    catalog.list_again(&id);
                    assert_eq!(tool(&catalog), "slow_unlisted", "{order:?}: at once");
                }
                Changed => drop(catalog.list_again(&id)),
                Version => {
                    let (mut next, next_may_end, ..) = Slow::member(granted);
                    // Its listings are not held up.
                    next_may_end.add_permits(1000);
                    next.naming = Default::default();
                    catalog.put(next);
                    // Its first announcement, right after one of the previous version.
                    catalog.list_again(&id);
                }
            }
        }
        may_end.add_permits(1000);
        let wanted = "slow_granted-0-at-";
        until(&format!("{order:?}: {wanted}, but {}", tool(&catalog)), || tool(&catalog).starts_with(wanted)).await;
        // The outdated listing ends last, and changes nothing.
        until("no listing runs", || catalog.relisting().is_empty()).await;
        assert!(tool(&catalog).starts_with(wanted), "{order:?}: {}", tool(&catalog));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_panic_does_not_prevent_later_listings() {
    let catalog = Arc::new(Catalog::default());
    let (slow, may_end, begun, bugs) = Slow::member(1);
    let id = slow.provider.id().clone();
    bugs.store(1, Ordering::SeqCst);
    may_end.add_permits(2);
    catalog.put(slow);
    catalog.list_again(&id);
    until("it has panicked", || bugs.load(Ordering::SeqCst) == 0).await;
    catalog.list_again(&id);
    until("it is listed", || tool(&catalog) == "slow_granted-1-at-1").await;
    until("no listing runs", || catalog.relisting().is_empty()).await;
    assert_eq!(begun.load(Ordering::SeqCst), 2);
}

/// A listing that a call waits for has its lists in service when it ends. One that is delayed, since
/// there were many, is not waited for, and follows.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_listing_can_be_awaited_unless_it_is_delayed() {
    let catalog = Arc::new(Catalog::default());
    let (slow, may_end, begun, _) = Slow::member(1);
    let id = slow.provider.id().clone();
    catalog.put(slow);
    for number in 0.. {
        let mut listed = catalog.list_again(&id);
        let runs = || begun.load(Ordering::SeqCst) > number;
        until("it is listed or delayed", || runs() || listed.try_recv() == Err(TryRecvError::Closed)).await;
        if !runs() {
            assert!(number >= BURST as usize, "listing {number} was delayed");
            break;
        }
        assert_eq!(listed.try_recv(), Err(TryRecvError::Empty), "not awaited");
        may_end.add_permits(1);
        timeout(Duration::from_secs(60), listed).await.expect("it ends").expect_err("without a value");
        assert_eq!(tool(&catalog), format!("slow_granted-1-at-{number}"));
        assert!(number < 1000, "never delayed");
    }
    let before = begun.load(Ordering::SeqCst);
    until("the delayed one follows", || begun.load(Ordering::SeqCst) > before).await;
}
