//! What a plugin that nobody calls takes: of its code nothing, of what copies share no second.

#[cfg(target_os = "linux")]
use std::path::Path;

use super::*;
use crate::plugin::abi::ToolOutcome;

async fn load(sandbox: &Arc<Sandbox>, component: &[u8]) -> Plugin {
    sandbox.load(id(), component.to_vec(), Limits::default(), Grants::default()).await.expect("a plugin")
}

async fn call(plugin: &Plugin) {
    let outcome = plugin.call_tool("t", "{}", Call::new("test")).await;
    assert!(matches!(outcome, Ok(ToolOutcome::Complete(_))), "{outcome:?}");
}

fn guest() -> Vec<u8> {
    let mut guest = Guest::new("(i32.const 1024)");
    guest.fields = String::new();
    guest.build()
}

/// KiB of code of the cache in that folder that this process has in memory.
#[cfg(target_os = "linux")]
fn resident(cache: &Path) -> u64 {
    let maps = std::fs::read_to_string("/proc/self/smaps").expect("mappings");
    let (mut of_code, mut resident) = (false, 0);
    for line in maps.lines() {
        let mut words = line.split_ascii_whitespace();
        match (words.next(), words.next()) {
            (Some("Rss:"), Some(size)) if of_code => resident += size.parse::<u64>().expect("a size"),
            // What can be written to is some instance's memory.
            (Some(field), Some(access)) if !field.ends_with(':') => {
                of_code = !access.contains('w') && line.contains(&*cache.to_string_lossy());
            }
            _ => {}
        }
    }
    resident
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn code_is_in_memory_when_it_runs() {
    let dir = tempfile::tempdir().expect("a folder");
    let cache = dir.path().join("cache");
    let settings = || SandboxSettings { cache_dir: Some(cache.clone()), ..SandboxSettings::default() };
    // The second one finds in the cache what the first one compiled.
    for _ in 0..2 {
        let sandbox = Sandbox::new(settings()).expect("a sandbox");
        let plugin = load(&sandbox, &guest()).await;
        assert_eq!(resident(&cache), 0);
        call(&plugin).await;
        assert!(resident(&cache) > 0);
        let copy = load(&sandbox, &guest()).await;
        assert_eq!(resident(&cache), 0);
        call(&plugin).await;
        call(&copy).await;
    }
}

#[tokio::test]
async fn code_without_a_cache_stays() {
    let sandbox = Sandbox::new(SandboxSettings::default()).expect("a sandbox");
    let plugin = load(&sandbox, &guest()).await;
    plugin.program.linked.rest();
    call(&plugin).await;
}

#[tokio::test]
async fn copies_are_linked_once_while_one_is_there() {
    let sandbox = Sandbox::new(SandboxSettings::default()).expect("a sandbox");
    let component = guest();
    let (one, other) = tokio::join!(load(&sandbox, &component), load(&sandbox, &component));
    assert!(Arc::ptr_eq(&one.program.linked, &other.program.linked));
    let mut different = component.clone();
    // A custom section without a name and content.
    different.extend([0, 1, 0]);
    let different = load(&sandbox, &different).await;
    assert!(!Arc::ptr_eq(&one.program.linked, &different.program.linked));
    let linked = Arc::downgrade(&one.program.linked);
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
