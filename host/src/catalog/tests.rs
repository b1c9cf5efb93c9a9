use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

use super::{Catalog, Listings, Member, Warning};
use crate::plugin::abi::{
    Capability, Completion, GuestError, Offer, PromptOutcome, ReadOutcome, ResourceDescription, Subject, TaskSupport,
    Tool, ToolOutcome,
};
use crate::plugin::{Call, CallError, Digest, FrozenTool, PluginId, Provider, Schema, Surface};

/// A plugin that only lists.
struct Listed {
    id: PluginId,
    digest: Digest,
    surface: Surface,
}

fn member(id: &str, tools: &[(&str, &str)], prefix: bool) -> Member {
    let freeze = |(name, description): &(&str, &str)| FrozenTool {
        tool: Tool {
            name: (*name).into(),
            title: None,
            description: Some((*description).into()),
            input_schema: r#"{"type":"object"}"#.into(),
            output_schema: None,
            annotations: None,
            task_support: TaskSupport::Forbidden,
            icons: Vec::new(),
            meta: None,
        },
        input: Schema::compile(r#"{"type":"object"}"#).expect("a schema"),
        output: None,
    };
    let surface = Surface { tools: Some(tools.iter().map(freeze).collect()), ..Surface::default() };
    let id = PluginId::parse(id).expect("an id");
    Member { provider: Arc::new(Listed { id, digest: Digest::of(b""), surface }), prefix }
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
        &self.surface
    }
    async fn call_tool(&self, _: &str, _: &str, _: Call) -> Result<ToolOutcome, CallError> {
        Err(CallError::Guest(GuestError::NotFound))
    }
    async fn read_resource(&self, _: &str, _: Call) -> Result<ReadOutcome, CallError> {
        Err(CallError::Guest(GuestError::NotFound))
    }
    async fn get_prompt(&self, _: &str, _: Vec<(String, String)>, _: Call) -> Result<PromptOutcome, CallError> {
        Err(CallError::Guest(GuestError::NotFound))
    }
    async fn complete(
        &self,
        _: Subject,
        _: &str,
        _: &str,
        _: Vec<(String, String)>,
        _: Call,
    ) -> Result<Completion, CallError> {
        Err(CallError::Guest(GuestError::NotFound))
    }
    async fn call_method(&self, _: &str, _: &str, _: Call) -> Result<String, CallError> {
        Err(CallError::Guest(GuestError::NotFound))
    }
}

fn names(catalog: &Catalog) -> Vec<String> {
    catalog.snapshot().tools.names().map(str::to_owned).collect()
}

fn owner(catalog: &Catalog, name: &str) -> String {
    catalog.snapshot().tools.get(name).expect("a tool of that name").provider.id().to_string()
}

#[test]
fn order_is_by_plugin_and_then_as_listed_whatever_comes_first() {
    let members = [member("b", &[("z", ""), ("a", "")], true), member("a", &[("one", ""), ("a", "")], true)];
    for order in [[0, 1], [1, 0]] {
        let catalog = Catalog::default();
        for at in order {
            assert_eq!(catalog.put(members[at].clone()), []);
        }
        // A tool with its plugin's own name is just that.
        assert_eq!(names(&catalog), ["a_one", "a", "b_z", "b_a"]);
    }
}

#[test]
fn a_name_stays_with_its_owner_until_it_goes() {
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
    // A new version of the owner keeps what it had.
    catalog.put(member("late", &[("find", "better")], false));
    assert_eq!(owner(&catalog, "find"), "late");
    catalog.remove(&id("late"));
    assert_eq!(owner(&catalog, "find"), "early");
}

#[test]
fn names_of_the_first_scan_do_not_hang_on_who_loads_first() {
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
fn generations_move_only_when_the_list_does() {
    let catalog = Catalog::default();
    let mut listings = catalog.watch();
    let generation = || catalog.snapshot().listings().tools;
    catalog.put(member("a", &[("x", "old words")], true));
    assert!(listings.has_changed().expect("the catalog lives"));
    assert_eq!(*listings.borrow_and_update(), Listings { tools: 1, ..Listings::default() });
    // The same list of another file: another program, the same tools.
    catalog.put(member("a", &[("x", "old words")], true));
    catalog.put(member("empty", &[], true));
    assert_eq!(generation(), 1);
    assert!(!listings.has_changed().expect("the catalog lives"));
    catalog.put(member("a", &[("x", "new words")], true));
    assert_eq!(generation(), 2);
    catalog.remove(&PluginId::parse("a").expect("an id"));
    assert_eq!(generation(), 3);
}

#[test]
fn a_call_in_flight_keeps_what_it_started_with() {
    let catalog = Catalog::default();
    catalog.put(member("a", &[("x", "old")], true));
    let before = catalog.snapshot();
    catalog.remove(&PluginId::parse("a").expect("an id"));
    assert!(catalog.snapshot().tools.get("a_x").is_none());
    assert_eq!(before.tools.get("a_x").map(|tool| tool.item().tool.name.as_str()), Some("x"));
}

#[tokio::test]
async fn waiting_for_the_first_scan_is_bounded() {
    let catalog = Catalog::default();
    catalog.ready(Duration::from_millis(1)).await;
    assert!(!catalog.is_ready());
    catalog.set_ready();
    catalog.ready(Duration::from_secs(3600)).await;
    assert!(catalog.is_ready());
}

#[test]
fn uris_of_one_scheme_and_authority_are_one_plugins() {
    let resource = |uri: &str| ResourceDescription {
        uri: uri.into(),
        name: uri.into(),
        title: None,
        description: None,
        mime_type: None,
        size: None,
        annotations: None,
        icons: Vec::new(),
        meta: None,
    };
    let holding = |id: &str, uris: &[&str]| {
        let surface = Surface { resources: Some(uris.iter().map(|uri| resource(uri)).collect()), ..Surface::default() };
        let id = PluginId::parse(id).expect("an id");
        Member { provider: Arc::new(Listed { id, digest: Digest::of(b""), surface }), prefix: true }
    };
    let catalog = Catalog::default();
    catalog.set_ready();
    catalog.put(holding("b", &["notes://home/1", "notes://home/2", "mem:x"]));
    let warnings = catalog.put(holding("a", &["notes://home/3", "notes://work/1", "mem:y"]));
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    let uris = || catalog.snapshot().resources.names().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(uris(), ["notes://work/1", "notes://home/1", "notes://home/2", "mem:x"]);
    assert_eq!(catalog.snapshot().listings(), Listings { resources: 2, ..Listings::default() });
    catalog.remove(&PluginId::parse("b").expect("an id"));
    assert_eq!(uris(), ["notes://home/3", "notes://work/1", "mem:y"]);
}

#[test]
fn a_capability_is_the_first_plugins_and_methods_are_each_ones_own() {
    let offering = |id: &str, settings: &str| {
        let capability = |name: &str| Capability { name: name.into(), settings: settings.into() };
        let offer = Offer {
            experimental: vec![capability("thing"), capability(id)],
            extensions: vec![capability("vendor.example/thing")],
            methods: vec!["echo".into()],
        };
        let surface = Surface { offer: Some(offer), ..Surface::default() };
        let id = PluginId::parse(id).expect("an id");
        Member { provider: Arc::new(Listed { id, digest: Digest::of(b""), surface }), prefix: false }
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
    let answers = |name| snapshot.extensions.method(name).map(|(provider, own)| (provider.id().clone(), own));
    assert_eq!(answers("b/echo"), Some((id("b"), "echo")));
    for unknown in ["c/echo", "echo", "b/other", "b/echo/more", "b_echo"] {
        assert_eq!(answers(unknown), None, "{unknown}");
    }

    catalog.remove(&id("a"));
    assert_eq!(catalog.snapshot().extensions.extensions["vendor.example/thing"].0, id("b"));
}
