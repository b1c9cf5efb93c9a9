use super::*;
use crate::config::Config;

fn imported(yaml: &str) -> Imported {
    let policy = serde_saphyr::from_str(yaml).expect("YAML");
    let imported = import(&policy, &PluginId::parse("weather").expect("an id"), |_| None).expect("a policy");
    Config::parse(&imported.toml).unwrap_or_else(|error| panic!("{error}:\n{}", imported.toml));
    imported
}

#[test]
fn equivalent_entries_are_converted() {
    let policy = r#"
$schema: "https://example.org/policy.schema.json"
version: "1.0"
description: "all that can be converted"
permissions:
  storage:
    allow:
      - uri: "fs:///srv/notes/**"
        access: ["read", "write"]
      - uri: "fs:///srv/data"
        access: ["read"]
    deny:
      - uri: "fs:///etc/**"
        access: ["read"]
  network:
    allow:
      - host: "api.openweathermap.org"
      - host: "https://rss.example.com/"
    deny:
      - host: "*.example.net"
  environment:
    allow:
      - key: "API_KEY"
  resources:
    limits:
      memory: "200Mi"
"#;
    let imported = imported(policy);
    assert_eq!(imported.warnings, Vec::<String>::new());
    let expected = r#"# From a Wassette policy file.
[secrets]
API_KEY = { env = "API_KEY" }

[plugins.weather.limits]
memory = "200MiB"

[plugins.weather.grants]
fs = [
  { host = "/srv/notes", guest = "/srv/notes", mode = "write" },
  { host = "/srv/data", guest = "/srv/data" },
]
http = [
  { url = "https://api.openweathermap.org", methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"] },
  { url = "https://rss.example.com/", methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"] },
]
env = { API_KEY = "${API_KEY}" }
secrets = ["API_KEY"]
"#;
    assert_eq!(imported.toml, expected);
}

#[test]
fn folders_that_would_not_be_given_are_marked() {
    let policy = "version: \"1.0\"\npermissions:\n  storage:\n    allow:\n      - { uri: \"fs:///tmp/**\", access: [\"read\"] }\n      - { uri: \"fs:///srv\", access: [\"read\"] }\n";
    let policy = serde_saphyr::from_str(policy).expect("YAML");
    let objection = |grant: &FolderGrant| (grant.guest == "/tmp").then(|| "contains\nsomething".to_owned());
    let imported = import(&policy, &PluginId::parse("p").expect("an id"), objection).expect("a policy");
    let expected = "fs = [\n  # not given: the folder /tmp contains\\nsomething\n  { host = \"/tmp\", guest = \"/tmp\" },\n  { host = \"/srv\", guest = \"/srv\" },\n]\n";
    assert!(imported.toml.ends_with(expected), "{}", imported.toml);
    assert_eq!(imported.warnings, ["storage fs:///tmp/**: not given: the folder /tmp contains\nsomething"]);
    Config::parse(&imported.toml).expect("a configuration");
}

#[test]
fn entries_without_an_equivalent_are_warnings_with_the_reason() {
    let policy = r#"
version: "1.0"
permissions:
  storage:
    allow:
      - { uri: "fs://work/agent/**", access: ["read"] }
      - { uri: "fs:///srv/*/data", access: ["read"] }
      - { uri: "fs:///", access: ["read"] }
      - { uri: "fs:///srv/../etc", access: ["read"] }
      - { uri: "fs:///srv/open", access: ["read"] }
      - { uri: "fs:///srv/letterbox", access: ["write"] }
      - { uri: "fs:///srv/nothing", access: [] }
      - { uri: "http://example.com", access: ["read"] }
      - { access: ["read"] }
      - "fs:///srv"
    deny:
      - { uri: "fs:///srv/open/secret/**", access: ["read"] }
  network:
    allow:
      - host: "*.example.com"
      - host: "api.example.net"
      - host: "127.0.0.1"
      - host: "localhost:8080"
      - cidr: "10.0.0.0/8"
    deny:
      - host: "*.example.net"
  environment:
    allow:
      - key: "WITH SPACE"
  runtime: { docker: { security: { privileged: false } } }
  resources: { cpu: 50.0, memory: 1024 }
  ipc: { allow: [] }
  other: true
extra: 1
"#;
    let imported = imported(policy);
    assert_eq!(imported.toml, "# From a Wassette policy file.\n[plugins.weather.grants]\n");
    let warnings = [
        "left out storage.allow \"fs:///srv\": it is not a mapping",
        "left out storage fs://work/agent/**: it is in Wassette's own folder; grant the intended folder instead",
        "left out storage fs:///srv/*/data: a grant covers a whole folder tree, without other patterns",
        "left out storage fs:///: the whole file system is never granted",
        "left out storage fs:///srv/../etc: its path has empty, `.` or `..` segments",
        "left out storage fs:///srv/open: grants have no exceptions, and fs:///srv/open/secret/** is denied",
        "left out storage fs:///srv/letterbox: it allows write without read, and a writable grant can also be read",
        "left out storage fs:///srv/nothing: it allows neither read nor write",
        "left out storage http://example.com: its scheme is not fs://",
        "left out storage {\"access\":[\"read\"]}: it has no uri",
        "left out network *.example.com: a grant covers one host, without patterns",
        "left out network api.example.net: grants have no exceptions, and *.example.net is denied",
        "left out network 127.0.0.1: an address is granted with its port, and with `private = true` if it is not public",
        "left out network localhost:8080: an address is granted with its port, and with `private = true` if it is not public",
        "left out network {\"cidr\":\"10.0.0.0/8\"}: a grant needs a host name",
        "left out environment WITH SPACE: not a valid secret name",
        "left out runtime: it does not apply to this sandbox",
        "left out resources.cpu: there is no such limit",
        "left out memory 1024: its unit is not Ki, Mi or Gi",
        "left out ipc: plugins have no pipes or sockets",
        "left out other: it is unknown",
        "left out extra: it is unknown",
    ];
    assert_eq!(imported.warnings, warnings);
}

#[test]
fn memory_over_the_maximum_is_reduced() {
    for size in ["512Mi", "99999999999999999999Gi"] {
        let imported = imported(&format!("version: \"1.0\"\npermissions:\n  resources: {{ memory: {size:?} }}\n"));
        assert!(imported.toml.contains("memory = \"256MiB\""), "{}", imported.toml);
        assert!(imported.warnings[0].contains("at most 256 MiB"), "{:?}", imported.warnings);
    }
}

#[test]
fn a_policy_without_permissions_has_no_grants() {
    for policy in ["version: \"1.0\"\npermissions:\n", "version: 1.0\npermissions: {}\n", "version: \"1.0\"\n"] {
        assert_eq!(imported(policy).warnings, Vec::<String>::new(), "{policy}");
    }
}

#[test]
fn other_documents_are_refused() {
    for text in
        ["[]", "text", "permissions: {}", "version: \"2.0\"\npermissions: {}", "version: \"1.0\"\npermissions: 1"]
    {
        let policy = serde_saphyr::from_str(text).expect("YAML");
        import(&policy, &PluginId::parse("p").expect("an id"), |_| None).expect_err(text);
    }
}
