use std::fs;
use std::path::Path;

use super::super::tests::{following, loaded, put, refusals};
use crate::catalog::files::MAX_PLUGINS;
use crate::catalog::{Catalog, Choice};
use crate::pins::{Guard, PinFile, Rules, Trust};
use crate::plugin::{Digest, PluginId, Signatures, content_of};

fn put_garbage(root: &Path, count: usize) {
    for number in 0..count {
        fs::write(root.join(format!("a{number:04}.wasm")), b"<html>").expect("a file");
    }
}

fn put_plugins(root: &Path, count: usize) {
    for number in 0..count {
        put(root, &format!("a{number:04}"));
    }
}

/// A guard for which this content of the plugin is pinned.
fn pinning(plugin: &'static str, content: Digest) -> Guard {
    let rules = move |id: &PluginId| Rules {
        trust: Trust::Dev,
        configured_pin: (id.as_ref() == plugin).then_some(content),
        ..Rules::default()
    };
    Guard::new(None, rules, Signatures::default)
}

fn served(catalog: &Catalog, plugin: &str) -> Option<Digest> {
    let snapshot = catalog.snapshot();
    let member = snapshot.members().iter().find(|member| member.provider.id().as_ref() == plugin);
    member.map(|member| *member.provider.digest())
}

#[tokio::test]
async fn files_that_are_refused_give_their_places_back() {
    let root = tempfile::tempdir().expect("a folder");
    put_garbage(root.path(), 2 * MAX_PLUGINS);
    put(root.path(), "z");
    let (mut folder, catalog, mut events) = following(root.path(), Guard::permissive());
    folder.load_once().await.expect("a folder");
    assert!(served(&catalog, "z").is_some());
    let refused = refusals(&mut events);
    // And one line for the rest.
    assert!(refused.len() <= MAX_PLUGINS + 20, "{}", refused.len());
    assert!(folder.over_limit.is_empty());
}

/// Held, since their content is not the configured pin.
#[tokio::test]
async fn versions_that_are_held_give_their_places_back() {
    let root = tempfile::tempdir().expect("a folder");
    put_plugins(root.path(), MAX_PLUGINS);
    put(root.path(), "z");
    let rules = |id: &PluginId| Rules {
        trust: Trust::Dev,
        configured_pin: (id.as_ref() != "z").then(|| Digest::of(b"another")),
        ..Rules::default()
    };
    let (mut folder, catalog, _events) = following(root.path(), Guard::new(None, rules, Signatures::default));
    folder.load_once().await.expect("a folder");
    assert!(served(&catalog, "z").is_some());
    assert_eq!(catalog.snapshot().members().len(), 1);
}

#[tokio::test]
async fn no_more_plugins_are_served_if_refused_files_become_plugins() {
    let root = tempfile::tempdir().expect("a folder");
    put_garbage(root.path(), MAX_PLUGINS + 50);
    let (mut folder, catalog, _events) = following(root.path(), Guard::permissive());
    folder.load_once().await.expect("a folder");
    assert!(catalog.snapshot().members().is_empty());
    put_plugins(root.path(), MAX_PLUGINS + 50);
    folder.load_once().await.expect("a folder");
    assert_eq!(catalog.snapshot().members().len(), MAX_PLUGINS);
    assert_eq!(folder.over_limit.len(), 50);
}

#[tokio::test]
async fn a_plugin_with_a_pin_has_precedence_if_there_are_too_many() {
    let root = tempfile::tempdir().expect("a folder");
    put_plugins(root.path(), MAX_PLUGINS);
    put(root.path(), "z");
    let content = content_of(&root.path().join("z.wasm")).expect("a file");
    let (mut folder, catalog, _events) = following(root.path(), pinning("z", content));
    folder.load_once().await.expect("a folder");
    assert_eq!(served(&catalog, "z"), Some(content));
    assert_eq!(catalog.snapshot().members().len(), MAX_PLUGINS);

    // One that arrives while others wait takes the place of one of these, and none of a plugin in service.
    let late = tempfile::tempdir().expect("a folder");
    put_plugins(late.path(), MAX_PLUGINS);
    let (mut folder, catalog, _events) = following(late.path(), pinning("z", content));
    folder.apply_scan(crate::catalog::files::scan(late.path()).expect("a folder"));
    put(late.path(), "z");
    folder.sync_path(late.path().join("z.wasm"));
    loaded(&mut folder).await;
    assert_eq!(served(&catalog, "z"), Some(content));
    assert_eq!(catalog.snapshot().members().len(), MAX_PLUGINS);
}

/// However many others have its name, also for commands.
#[tokio::test]
async fn the_file_that_is_pinned_is_found_where_it_was() {
    let (root, state) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    let guard = || {
        let lock = PinFile::new(state.path().to_owned()).for_plugins(root.path());
        Guard::new(Some(lock), |_| Rules::default(), Signatures::default)
    };
    fs::create_dir(root.path().join("z")).expect("a folder");
    put(&root.path().join("z"), "My_Tool");
    let pinned = root.path().join("z/My_Tool.wasm");
    let content = content_of(&pinned).expect("a file");
    let (mut folder, catalog, _events) = following(root.path(), guard());
    folder.load_once().await.expect("a folder");
    assert_eq!(served(&catalog, "my-tool"), Some(content));

    // Each with a custom section more.
    let more = [fs::read(&pinned).expect("a file"), vec![0, 2, 1, b'x']].concat();
    for number in 0..100 {
        let sub = root.path().join(format!("a{number}"));
        fs::create_dir(&sub).expect("a folder");
        fs::write(sub.join("my-tool.wasm"), &more).expect("a file");
    }
    let choice = Choice::of(root.path(), &guard(), |_| false).expect("a folder");
    assert_eq!(choice.get(&PluginId::parse("my-tool").expect("an id")), Some(pinned.as_path()));
    let (mut folder, catalog, _events) = following(root.path(), guard());
    folder.load_once().await.expect("a folder");
    assert_eq!(served(&catalog, "my-tool"), Some(content));
}

/// A new file whose name is exactly that of the plugin.
#[tokio::test]
async fn the_file_that_is_pinned_has_the_name() {
    let root = tempfile::tempdir().expect("a folder");
    put(root.path(), "my_tool");
    let pinned = root.path().join("my_tool.wasm");
    let content = content_of(&pinned).expect("a file");
    let other = root.path().join("my-tool.wasm");
    // A custom section more.
    let more = [fs::read(&pinned).expect("a file"), vec![0, 2, 1, b'x']].concat();
    fs::write(&other, &more).expect("a file");
    let (mut folder, catalog, mut events) = following(root.path(), pinning("my-tool", content));
    folder.load_once().await.expect("a folder");
    assert_eq!(served(&catalog, "my-tool"), Some(content));
    folder.emit_unserved();
    let refused = refusals(&mut events);
    assert!(refused.len() == 1 && refused[0].contains("my_tool.wasm"), "{refused:?}");

    // Without a pin, the one that is called exactly so.
    let (mut folder, catalog, _events) = following(root.path(), Guard::permissive());
    folder.load_once().await.expect("a folder");
    assert_eq!(served(&catalog, "my-tool"), Some(Digest::of(&more)));
}
