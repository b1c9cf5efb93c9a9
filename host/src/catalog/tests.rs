use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use async_trait::async_trait;

use super::{Catalog, Listings, Member, Naming, NewSettings, Warning};
use crate::plugin::abi::{Capability, Offer, ResourceDescription, ResourceTemplate, Tool};
use crate::plugin::{Digest, FrozenTemplate, FrozenTool, PluginId, Provider, Surface, UriTemplate};

/// A plugin that has a surface and cannot be called.
struct Listed {
    id: PluginId,
    digest: Digest,
    surface: Surface,
    /// How often `surface` was read.
    reads: Arc<AtomicUsize>,
}

pub(super) fn member(id: &str, tools: &[(&str, &str)], prefix: bool) -> Member {
    let freeze = |(name, description): &(&str, &str)| {
        let tool = Tool { description: Some((*description).into()), ..Tool::new(*name, r#"{"type":"object"}"#) };
        FrozenTool::freeze(tool).expect("a tool")
    };
    let surface = Surface { tools: Some(tools.iter().map(freeze).collect()), ..Surface::default() };
    let id = PluginId::parse(id).expect("an id");
    let naming = if prefix { Naming::Prefixed } else { Naming::Plain };
    Member {
        provider: Arc::new(Listed { id, digest: Digest::of(b""), surface, reads: Arc::default() }),
        naming,
        pinned_surface: None,
    }
}

#[async_trait]
impl Provider for Listed {
    fn id(&self) -> &PluginId {
        &self.id
    }
    fn digest(&self) -> &Digest {
        &self.digest
    }
    fn surface(&self) -> &Surface {
        self.reads.fetch_add(1, Ordering::Relaxed);
        &self.surface
    }
}

fn names(catalog: &Catalog) -> Vec<String> {
    catalog.snapshot().tools.names().map(str::to_owned).collect()
}

fn owner(catalog: &Catalog, name: &str) -> String {
    catalog.snapshot().tools.get(name).expect("a tool of that name").provider.id().to_string()
}

#[test]
fn order_is_by_plugin_and_then_as_listed_in_any_load_order() {
    let members = [member("b", &[("z", ""), ("a", "")], true), member("a", &[("one", ""), ("a", "")], true)];
    for order in [[0, 1], [1, 0]] {
        let catalog = Catalog::default();
        for at in order {
            assert_eq!(catalog.put(members[at].clone()), []);
        }
        // A tool with its plugin's name has no prefix.
        assert_eq!(names(&catalog), ["a_one", "a", "b_z", "b_a"]);
    }
}

#[test]
fn a_name_stays_with_its_owner_until_that_is_removed() {
    let catalog = Catalog::default();
    catalog.set_ready();
    catalog.put(member("late", &[("find", "")], false));
    let warnings = catalog.put(member("early", &[("find", "")], false));
    let id = |id| PluginId::parse(id).expect("an id");
    assert!(
        matches!(&warnings[..], [Warning::NameTaken { owner, refused, .. }] if *owner == id("late") && *refused == id("early")),
        "{warnings:?}"
    );
    assert_eq!(owner(&catalog, "find"), "late");
    // A new version of the owner keeps the name.
    catalog.put(member("late", &[("find", "better")], false));
    assert_eq!(owner(&catalog, "find"), "late");
    catalog.remove(&[id("late")]);
    assert_eq!(owner(&catalog, "find"), "early");
}

#[test]
fn names_of_the_first_scan_do_not_depend_on_load_order() {
    for order in [["early", "late"], ["late", "early"]] {
        let catalog = Catalog::default();
        for id in order {
            catalog.put(member(id, &[("find", "")], false));
        }
        catalog.set_ready();
        assert_eq!(owner(&catalog, "find"), "early");
    }
}

#[test]
fn a_generation_changes_only_with_its_list() {
    let catalog = Catalog::default();
    let mut listings = catalog.watch();
    let generation = || catalog.snapshot().listings().tools;
    catalog.put(member("a", &[("x", "old words")], true));
    assert!(listings.has_changed().expect("the catalog lives"));
    assert_eq!(*listings.borrow_and_update(), Listings { tools: 1, ..Listings::default() });
    // Another version with the same list.
    catalog.put(member("a", &[("x", "old words")], true));
    catalog.put(member("empty", &[], true));
    assert_eq!(generation(), 1);
    assert!(!listings.has_changed().expect("the catalog lives"));
    catalog.put(member("a", &[("x", "new words")], true));
    assert_eq!(generation(), 2);
    catalog.remove(&[PluginId::parse("a").expect("an id")]);
    assert_eq!(generation(), 3);
}

#[test]
fn a_digest_depends_on_the_order_of_names_only() {
    let catalogs = [Catalog::default(), Catalog::default()];
    let digest = |at: usize| catalogs[at].snapshot().tools.digest();
    catalogs[0].put(member("b", &[("x", "")], true));
    catalogs[0].put(member("a", &[("x", "old words")], true));
    let (before, id) = (digest(0), PluginId::parse("b").expect("an id"));
    catalogs[0].remove(&[id]);
    assert_ne!(digest(0), before);
    catalogs[0].put(member("b", &[("x", "")], true));
    for plugin in ["a", "b"] {
        catalogs[1].put(member(plugin, &[("x", "new words")], true));
    }
    assert_eq!((digest(0), digest(1)), (before, before));
}

#[test]
fn a_call_in_flight_keeps_its_snapshot() {
    let catalog = Catalog::default();
    catalog.put(member("a", &[("x", "old")], true));
    let before = catalog.snapshot();
    catalog.remove(&[PluginId::parse("a").expect("an id")]);
    assert!(catalog.snapshot().tools.get("a_x").is_none());
    assert_eq!(before.tools.get("a_x").map(|tool| tool.item().tool.name.as_str()), Some("x"));
}

#[tokio::test]
async fn waiting_for_the_first_scan_is_bounded() {
    let catalog = Catalog::default();
    assert_eq!(catalog.listable_now(), None);
    let published = catalog.listable(Duration::from_millis(1)).await;
    assert!(!catalog.is_ready());
    // From the start, and not from each request.
    let (limit, before) = (catalog.started.elapsed(), Instant::now());
    catalog.known(limit, |_| false).await;
    assert!(!catalog.is_ready() && before.elapsed() < limit + Duration::from_secs(1));
    // The first answer counts.
    catalog.put(member("a", &[("x", "")], false));
    assert_eq!(catalog.listable(Duration::from_secs(3600)).await, published);
    assert_ne!(catalog.snapshot().listings(), published);
    catalog.set_ready();
    assert_eq!(catalog.listable(Duration::from_secs(3600)).await, published);
    catalog.known(Duration::from_secs(3600), |_| false).await;
}

#[tokio::test]
async fn what_is_known_is_not_waited_for() {
    let catalog = Arc::new(Catalog::default());
    let waiting = catalog.clone();
    let known = tokio::spawn(async move {
        waiting.known(Duration::from_secs(3600), |snapshot| snapshot.tools.get("x").is_some()).await;
    });
    tokio::task::yield_now().await;
    assert!(!known.is_finished());
    catalog.put(member("a", &[("x", "")], false));
    known.await.expect("it ends while the first scan runs");
    assert!(!catalog.is_ready());
}

#[tokio::test]
async fn a_name_stays_with_its_owner_once_lists_are_answered() {
    let catalog = Catalog::default();
    catalog.put(member("b", &[("x", "")], false));
    catalog.listable(Duration::ZERO).await;
    catalog.put(member("a", &[("x", "")], false));
    assert_eq!(owner(&catalog, "x"), "b");
}

/// A plugin that lists these resources and templates.
fn resource_member(id: &str, uris: &[&str], templates: &[&str]) -> Member {
    let resource = |uri: &&str| ResourceDescription::new(*uri, *uri);
    let template = |uri: &&str| FrozenTemplate {
        template: ResourceTemplate {
            uri_template: (*uri).into(),
            name: (*uri).into(),
            title: None,
            description: None,
            mime_type: None,
            annotations: None,
            icons: Vec::new(),
            meta: None,
        },
        uri: UriTemplate::compile(uri).expect("a template"),
    };
    let surface = Surface {
        resources: Some(uris.iter().map(resource).collect()),
        templates: templates.iter().map(template).collect(),
        ..Surface::default()
    };
    let id = PluginId::parse(id).expect("an id");
    Member {
        provider: Arc::new(Listed { id, digest: Digest::of(b""), surface, reads: Arc::default() }),
        naming: Naming::Prefixed,
        pinned_surface: None,
    }
}

#[test]
fn one_plugin_owns_a_scheme_and_authority() {
    let catalog = Catalog::default();
    catalog.set_ready();
    catalog.put(resource_member("b", &["notes://home/1", "notes://home/2", "mem:x"], &[]));
    let warnings = catalog.put(resource_member("a", &["notes://home/3", "notes://work/1", "mem:y"], &[]));
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    let uris = || catalog.snapshot().resources.names().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(uris(), ["notes://work/1", "notes://home/1", "notes://home/2", "mem:x"]);
    assert_eq!(catalog.snapshot().listings(), Listings { resources: 2, ..Listings::default() });
    catalog.remove(&[PluginId::parse("b").expect("an id")]);
    assert_eq!(uris(), ["notes://home/3", "notes://work/1", "mem:y"]);
}

#[test]
fn pages_under_the_name_of_a_plugin_are_its_own() {
    let catalog = Catalog::default();
    catalog.set_ready();
    catalog.put(resource_member("a", &["ui://b/page", "ui://other/page"], &[]));
    let owners = || {
        let snapshot = catalog.snapshot();
        let own = |uri| snapshot.provider_of(uri).map(|provider| provider.id().to_string());
        ["ui://b/page", "ui://other/page"].map(own)
    };
    assert_eq!(owners(), [Some("a".to_owned()), Some("a".to_owned())]);
    // Whether it has pages or not, and also if clients have seen those of the other.
    catalog.put(resource_member("b", &[], &[]));
    assert_eq!(owners(), [None, Some("a".to_owned())]);
    catalog.put(resource_member("b", &["ui://b/page"], &[]));
    assert_eq!(owners(), [Some("b".to_owned()), Some("a".to_owned())]);
}

#[test]
fn the_first_plugin_owns_a_capability_and_methods_are_separate() {
    let offering = |id: &str, settings: &str| {
        let capability = |name: &str| Capability { name: name.into(), settings: settings.into() };
        let offer = Offer {
            experimental: vec![capability("thing"), capability(id)],
            extensions: vec![capability("vendor.example/thing")],
            methods: vec!["echo".into()],
        };
        let surface = Surface { offer: Some(offer), ..Surface::default() };
        let id = PluginId::parse(id).expect("an id");
        Member {
            provider: Arc::new(Listed { id, digest: Digest::of(b""), surface, reads: Arc::default() }),
            naming: Naming::Plain,
            pinned_surface: None,
        }
    };
    let catalog = Catalog::default();
    assert_eq!(catalog.put(offering("b", r#"{"n":2}"#)), []);
    let id = |id| PluginId::parse(id).expect("an id");
    let taken = |name: &str| Warning::CapabilityTaken { name: name.into(), owner: id("a"), refused: id("b") };
    assert_eq!(catalog.put(offering("a", r#"{"n":1}"#)), [taken("thing"), taken("vendor.example/thing")]);

    let snapshot = catalog.snapshot();
    let declared: Vec<_> = snapshot.extensions.experimental.iter().map(|(name, (id, _))| (&**name, id)).collect();
    assert_eq!(declared, [("a", &id("a")), ("b", &id("b")), ("thing", &id("a"))]);
    assert_eq!(snapshot.extensions.extensions["vendor.example/thing"], (id("a"), r#"{"n":1}"#.into()));
    let handler = |name| snapshot.extensions.method(name).map(|(provider, own)| (provider.id().clone(), own));
    assert_eq!(handler("b/echo"), Some((id("b"), "echo")));
    for unknown in ["c/echo", "echo", "b/other", "b/echo/more", "b_echo"] {
        assert_eq!(handler(unknown), None, "{unknown}");
    }

    catalog.remove(&[id("a")]);
    assert_eq!(catalog.snapshot().extensions.extensions["vendor.example/thing"].0, id("b"));
}

#[test]
fn a_uri_is_served_by_its_lister_or_the_most_literal_template() {
    let catalog = Catalog::default();
    catalog.put(resource_member("a", &["notes://home/listed"], &["notes://home/{id}", "open://{host}/{id}"]));
    catalog.put(resource_member("b", &["open://b/x"], &["notes://{place}/{id}/b", "notes://{+all}", "open://b/{id}"]));
    catalog.put(resource_member("c", &[], &["notes://{+any}", "open://{host}/{id}/longer"]));
    let snapshot = catalog.snapshot();
    let provider = |uri: &str| snapshot.provider_of(uri).map(|provider| provider.id().to_string());
    for (uri, plugin) in [
        ("notes://home/listed", Some("a")),
        ("notes://home/7", Some("a")),
        // Another plugin owns its scheme and authority.
        ("notes://home/7/b", None),
        ("notes://work/7/b", Some("b")),
        // A tie: the first plugin's.
        ("notes://work/7", Some("b")),
        ("open://c/7", Some("a")),
        ("open://b/7", Some("b")),
        // The matching template was left out: another plugin owns its scheme and authority.
        ("open://c/7/longer", None),
        ("open://c/ 7", None),
        ("other://c", None),
    ] {
        assert_eq!(provider(uri).as_deref(), plugin, "{uri}");
    }
}

/// The work for each plugin does not depend on how many there are.
#[test]
fn a_batch_is_one_change() {
    let reads_per_plugin = |many: usize| {
        let catalog = Catalog::default();
        let reads = Arc::new(AtomicUsize::new(0));
        let id = |number: usize| PluginId::parse(&format!("p{number}")).expect("an id");
        let plugin = |number: usize| {
            let surface = Surface { tools: Some(Vec::new()), ..Surface::default() };
            let listed = Listed { id: id(number), digest: Digest::of(b""), surface, reads: reads.clone() };
            Member { provider: Arc::new(listed), naming: Naming::Plain, pinned_surface: None }
        };
        catalog.put_all((0..many).map(plugin).collect());
        let new = |number| NewSettings { id: id(number), settings: None, pinned_surface: None };
        let (warnings, mismatched) = catalog.reconfigure((0..many).map(new).collect());
        assert!(warnings.is_empty() && mismatched.is_empty());
        catalog.remove(&(0..many / 2).map(id).collect::<Vec<_>>());
        assert_eq!(catalog.snapshot().members().len(), many - many / 2);
        reads.load(Ordering::Relaxed) / many
    };
    assert_eq!(reads_per_plugin(250), reads_per_plugin(10));
}

/// A surface that changed while the plugin had no grants does not keep serving once it is pinned.
#[test]
fn a_plugin_whose_surface_is_not_the_pinned_one_is_removed() {
    let catalog = Catalog::default();
    catalog.put_all(vec![member("kept", &[("t", "Does.")], true), member("other", &[("t", "Lies.")], true)]);
    let surface = Some(member("kept", &[("t", "Does.")], true).provider.surface().digest());
    let id = |id| PluginId::parse(id).expect("an id");
    let new = |name| NewSettings { id: id(name), settings: None, pinned_surface: surface };
    let (_, mismatched) = catalog.reconfigure(vec![new("kept"), new("other")]);
    assert_eq!((mismatched, names(&catalog)), (vec![id("other")], vec!["kept_t".to_owned()]));
}
