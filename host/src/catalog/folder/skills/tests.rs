use std::fs;
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;

use crate::catalog::folder::tests::following;
use crate::catalog::{Catalog, Member, Naming};
use crate::pins::Guard;
use crate::plugin::abi::ResourceDescription;
use crate::plugin::{Digest, PluginId, Provider, Surface};

fn put(root: &Path, name: &str) {
    let folder = root.join("skills").join(name);
    fs::create_dir_all(&folder).expect("a folder");
    let text = format!("---\nname: {name}\ndescription: Does things.\n---\n");
    fs::write(folder.join("SKILL.md"), text).expect("a file");
}

/// A plugin that lists that resource.
struct Lists(PluginId, Digest, Surface);

#[async_trait]
impl Provider for Lists {
    fn id(&self) -> &PluginId {
        &self.0
    }
    fn digest(&self) -> &Digest {
        &self.1
    }
    fn surface(&self) -> &Surface {
        &self.2
    }
}

fn plugin(uri: &str) -> Member {
    let resource = ResourceDescription {
        uri: uri.to_owned(),
        name: "r".to_owned(),
        title: None,
        description: None,
        mime_type: None,
        size: None,
        annotations: None,
        icons: Vec::new(),
        meta: None,
    };
    let surface = Surface { resources: Some(vec![resource]), ..Surface::default() };
    let provider = Lists(PluginId::parse("p").expect("an id"), Digest::of(b""), surface);
    Member { provider: Arc::new(provider), naming: Naming::Plain, pinned_surface: None }
}

fn skills(catalog: &Catalog) -> Vec<String> {
    catalog.snapshot().skills.names().map(str::to_owned).collect()
}

fn owner(catalog: &Catalog, uri: &str) -> Option<String> {
    catalog.snapshot().provider_of(uri).map(|provider| provider.id().to_string())
}

#[tokio::test]
async fn a_skill_takes_its_name_before_a_plugin_and_not_from_one_that_has_it() {
    let root = tempfile::tempdir().expect("a folder");
    put(root.path(), "demo");
    // At the start, in whatever order they come.
    let (mut folder, catalog, _events) = following(root.path(), Guard::permissive());
    catalog.put(plugin("skill://demo/x"));
    folder.load_once().await.expect("a folder");
    assert_eq!(skills(&catalog), ["skill://demo/SKILL.md"]);
    assert!(catalog.offers_skills());
    assert!(catalog.snapshot().resources.get("skill://demo/x").is_none(), "the plugin's is left out");
    assert_eq!(owner(&catalog, "skill://demo/x").as_deref(), Some("skill:demo"));
    // Later, names stay with those that have them.
    let (mut folder, catalog, _events) = following(root.path(), Guard::permissive());
    catalog.put(plugin("skill://demo/x"));
    catalog.set_ready();
    folder.load_once().await.expect("a folder");
    assert_eq!((skills(&catalog), owner(&catalog, "skill://demo/x").as_deref()), (Vec::new(), Some("p")));
    catalog.remove(&[PluginId::parse("p").expect("an id")]);
    assert_eq!(skills(&catalog), ["skill://demo/SKILL.md"]);
}

#[tokio::test]
async fn no_folder_is_no_skill() {
    let root = tempfile::tempdir().expect("a folder");
    let (mut folder, catalog, _events) = following(root.path(), Guard::permissive());
    folder.load_once().await.expect("a folder");
    assert!(catalog.is_ready() && !catalog.offers_skills());
}
