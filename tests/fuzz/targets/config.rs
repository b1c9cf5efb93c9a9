//! A configuration is parsed and round-trips, or is refused with a reason.

use wharf::config::Config;

use super::{Target, bytes};

pub(super) fn target() -> Target {
    let defaults = Config::defaults();
    let examples: String = defaults.lines().filter_map(|line| line.strip_prefix("# ")).collect::<Vec<_>>().join("\n");
    let mut seeds = bytes(&[
        "[server]\nname = \"x\"\npage-size = 5\nstate-key = { env = \"KEY\" }\n",
        "[limits]\ntimeout = \"1m 30s\"\nmemory = \"32 MiB\"\noutput = 1500\nconcurrency = 2\n",
        "[plugins.a]\nprefix = false\n[plugins.a.limits]\ncpu = \"250ms\"\n[plugins.a.grants]\nkeyvalue = { quota = \"4MiB\" }\nelicit = true\n",
        "[server.http]\naddress = \"127.0.0.1:8080\"\nallowed-hosts = [\"a:1\"]\ntokens = [{ name = \"a\", env = \"B\" }]\n",
    ]);
    seeds.push(defaults.into_bytes());
    seeds.push(examples.into_bytes());
    let words = vec![
        "\"",
        "'",
        "=",
        "[",
        "]",
        "{",
        "}",
        "\n",
        ".",
        "#",
        "\"\"\"",
        "\\u0000",
        "true",
        "false",
        "-1",
        "0",
        "1e9",
        "\u{e9}",
        "18446744073709551615",
        "\"9999999999999999999s\"",
        "\"64 MiB\"",
        "\"1YiB\"",
        "\"-1s\"",
        "timeout",
        "memory",
        "name",
        "plugins",
        "inf",
        "nan",
        "1979-05-27",
    ];
    Target { name: "config", seeds, words, run }
}

fn run(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    match Config::parse(&text) {
        Ok(mut config) => {
            // HTTP grants cannot be serialised.
            config.plugins.values_mut().for_each(|plugin| plugin.grants.http.clear());
            let written = toml::to_string(&config).expect("what was read can be written");
            let again = Config::parse(&written).unwrap_or_else(|error| panic!("{error}: {written}"));
            assert_eq!(config, again, "{written}");
        }
        Err(error) => {
            let reason = error.to_string();
            assert!(reason.len() > "read the configuration: ".len(), "{reason}");
            // TOML syntax errors have a position, except for the recursion limit.
            if toml::from_str::<toml::Table>(&text).is_err() && !reason.ends_with("recursion limit") {
                assert!(reason.contains("line ") && reason.contains(", column "), "{reason}");
            }
        }
    }
}
