//! `[sandbox]`: the OS sandbox around all plugins.

use serde::{Deserialize, Serialize};

/// The OS sandbox around all plugins.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
#[serde(try_from = "Keys", rename_all = "kebab-case")]
pub struct SandboxConfig {
    /// Whether the kernel restricts the host and its compiler to what they need.
    pub os_sandbox: bool,
}

impl Default for SandboxConfig {
    fn default() -> Self {
        Self { os_sandbox: true }
    }
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
struct Keys {
    os_sandbox: Option<bool>,
    /// The former name.
    second_wall: Option<bool>,
}

impl TryFrom<Keys> for SandboxConfig {
    type Error = &'static str;

    fn try_from(keys: Keys) -> Result<Self, Self::Error> {
        match (keys.os_sandbox, keys.second_wall) {
            (Some(_), Some(_)) => {
                Err("sandbox.os-sandbox and its former name sandbox.second-wall are both set: remove second-wall")
            }
            (new, old) => Ok(Self { os_sandbox: new.or(old).unwrap_or(true) }),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::config::Config;

    #[test]
    fn the_os_sandbox_can_be_set_by_its_former_name() {
        let parse = |text: &str| Config::parse(text).map(|config| config.sandbox.os_sandbox);
        for (text, expected) in [
            ("", true),
            ("[sandbox]\n", true),
            ("[sandbox]\nos-sandbox = false\n", false),
            ("[sandbox]\nsecond-wall = false\n", false),
            ("[sandbox]\nsecond-wall = true\n", true),
        ] {
            assert_eq!(parse(text).ok(), Some(expected), "{text}");
        }
        for both in ["os-sandbox = true\nsecond-wall = false", "second-wall = false\nos-sandbox = false"] {
            let error = parse(&format!("[sandbox]\n{both}\n")).expect_err("both are set").to_string();
            assert!(error.contains("sandbox.os-sandbox") && error.contains("sandbox.second-wall"), "{error}");
        }
        let error = parse("[sandbox]\nos-sandbx = true\n").expect_err("an unknown key");
        assert_eq!(error.hint.as_deref(), Some("did you mean `os-sandbox`?"), "{error}");
        assert!(error.to_string().contains("line 2"), "{error}");
        assert!(Config::defaults().contains("[sandbox]\nos-sandbox = true\n"));
    }
}
