use super::*;

const VALUE: &str = "s3cret/+value=\"x";

fn redactor(value: &str) -> Option<Redactor> {
    Redactor::of(&[Secret::new("token".into(), false, Ok(value.into()))])
}

#[test]
fn a_secret_is_found_in_its_usual_forms() {
    let redactor = redactor(VALUE).expect("a secret");
    let base64 = |text: &str| base64::engine::general_purpose::STANDARD.encode(text);
    let url_safe = base64::engine::general_purpose::URL_SAFE.encode(VALUE);
    let json = serde_json::to_string(VALUE).expect("JSON");
    for said in [
        VALUE,
        "s3cret%2F%2Bvalue%3D%22x",
        "s3cret%2f%2bvalue%3d%22x",
        &json,
        &base64(VALUE),
        &url_safe,
        &base64(&format!("u:{VALUE}")),
        &base64(&format!("user:{VALUE}:more")),
    ] {
        let told = redactor.text(&format!("before {said} after"));
        assert!(told.contains("[redacted token]"), "{said}: {told}");
        assert!(told.starts_with("before ") && told.ends_with(" after"), "{told}");
        assert!(!told.contains("s3cret"), "{told}");
    }
    assert_eq!(redactor.text("nothing of it"), "nothing of it");
    assert_eq!(redactor.text(&format!("{VALUE}{VALUE}")), "[redacted token][redacted token]");
    assert_eq!(redactor.bytes(&[0xff, 0, b's']).as_ref(), [0xff, 0, b's']);
}

#[test]
fn what_is_too_short_is_not_looked_for() {
    assert!(redactor("1234567").is_none());
    assert!(redactor("12345678").is_some());
    assert!(Redactor::of(&[Secret::new("gone".into(), true, Err("is not there".into()))]).is_none());
    assert!(Redactor::of(&[]).is_none());
}

#[test]
fn every_secret_goes_by_its_own_name() {
    let secret = |name: &str, value: &str| Secret::new(name.into(), false, Ok(value.into()));
    let redactor = Redactor::of(&[secret("short", "12345678"), secret("long", "1234567890")]).expect("secrets");
    assert_eq!(redactor.text("1234567890 12345678"), "[redacted long] [redacted short]");
}
