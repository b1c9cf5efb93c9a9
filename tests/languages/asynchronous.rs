//! Plain components with async functions and streams, as the toolchains of these languages make them on their own.

use std::fs;
use std::path::Path;

use serde_json::json;

use crate::project::shell;
use crate::support::client::Client;
use crate::support::home::{Home, repository};

const WORLD: &str = "package test:slow;

world slow {
  export shout: async func(text: string) -> string;
  export count: async func(to: u32) -> stream<u32>;
}
";

const PYTHON: &str = "import componentize_py_async_support
import wit_world


class WitWorld(wit_world.WitWorld):
    async def shout(self, text: str) -> str:
        return text.upper()

    async def count(self, to: int):
        writer, reader = wit_world.u32_stream()

        async def write() -> None:
            with writer:
                await writer.write_all(list(range(1, to + 1)))

        componentize_py_async_support.spawn(write())
        return reader
";

const JAVASCRIPT: &str = "export async function shout(text) {
  await Promise.resolve();
  return text.toUpperCase();
}

export async function count(to) {
  return (async function* () {
    for (let number = 1; number <= to; number++) yield number;
  })();
}
";

pub(crate) fn python() {
    let home = home("app.py", PYTHON);
    let build =
        "componentize-py -d wit -w slow bindings . && componentize-py -d wit -w slow componentize app -o slow.wasm";
    shell("python", &home, &home.path("home"), build);
    serves(&home);
}

/// With the package that a new project has.
pub(crate) fn javascript() {
    let home = home("app.js", JAVASCRIPT);
    let package = fs::read_to_string(repository().join("plugin-sdk/templates/javascript/package.json"));
    fs::write(home.path("home/package.json"), package.expect("a file")).expect("a file");
    let build =
        "npm install --no-audit --no-fund && npx componentize-qjs --wit wit --js app.js --world slow -o slow.wasm";
    shell("javascript", &home, &home.path("home"), build);
    serves(&home);
}

fn home(name: &str, source: &str) -> Home {
    let home = Home::new();
    let dir = home.path("home");
    fs::create_dir_all(dir.join("wit")).expect("a folder");
    fs::write(dir.join("wit/world.wit"), WORLD).expect("a file");
    fs::write(dir.join(name), source).expect("a file");
    home
}

fn serves(home: &Home) {
    let component: &Path = &home.path("home/slow.wasm");
    home.put_file(component, "slow");
    let mut client = Client::start_modern(home);
    // Compiling an interpreter takes longer than a list waits on a busy machine.
    let tools = client.tools_until(|tools| !tools.is_empty());
    assert_eq!(tools, ["slow_shout", "slow_count"]);
    assert_eq!(client.text("slow_shout", json!({"text": "loud"})), "LOUD");
    assert_eq!(client.call("slow_count", json!({"to": 3}))["structuredContent"], json!([1, 2, 3]));
}
