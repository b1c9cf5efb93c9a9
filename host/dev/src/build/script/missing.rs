//! What a bundle cannot have, and what to write instead.

use wharf_report::Failure;

/// Modules of Node, and what to use instead.
const INSTEAD: [(&str, &str); 12] = [
    ("assert", "throw errors yourself"),
    ("buffer", "use Uint8Array, with encode and decode of wharf-plugin for text"),
    ("child_process", "a plugin cannot start programs"),
    ("crypto", "use the global crypto for random values, and a package in plain JavaScript for hashes"),
    ("events", "use EventTarget, or the package of that name: npm install events"),
    ("fs", "use Store for values; a plugin in JavaScript has no files"),
    ("http", "use fetch"),
    ("https", "use fetch"),
    ("path", "use a package: npm install pathe"),
    ("process", "use settings.environment() for the variables of the grant `env`"),
    ("timers", "use setTimeout, which is a global"),
    ("url", "use URL, which is a global"),
];

/// Other modules of Node.
const OTHERS: [&str; 24] = [
    "async_hooks",
    "cluster",
    "console",
    "constants",
    "dgram",
    "diagnostics_channel",
    "dns",
    "domain",
    "http2",
    "inspector",
    "module",
    "net",
    "os",
    "perf_hooks",
    "punycode",
    "querystring",
    "readline",
    "repl",
    "stream",
    "string_decoder",
    "tls",
    "util",
    "vm",
    "zlib",
];

const UNRESOLVED: &str = "Could not resolve \"";
const UNTYPED: &str = "Cannot find module '";
const UNNAMED: &str = "Cannot find name '";
const NODE_TYPES: &str = "type definitions for node";
const NODE_ADVICE: &str = "Do you need to install type definitions for node?";
const NO_DEFAULT: &str = "No matching export in \"";
const TOP_LEVEL: &str = "Top-level await is not available";

/// Why the bundler failed, if that is known.
pub(super) fn unbundled(stderr: &str) -> Option<Failure> {
    let place = |at: usize| {
        let lines = stderr[at..].lines().map(str::trim);
        let is_place = |line: &&str| line.ends_with(':') && line.split(':').count() == 4;
        lines.skip(1).find(is_place).map(|line| format!("{}: ", line.trim_end_matches(':'))).unwrap_or_default()
    };
    if let Some(at) = stderr.find(TOP_LEVEL) {
        let failure = Failure::new(format!("build: {}await is only available in functions", place(at)));
        return Some(failure.hint("await it in a function that is called: module-level code runs during the build, without HTTP and stores".to_owned()));
    }
    if let Some(file) = without_default(stderr) {
        return Some(
            Failure::new(format!("build: {file} has no default export"))
                .hint("export the plugin: export default plugin().tool(…)".to_owned()),
        );
    }
    for (at, _) in stderr.match_indices(UNRESOLVED) {
        let name = stderr[at + UNRESOLVED.len()..].split('"').next().unwrap_or_default();
        if let Some(instead) = instead(name) {
            let what = format!("build: {}{name} is a part of Node, which a component does not contain", place(at));
            return Some(Failure::new(what).hint(instead.to_owned()));
        }
    }
    None
}

/// The plugin's module if only the entry misses its default export.
fn without_default(stderr: &str) -> Option<&str> {
    let (_, rest) = stderr.split_once(NO_DEFAULT)?;
    let (file, rest) = rest.split_once('"')?;
    let is_of_entry = rest.starts_with(" for import \"default\"") && rest.contains("/entry.js:");
    is_of_entry.then_some(file)
}

/// The compiler's errors without its own advice to install types for Node, which does not help.
pub(super) fn without_advice(errors: &str) -> String {
    let lines = errors.lines().map(|line| match line.split_once(NODE_ADVICE) {
        Some((error, _)) => error.trim_end(),
        None => line,
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// What to do about a package that the bundler did not find.
pub(super) fn unresolved(stderr: &str) -> Option<String> {
    let mut names = quoted(stderr, UNRESOLVED, '"');
    names.find(|name| is_package(name)).map(install)
}

/// What to do about a package, or a part of Node, that the compiler did not find.
pub(super) fn untyped(errors: &str) -> Option<String> {
    // Its own advice, to install types for Node, does not help.
    let of_node = errors.lines().filter(|line| line.contains(NODE_TYPES));
    let instead_of = of_node.flat_map(|line| quoted(line, UNNAMED, '\'')).find_map(instead);
    let package = || quoted(errors, UNTYPED, '\'').find(|name| is_package(name));
    instead_of.map(str::to_owned).or_else(|| Some(install(package()?)))
}

/// What stands between each such text and the next quote.
fn quoted<'a>(text: &'a str, before: &'a str, quote: char) -> impl Iterator<Item = &'a str> {
    text.match_indices(before).filter_map(move |(at, _)| text[at + before.len()..].split(quote).next())
}

/// Not a file of the project.
fn is_package(name: &str) -> bool {
    !name.starts_with(['.', '/'])
}

fn install(name: &str) -> String {
    format!("if \"{name}\" is a package, list it in package.json, then run: wharf build --install")
}

fn instead(module: &str) -> Option<&'static str> {
    let (is_node, name) = match module.strip_prefix("node:") {
        Some(name) => (true, name),
        None => (false, module),
    };
    let name = name.split('/').next().unwrap_or_default();
    let known = INSTEAD.iter().find(|(known, _)| *known == name).map(|(_, instead)| *instead);
    known.or_else(|| (is_node || OTHERS.contains(&name)).then_some("use a package that needs only ECMAScript"))
}

#[cfg(test)]
mod tests {
    use super::{unbundled, unresolved, untyped, without_advice};

    #[test]
    fn what_a_component_cannot_have_is_named_with_its_place() {
        let node = "✘ [ERROR] Could not resolve \"node:fs/promises\"\n\n    plugin.ts:2:21:\n      2 │ import\n";
        let error = format!("{:?}", unbundled(node));
        assert!(
            error.contains("plugin.ts:2:21: node:fs/promises is a part of Node") && error.contains("Store"),
            "{error}"
        );
        let error = format!("{:?}", unbundled("✘ [ERROR] Could not resolve \"zlib\"\n"));
        assert!(error.contains("build: zlib is a part of Node") && error.contains("only ECMAScript"), "{error}");
        let awaited = "✘ [ERROR] Top-level await is not available in the configured\n\n    a/b.ts:3:12:\n      3 │ x\n";
        let error = format!("{:?}", unbundled(awaited));
        assert!(error.contains("a/b.ts:3:12: await is only available in functions"), "{error}");
        let other =
            "✘ [ERROR] No matching export in \"plugin.ts\" for import \"default\"\n\n    dist/.build/entry.js:2:7:\n";
        let error = format!("{:?}", unbundled(other));
        assert!(
            error.contains("build: plugin.ts has no default export") && error.contains("export default"),
            "{error}"
        );
        assert!(unbundled(&other.replace("dist/.build/entry.js", "lib.ts")).is_none());
        let package = "✘ [ERROR] Could not resolve \"./a.js\"\n✘ [ERROR] Could not resolve \"lodash\"\n";
        assert!(unbundled(package).is_none());
        let hint = unresolved(package).expect("a hint");
        assert!(hint.contains("\"lodash\"") && hint.ends_with("wharf build --install"), "{hint}");
        assert_eq!(unresolved("✘ [ERROR] Could not resolve \"./a.js\"\n"), None);
        let errors =
            |name: &str| untyped(&format!("a.ts(1,2): error TS2307: Cannot find module '{name}' or its types"));
        assert_eq!(errors("lodash"), Some(hint));
        let of_node =
            "a.ts(1,2): error TS2591: Cannot find name 'node:fs'. Do you need to install type definitions for node?";
        assert!(untyped(of_node).is_some_and(|hint| hint.contains("Store")));
        let advised = format!("{of_node} Try `npm i --save-dev @types/node`.\nb.ts(1,1): error TS1: x");
        let plain = "a.ts(1,2): error TS2591: Cannot find name 'node:fs'.\nb.ts(1,1): error TS1: x";
        assert_eq!(without_advice(&advised), plain);
        assert_eq!(errors("./a.js"), None);
    }
}
