//! The duration of one call of the guest `echo` inside the process, and of its parts.
//!
//! `WHARF_COMPONENTS` names the folder of `echo.wasm`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use criterion::{Criterion, criterion_group, criterion_main};
use tokio::runtime::Runtime;
use tokio::sync::mpsc;
use wharf::catalog::{Catalog, Member, Naming};
use wharf::identity::Identity;
use wharf::plugin::{Call, Grants, Limits, PluginId, Provider, Sandbox, SandboxSettings};
use wharf::server::{Outgoing, Server, Settings};

const ARGUMENTS: &str = r#"{"message":"hello"}"#;
const REQUEST: &str =
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"message":"hello"}}}"#;
const HELLO: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"0"}}}"#;

fn component() -> Vec<u8> {
    let folder = std::env::var_os("WHARF_COMPONENTS")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/guests/components"), PathBuf::from);
    let file = folder.join("echo.wasm");
    std::fs::read(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

fn calls(criterion: &mut Criterion) {
    let runtime = Runtime::new().expect("a runtime");
    let sandbox = Sandbox::new(SandboxSettings::default()).expect("a sandbox");
    let id = PluginId::parse("echo").expect("an id");
    let loading = sandbox.load(id, component(), Limits::default(), Grants::default());
    let plugin = Arc::new(runtime.block_on(loading).expect("a plugin"));

    let arguments: Arc<str> = ARGUMENTS.into();
    criterion.bench_function("plugin: a fresh instance and a call", |bencher| {
        bencher.iter(|| {
            let called = plugin.call_tool("echo", arguments.clone(), Call::new("1"));
            runtime.block_on(called).expect("an answer")
        });
    });

    let catalog = Arc::new(Catalog::default());
    catalog.set_files_known();
    catalog.set_ready();
    catalog.put(Member { provider: plugin, naming: Naming::Prefixed, pinned_surface: None });
    let (outbox, mut messages) = mpsc::channel::<Outgoing>(1);
    let connection = Server::new(catalog, Settings::default()).connect(outbox, &Arc::new(Identity::local()));
    runtime.block_on(connection.receive(HELLO.as_bytes()));
    runtime.block_on(messages.recv()).expect("the handshake's answer");
    criterion.bench_function("server: a request to its answer", |bencher| {
        bencher.iter(|| {
            let answered = runtime.block_on(connection.begin(REQUEST.as_bytes(), false));
            answered.map_or_else(|| runtime.block_on(messages.recv()).expect("an answer"), |answered| answered.message)
        });
    });
}

criterion_group!(benches, calls);
criterion_main!(benches);
