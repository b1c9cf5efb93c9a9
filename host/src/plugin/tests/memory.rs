//! The memory of an idle plugin: no code pages, and shared code only once for copies.

use super::*;
use crate::plugin::abi::ToolOutcome;

async fn load(sandbox: &Arc<Sandbox>, component: &[u8]) -> Plugin {
    sandbox.load(id(), component.to_vec(), Limits::default(), Grants::default()).await.expect("a plugin")
}

async fn call(plugin: &Plugin) {
    let outcome = plugin.call_tool("t", "{}".into(), Call::new("test")).await;
    assert!(matches!(outcome, Ok(ToolOutcome::Complete(_))), "{outcome:?}");
}

fn guest() -> Vec<u8> {
    Guest::new("(i32.const 1024)").build()
}

/// KiB of that component's code that this process has mapped.
#[cfg(target_os = "linux")]
fn resident(component: &[u8]) -> u64 {
    let name = format!("memfd:wharf:{}", Digest::of(component));
    let maps = std::fs::read_to_string("/proc/self/smaps").expect("mappings");
    let (mut of_code, mut resident) = (false, 0);
    for line in maps.lines() {
        let mut words = line.split_ascii_whitespace();
        match (words.next(), words.next()) {
            (Some("Rss:"), Some(size)) if of_code => resident += size.parse::<u64>().expect("a size"),
            // A writable mapping is an instance's memory.
            (Some(field), Some(access)) if !field.ends_with(':') => {
                of_code = !access.contains('w') && line.contains(&name);
            }
            _ => {}
        }
    }
    resident
}

/// A unique component, so that no other test of this process maps the same code.
#[cfg(target_os = "linux")]
fn unique_guest(number: u32) -> Vec<u8> {
    Guest::new(&format!("(drop (i32.const {number})) (i32.const 1024)")).build()
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn code_is_mapped_when_it_runs() {
    let dir = tempfile::tempdir().expect("a folder");
    let component = unique_guest(1);
    // Without a cache; with an empty one; with the entry that the second run made.
    for cache_dir in [None, Some(dir.path().join("cache")), Some(dir.path().join("cache"))] {
        let sandbox = Sandbox::new(SandboxSettings { cache_dir, ..SandboxSettings::default() }).expect("a sandbox");
        let plugin = load(&sandbox, &component).await;
        assert_eq!(resident(&component), 0);
        call(&plugin).await;
        assert!(resident(&component) > 0);
        let copy = load(&sandbox, &component).await;
        assert_eq!(resident(&component), 0);
        call(&plugin).await;
        call(&copy).await;
    }
}

/// Loading a copy unmaps the code that other threads run.
#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn code_runs_while_it_is_unmapped() {
    let sandbox = Sandbox::new(SandboxSettings::default()).expect("a sandbox");
    let component = unique_guest(3);
    let plugin = load(&sandbox, &component).await;
    let (last, mut stopped) = tokio::sync::watch::channel(false);
    let calls = tokio::spawn(async move {
        let mut count = 0;
        while !*stopped.borrow_and_update() {
            call(&plugin).await;
            count += 1;
        }
        count
    });
    for _ in 0..100 {
        load(&sandbox, &component).await;
    }
    last.send(true).expect("calls are made until then");
    assert!(calls.await.expect("each call succeeds") > 0);
}

/// The mapped code is what was authenticated: later changes of the cache's file have no effect, even
/// on pages that were not accessed before.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn code_does_not_change_with_its_cache_file() {
    let dir = tempfile::tempdir().expect("a folder");
    let cache = dir.path().join("cache");
    let settings = || SandboxSettings { cache_dir: Some(cache.clone()), ..SandboxSettings::default() };
    let component = unique_guest(2);
    let compiled = load(&Sandbox::new(settings()).expect("a sandbox"), &component).await;
    let entries = || std::fs::read_dir(&cache).expect("a folder").map(|entry| entry.expect("an entry").path());
    let entry = entries().find(|path| path.extension().is_some_and(|end| end == "cwasm")).expect("an entry");
    let length = std::fs::metadata(&entry).expect("an entry").len() as usize;
    for change in [Some(vec![0xcc; length]), Some(Vec::new()), None] {
        let good = std::fs::read(&entry).expect("an entry");
        let plugin = load(&Sandbox::new(settings()).expect("a sandbox"), &component).await;
        match change {
            // Overwritten in place, or truncated.
            Some(bytes) => std::fs::write(&entry, bytes).expect("written"),
            None => std::fs::remove_file(&entry).expect("removed"),
        }
        call(&plugin).await;
        call(&compiled).await;
        std::fs::write(&entry, good).expect("written");
    }
}

#[tokio::test]
async fn copies_are_linked_once() {
    let sandbox = Sandbox::new(SandboxSettings::default()).expect("a sandbox");
    let component = guest();
    let (one, other) = tokio::join!(load(&sandbox, &component), load(&sandbox, &component));
    assert!(Arc::ptr_eq(&one.linked, &other.linked));
    let mut different = component.clone();
    // A custom section without a name and content.
    different.extend([0, 1, 0]);
    let different = load(&sandbox, &different).await;
    assert!(!Arc::ptr_eq(&one.linked, &different.linked));
    let linked = Arc::downgrade(&one.linked);
    drop(one);
    call(&other).await;
    drop(other);
    assert!(linked.upgrade().is_none());
    call(&load(&sandbox, &component).await).await;
}

#[tokio::test]
async fn copies_have_limits_of_their_own() {
    let sandbox = Sandbox::new(SandboxSettings::default()).expect("a sandbox");
    let component = guest();
    let _first = load(&sandbox, &component).await;
    let limits = Limits { memory: 1 << 10, ..Limits::default() };
    let refused = refusal(sandbox.load(id(), component, limits, Grants::default()).await);
    assert!(matches!(refused, LoadError::DeclaredMemory { .. }), "{refused}");
}
