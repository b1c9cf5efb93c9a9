use super::checks;

#[test]
fn uris() {
    for good in ["file:///a", "note://x/1", "urn:a:b", "https://e.x/%20"] {
        assert_eq!(checks::uri(good), Ok(()), "{good}");
    }
    for bad in ["", "a b", "/path", "x", "http://[", "a:\n"] {
        assert!(checks::uri(bad).is_err(), "{bad}");
    }
}
