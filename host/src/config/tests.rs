use std::time::Duration;

use super::Config;
use crate::plugin::{Limits, PluginId};

fn error(text: &str) -> super::ConfigError {
    Config::parse(text).expect_err("this configuration is wrong")
}

#[test]
fn defaults_read_back_as_the_defaults() {
    let config = Config::parse(&Config::defaults()).expect("the defaults are valid");
    let id = PluginId::parse("anything").expect("a valid id");
    assert_eq!(config.limits(&id), Limits::default());
    assert!(config.prefix(&id));
}

#[test]
fn a_plugin_overrides_what_holds_for_all() {
    let config = Config::parse(
        "[limits]\ntimeout = '5s'\nmemory = '16MiB'\n[plugins.slow]\nprefix = false\n[plugins.slow.limits]\ntimeout = '1m 30s'\n",
    )
    .expect("valid");
    let slow = PluginId::parse("slow").expect("a valid id");
    let limits = config.limits(&slow);
    assert_eq!((limits.timeout, limits.memory, config.prefix(&slow)), (Duration::from_secs(90), 16 << 20, false));
    let other = PluginId::parse("other").expect("a valid id");
    assert_eq!((config.limits(&other).timeout, config.prefix(&other)), (Duration::from_secs(5), true));
}

#[test]
fn an_unknown_key_is_an_error_with_its_place_and_the_nearest() {
    let error = error("[limits]\ntimeout = '5s'\nmemroy = '1MiB'\n");
    assert_eq!(error.to_string(), "read the configuration: line 3, column 1: unknown field `memroy`");
    assert_eq!(error.hint.as_deref(), Some("did you mean `memory`?"));
}

#[test]
fn wrong_values_are_errors() {
    assert!(error("[limits]\ntimeout = 'soon'").to_string().contains("write it as"));
    assert!(error("[server]\npage-size = 0").to_string().contains("at least one"));
    assert!(error("[plugins.Bad_Name]").to_string().contains("[plugins.Bad_Name]"));
}
