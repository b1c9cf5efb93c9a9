use super::*;

#[test]
fn questions_have_keys_of_their_own_and_small_states() {
    let question = || super::super::abi::Question { key: "k".into(), ask: Ask::Roots };
    let wanted = |questions, state: usize| InputRequired { questions, state: Some(vec![0; state]) };
    assert_eq!(input_required(&mut wanted(vec![question()], MAX_STATE)), Ok(()));
    assert!(input_required(&mut wanted(vec![question(), question()], 0)).is_err());
    assert!(input_required(&mut wanted(vec![], MAX_STATE + 1)).is_err());
}

#[test]
fn only_https_pages_are_visited() {
    for good in ["https://example.org/", "HTTPS://example.org", "https://[::1]:8443/a?b#c"] {
        assert_eq!(page(good), Ok(()), "{good}");
    }
    for bad in
        ["http://example.org/", "/login", "", "https:", "https:///x", "javascript:alert(1)", "file:///etc/passwd"]
    {
        assert!(page(bad).is_err(), "{bad}");
    }
}
