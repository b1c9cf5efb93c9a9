//! What each key of the file takes, for errors; and what people write in place of what is meant.

use wharf_report::{Format, Key};

/// `tests/format.rs` fails if a key is missing here, or if an example is not valid.
pub(super) const FORMAT: Format = Format {
    keys: KEYS,
    other_names: OTHER_NAMES,
    other_values: &[
        ("plugins.*.grants.fs[].mode", "write", &["rw", "readwrite", "read-write", "r/w", "w", "rwx", "writable"]),
        ("plugins.*.grants.fs[].mode", "read", &["r", "ro", "readonly", "read-only"]),
        ("server.trust", "dev", &["development", "none", "off", "all"]),
        ("server.trust", "default", &["normal", "on"]),
        ("server.schemas", "verbatim", &["raw", "original", "unchanged"]),
    ],
    advice: &[
        ("secrets.*", &["value", "secret", "token", "key"], NOT_HERE),
        ("server.http.tokens[]", &["value", "secret", "token", "key"], NOT_HERE),
        ("server.state-key", &["value", "secret", "token", "key"], NOT_HERE),
        ("plugins.*.grants.fs[]", &["readonly", "read-only"], "a folder is read-only unless mode = \"write\""),
        ("plugins.*.grants.fs[]", &["write", "writable", "rw"], "write mode = \"write\""),
    ],
    unshown: &["secrets", "server.state-key", "server.http.tokens", "plugins.*.grants.env", "plugins.*.grants.config"],
};

const NOT_HERE: &str =
    "the secret itself is never in this file: name its source, env = \"VARIABLE\" or file = \"PATH\"";

const OTHER_NAMES: &[(&str, &[&str])] = &[
    ("plugins", &["plugin"]),
    ("server.http.address", &["listen", "bind", "addr", "host", "port"]),
    ("server.http.tokens", &["token", "auth", "bearer"]),
    ("server.http.tls", &["ssl", "https", "cert", "certificate"]),
    ("server.http.tls.cert", &["certificate", "crt"]),
    ("server.http.tls.key", &["private-key"]),
    ("server.http.allowed-origins", &["cors", "origins"]),
    ("server.http.allowed-hosts", &["hosts"]),
    ("limits.timeout", &["time", "deadline"]),
    ("limits.memory", &["mem", "ram"]),
    ("sandbox.os-sandbox", &["landlock", "seccomp"]),
    ("audit.path", &["file"]),
    ("plugins.*.grants", &["grant", "permissions", "permission", "allow"]),
    ("plugins.*.grants.keyvalue", &["kv", "key-value", "key_value", "store", "storage"]),
    ("plugins.*.grants.http", &["https", "net", "network", "url", "urls", "hosts"]),
    ("plugins.*.grants.fs", &["filesystem", "files", "folders", "folder", "dirs", "read", "write"]),
    ("plugins.*.grants.env", &["environment", "vars", "variables"]),
    ("plugins.*.grants.secrets", &["secret"]),
    ("plugins.*.grants.sample", &["sampling"]),
    ("plugins.*.grants.elicit", &["elicitation", "ask"]),
    ("plugins.*.grants.fs[].host", &["path", "source", "src", "from"]),
    ("plugins.*.grants.fs[].guest", &["target", "to", "mount"]),
    ("plugins.*.grants.fs[].mode", &["access"]),
    ("plugins.*.grants.fs[].quota", &["size", "limit", "max"]),
    ("plugins.*.grants.keyvalue.quota", &["size", "limit", "max"]),
    ("plugins.*.grants.http[].url", &["host", "address"]),
    ("plugins.*.grants.http[].methods", &["verbs"]),
];

const fn key(path: &'static str, takes: &'static str, example: &'static str) -> Key {
    Key { path, takes, example }
}

const TABLE: &str = "a table";
const TEXT: &str = "a string";
const SWITCH: &str = "true or false";
const COUNT: &str = "a whole number";
const SIZE: &str = "a size with its unit in quotes, or a number of bytes";
const TIME: &str = "a duration in quotes";
const PATH: &str = "a path in quotes";
const SOURCE: &str = "a table with the source of the secret";
const ENV: &str = "{ env = \"VARIABLE\" }";

const KEYS: &[Key] = &[
    key("server", TABLE, "{ name = \"wharf\" }"),
    key("server.name", TEXT, "\"wharf\""),
    key("server.instructions", TEXT, "\"Use text_diff rather than comparing texts yourself.\""),
    key("server.page-size", COUNT, "1000"),
    key("server.first-list", TIME, "\"3s\""),
    key("server.discovery", SWITCH, "true"),
    key("server.schemas", "\"compatible\" or \"verbatim\"", "\"verbatim\""),
    key("server.state-key", SOURCE, ENV),
    key("server.state-key.env", "the name of an environment variable", "\"WHARF_STATE_KEY\""),
    key("server.state-key.file", PATH, "\"state-key\""),
    key("server.trust", "\"dev\", \"default\" or \"strict\"", "\"strict\""),
    key("server.http", TABLE, "{ address = \"127.0.0.1:8080\" }"),
    key("server.http.address", "an address in quotes", "\"127.0.0.1:8080\""),
    key("server.http.allowed-hosts", "an array of strings", "[\"tools.example:8443\"]"),
    key("server.http.allowed-hosts[]", TEXT, "\"tools.example:8443\""),
    key("server.http.allowed-origins", "an array of strings", "[\"https://app.example\"]"),
    key("server.http.allowed-origins[]", TEXT, "\"https://app.example\""),
    key("server.http.tokens", "an array of tables", "[{ name = \"ci\", env = \"WHARF_TOKEN\" }]"),
    key("server.http.tokens[]", "a table with a name and a source", "{ name = \"ci\", env = \"WHARF_TOKEN\" }"),
    key("server.http.tokens[].name", TEXT, "\"ci\""),
    key("server.http.tokens[].env", "the name of an environment variable", "\"WHARF_TOKEN\""),
    key("server.http.tokens[].file", PATH, "\"token\""),
    key("server.http.tls", TABLE, "{ cert = \"cert.pem\", key = \"key.pem\" }"),
    key("server.http.tls.cert", PATH, "\"cert.pem\""),
    key("server.http.tls.key", PATH, "\"key.pem\""),
    key("server.http.sse", SWITCH, "true"),
    key("server.http.poll-after", TIME, "\"5s\""),
    key("server.http.header-timeout", TIME, "\"10s\""),
    key("server.http.body-timeout", TIME, "\"30s\""),
    key("server.http.write-timeout", TIME, "\"30s\""),
    key("server.http.connections", COUNT, "512"),
    key("server.http.connections-per-address", COUNT, "64"),
    key("limits", TABLE, "{ timeout = \"30s\" }"),
    key("limits.timeout", TIME, "\"30s\""),
    key("limits.cpu", TIME, "\"10s\""),
    key("limits.memory", SIZE, "\"64 MiB\""),
    key("limits.output", SIZE, "\"4 MiB\""),
    key("limits.concurrency", COUNT, "4"),
    key("limits.queue", COUNT, "256"),
    key("limits.log", SIZE, "\"64 KiB\""),
    key("signatures", TABLE, "{ required = false }"),
    key("signatures.keys", "an array of public keys of minisign", "[]"),
    key("signatures.keys[]", "a public key of minisign", "\"RW…\""),
    key("signatures.required", SWITCH, "false"),
    key("audit", TABLE, "{ enabled = true }"),
    key("audit.enabled", SWITCH, "true"),
    key("audit.path", PATH, "\"audit.jsonl\""),
    key("audit.bodies", SWITCH, "true"),
    key("audit.rotate-size", SIZE, "\"64 MiB\""),
    key("audit.rotate-files", COUNT, "8"),
    key("sandbox", TABLE, "{ os-sandbox = true }"),
    key("sandbox.os-sandbox", SWITCH, "true"),
    key("sandbox.second-wall", SWITCH, "true"),
    key("plugins", "a table with one table for each plugin", "{ weather = { prefix = false } }"),
    key("plugins.*", TABLE, "{ prefix = false }"),
    key("plugins.*.prefix", SWITCH, "false"),
    key("plugins.*.names", "\"wassette\"", "\"wassette\""),
    key("plugins.*.pin", "a hash in quotes, as wharf status shows it", PIN),
    key("plugins.*.limits", TABLE, "{ timeout = \"5s\" }"),
    key("plugins.*.limits.timeout", TIME, "\"30s\""),
    key("plugins.*.limits.cpu", TIME, "\"10s\""),
    key("plugins.*.limits.memory", SIZE, "\"64 MiB\""),
    key("plugins.*.limits.output", SIZE, "\"4 MiB\""),
    key("plugins.*.limits.concurrency", COUNT, "4"),
    key("plugins.*.limits.queue", COUNT, "256"),
    key("plugins.*.limits.log", SIZE, "\"64 KiB\""),
    key("plugins.*.grants", TABLE, "{ keyvalue = true }"),
    key("plugins.*.grants.keyvalue", "true, false or a table with a quota", "{ quota = \"4 MiB\" }"),
    key("plugins.*.grants.keyvalue.quota", SIZE, "\"4 MiB\""),
    key("plugins.*.grants.http", "an array of URLs", "[\"https://api.example.com\"]"),
    key("plugins.*.grants.http[]", "a URL in quotes, or a table with one", "\"https://api.example.com\""),
    key("plugins.*.grants.http[].url", "a URL in quotes", "\"https://api.example.com\""),
    key("plugins.*.grants.http[].methods", "an array of methods", "[\"GET\", \"POST\"]"),
    key("plugins.*.grants.http[].methods[]", "a method in quotes", "\"POST\""),
    key("plugins.*.grants.http[].private", SWITCH, "true"),
    key("plugins.*.grants.http[].headers", "a table of strings", "{ Accept = \"application/json\" }"),
    key("plugins.*.grants.http[].headers.*", TEXT, "\"application/json\""),
    key("plugins.*.grants.secrets", "an array of names of [secrets]", "[]"),
    key("plugins.*.grants.secrets[]", "a name of [secrets]", "\"weather\""),
    key("plugins.*.grants.elicit", SWITCH, "true"),
    key("plugins.*.grants.sample", SWITCH, "true"),
    key("plugins.*.grants.roots", SWITCH, "true"),
    key("plugins.*.grants.fs", "an array of tables", "[{ host = \"./data\", guest = \"/data\" }]"),
    key("plugins.*.grants.fs[]", "a table with host and guest", "{ host = \"./data\", guest = \"/data\" }"),
    key("plugins.*.grants.fs[].host", "the path of a folder in quotes", "\"./data\""),
    key("plugins.*.grants.fs[].guest", "the path in the plugin in quotes", "\"/data\""),
    key("plugins.*.grants.fs[].mode", "\"read\" or \"write\"", "\"write\""),
    key("plugins.*.grants.fs[].quota", SIZE, "\"64 MiB\""),
    key("plugins.*.grants.env", "a table of strings", "{ LANG = \"C\" }"),
    key("plugins.*.grants.env.*", TEXT, "\"C\""),
    key("plugins.*.grants.config", "a table of strings", "{ unit = \"metric\" }"),
    key("plugins.*.grants.config.*", TEXT, "\"metric\""),
    key("plugins.*.grants.change-lists", SWITCH, "true"),
    key("secrets", "a table with one table for each secret", "{ weather = { env = \"WEATHER_TOKEN\" } }"),
    key("secrets.*", SOURCE, ENV),
    key("secrets.*.env", "the name of an environment variable", "\"WEATHER_TOKEN\""),
    key("secrets.*.file", PATH, "\"weather-token\""),
];

const PIN: &str = "\"blake3:0000000000000000000000000000000000000000000000000000000000000000\"";
