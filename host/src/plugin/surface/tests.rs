use super::checks;

#[test]
fn uris_and_templates() {
    for good in ["file:///a", "note://x/1", "urn:a:b", "https://e.x/%20"] {
        assert_eq!(checks::uri(good), Ok(()), "{good}");
    }
    for bad in ["", "a b", "/path", "x", "http://[", "a:\n"] {
        assert!(checks::uri(bad).is_err(), "{bad}");
    }
    for good in ["note://{id}", "file:///{+path}", "x:{?a,b*}"] {
        assert_eq!(checks::uri_template(good), Ok(()), "{good}");
    }
    for bad in ["", "a{", "a}", "{}", "{a{b}}", "a b", "a\u{202e}"] {
        assert!(checks::uri_template(bad).is_err(), "{bad}");
    }
}
