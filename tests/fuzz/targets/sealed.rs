//! A sealed state opens only with the key, the call and the time for which it was sealed.

use std::borrow::Cow;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::value::RawValue;
use wharf::json::{self, Kind};
use wharf::plugin::{Digest, PluginId};
use wharf::server::{Binding, Seal, SealError, Sealed};

use super::Target;

const KEY: [u8; 32] = [7; 32];
/// Seconds since 1970.
const NOW: u64 = 1_800_000_000;
const ARGUMENTS: &str = r#"{"id":7,"why":"old","at":[1.5e3,{"b":null,"a":"\\n:"}]}"#;

/// Sealed with [`KEY`] at [`NOW`] for [`ARGUMENTS`]. A constant, since nonces are random and runs must
/// be reproducible.
const OURS: &str = "\
    U4igkWR6\
    iQrhKY7RWD9IzLBIvl5UF3RKN1xKIodmoac_alZUfUHCKY0Y72AEj2y0VivOVk4yAZA7kXfi_GlDsJ_gAJqS-UjsLw-3zDNOZZQ6\
    KnxYb4fn_nq2jQai7Ucf3zPGc_OtYK2ohJo5SJ7r2qsRFxvzs2iN78e9EKBNkcm7WcV-8IPjYrRmrRrnpYqWv1TqdGb-YT4ffPKI\
    _-zstaH1waOc1aq4iSH44tb2j4CgaTXsTjCL-p8xai7aFWV-r3amgFen-8LrdchdSfcy_m5GmdDPGnueXIrnC9OMFOFgGqguNiGG\
    yYmXgeWQvNgcD5RdSg";
/// The same with another key.
const OTHER_KEY: &str = "\
    U4igkWR6\
    q2R_qYY5MGTdEIbNc7Y3qPTomZML0ELqUChlnJjTSnqe4SQThJcVEyQI4bL4VWT020Eyxv5dxJuXr7qksPojTp6nw9UjGt4MFsNs\
    dJyasvD7pTEJHRtjcwmDOl0EfRTnfi2ZFnE62CsoqfKgnh7YptHE8d6QHAO_cB9Tv8MoDFL31Bp-raddmLoodN_0OQ1dDZQvY2FW\
    S_8yVXZ_x1xhxQd8k0KroIu0O6NDEbnkfnG3R8HZ4kY4rRTllST92EExVf-3Jb9IdRqnLapH7gaTpkGT6QMJ5aRJqJtDOab5tJJF\
    HMeS9v2y-gC1dAezxA";
/// The same for another tool.
const OTHER_TOOL: &str = "\
    U4igkWR6\
    nS0eVoD6trTkG_ghZ7nZcJWphDRZwe9cmg2miJzvOnZJboF4lB_j60IX_PKpdS2NZUQX5J021jj_FCZk013jcAPTu4_70QsTJz8N\
    P_f48HOZLRrtsokSrj29xy-peRv0rHeVZrb7B_PKhXNhzVp14Frkyr4ltI2Mbb0OxaD-RDrShic2DKKP6YDYAiyhMUPX6cySEMCn\
    SoAOBiDi-a9MeM8tS7gmnjnblWexcg6i0A2WU7Lw0z48GMfGDoGOrd2XsFk-KWiazzXyWEWnVD3SQ0meOVia5-sGf0kJKkOjF6lL\
    yQLC-tjSF-SqExbrnw";
/// The same, sealed an hour earlier.
const OLD: &str = "\
    U4igkWR6\
    WbgLtUWx1iYgM0qlAyv-SfoU9iyelZSpFGCT0Q0If3AqYhpufCv9C6JuxZs4l6TehZiA4VQEP-sgWpHkd6llgQxJD4N_rOil8-NV\
    NFTehWiSrm4RF82L0jyrBQtr8oW6iNMm3B0-N24LEmEtkIvHsoyEHFy_bKqwvinPDASD1arFXmdlR8gjbUmHHiYNBs_pMDcxoKwY\
    5igCmjOs0hRjqwTC28zE8_JAThYmt6t5TxoBhGjzTpHINQKJPodjcBovYuSQxMjXIFlaJ1kqJ5IaCwNGPWCsQj-Rr7G5AnjH6jKK\
    NCDcgGhSQHKQA1Urjw";

pub(super) fn target() -> Target {
    assert!(open(OURS, ARGUMENTS).is_ok(), "the format of states has changed: seal the four constants again");
    let respelled = r#"{ "at": [1.5e3, { "a": "\\n:", "b": null }], "why": "old", "id": 7 }"#;
    let texts =
        [(OURS, ARGUMENTS), (OURS, respelled), (OTHER_KEY, ARGUMENTS), (OTHER_TOOL, ARGUMENTS), (OLD, ARGUMENTS)];
    let seeds = texts.map(|(text, arguments)| format!("{text}\n{arguments}").into_bytes()).into();
    let words = vec![
        "\n",
        "=",
        "A",
        "-",
        "_",
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "\"",
        "\\",
        " ",
        "7",
        "8",
        "7.0",
        "1500",
        "1.5E3",
        "\"id\":8,",
        "\"i\\u0064\":7",
        "{\"$serde_json::private::Number\":\"7\"}",
        "\u{e9}",
    ];
    Target { name: "sealed", seeds, words, run }
}

fn open(text: &str, arguments: &str) -> Result<Sealed, SealError> {
    let plugin = PluginId::parse("notes").expect("a name");
    let digest = Digest::of(b"v1");
    let (principal, method, name) = ("local", "tools/call", "notes_delete");
    let binding = Binding { principal, plugin: &plugin, digest: &digest, method, name, arguments, extras: Vec::new() };
    let now: SystemTime = UNIX_EPOCH + Duration::from_secs(NOW);
    Seal::new(&KEY).open(&binding, text, now)
}

/// The first line is a state, the rest the arguments of the next round.
fn run(input: &[u8]) {
    let input = String::from_utf8_lossy(input);
    let (text, arguments) = input.split_once('\n').unwrap_or((&input, ARGUMENTS));
    let meant = text == OURS && same(arguments, ARGUMENTS);
    match open(text, arguments) {
        Ok(opened) => {
            assert!(meant, "it opens for {arguments}");
            assert_eq!(Ok(opened), open(OURS, ARGUMENTS), "the state round-trips");
        }
        Err(broken) => {
            assert!(!meant, "it does not open for {arguments}");
            assert_eq!(
                broken,
                if text == OLD && same(arguments, ARGUMENTS) { SealError::Expired } else { SealError::Invalid }
            );
        }
    }
}

/// Whether two texts are equal JSON, whatever the order of members; independent of the tested code.
fn same(one: &str, other: &str) -> bool {
    match (serde_json::from_str::<&RawValue>(one), serde_json::from_str::<&RawValue>(other)) {
        (Ok(one), Ok(other)) => equal(one, other),
        _ => one == other,
    }
}

fn equal(one: &RawValue, other: &RawValue) -> bool {
    let kinds = [one, other].map(Kind::of);
    let members = |value| {
        let mut members: Vec<(Cow<'_, str>, &RawValue)> = json::entries(value).unwrap_or_default();
        members.sort_by(|one, other| one.0.cmp(&other.0));
        members
    };
    let items = |value| json::items(value, usize::MAX).map_or(Vec::new(), |items| items.first);
    match kinds {
        [Kind::Object, Kind::Object] => {
            let (one, other) = (members(one.get()), members(other.get()));
            one.len() == other.len()
                && one.iter().zip(&other).all(|(one, other)| one.0 == other.0 && equal(one.1, other.1))
        }
        [Kind::Array, Kind::Array] => {
            let (one, other) = (items(one.get()), items(other.get()));
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| equal(one, other))
        }
        [Kind::String, Kind::String] => json::string(one) == json::string(other),
        // Numbers are compared by spelling, since `7.0` and `7` may differ for a plugin, except for the
        // sign and letter of the exponent.
        [Kind::Number, Kind::Number] => {
            let spelt = |number: &RawValue| number.get().replace('E', "e").replace("e+", "e");
            spelt(one) == spelt(other)
        }
        _ => one.get() == other.get(),
    }
}
