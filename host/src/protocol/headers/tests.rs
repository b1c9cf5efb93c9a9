use super::*;

fn params(json: &str) -> Box<RawValue> {
    RawValue::from_string(json.to_owned()).unwrap()
}

fn headers(method: &str, name: Option<&str>) -> Headers {
    Headers { method: Some(method.into()), name: name.map(Into::into), ..Headers::default() }
}

#[test]
fn standard_headers_must_match_the_body() {
    let call = params(r#"{"name":"héllo","arguments":{}}"#);
    let good = [headers("tools/call", Some("héllo")), headers("tools/call", Some("=?base64?aMOpbGxv?="))];
    for headers in good {
        assert_eq!(headers.check("tools/call", &Params::read(Some(&call))), Ok(()), "{headers:?}");
    }
    let bad = [
        Headers::default(),
        headers("TOOLS/CALL", Some("héllo")),
        headers("tools/list", Some("héllo")),
        headers("tools/call", None),
        headers("tools/call", Some("hello")),
        headers("tools/call", Some("=?base64?!?=")),
        headers("tools/call", Some("=?base64?/w==?=")),
        headers("tools/call", Some("=?BASE64?aMOpbGxv?=")),
    ];
    for headers in bad {
        let error = headers.check("tools/call", &Params::read(Some(&call))).unwrap_err();
        assert_eq!(error.code, error::HEADER_MISMATCH, "{headers:?}");
    }
    assert_eq!(headers("tools/list", None).check("tools/list", &Params::read(None)), Ok(()));
    let read = params(r#"{"uri":"notes://1"}"#);
    assert_eq!(
        headers("resources/read", Some("notes://1")).check("resources/read", &Params::read(Some(&read))),
        Ok(())
    );
}

#[test]
fn headers_of_a_tool_must_match_its_arguments() {
    let wanted: [(&str, &[String]); 3] = [
        ("Region", &["region".into()]),
        ("Size", &["box".into(), "size".into()]),
        ("In", &["box".into(), "in".into()]),
    ];
    let check = |params: &[(&str, &str)], arguments: &str| {
        let params = params.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        let headers = Headers { params, ..Headers::default() };
        headers.check_params(&wanted, arguments).is_ok()
    };
    let arguments = r#"{"region":"eu","box":{"size":42}}"#;
    assert!(check(&[("region", "eu"), ("size", "42.0")], arguments));
    assert!(check(&[("region", "=?base64?ZXU=?="), ("size", "42"), ("other", "x")], arguments));
    assert!(check(&[], r#"{"region":null}"#));
    assert!(check(&[], "{}"));
    assert!(!check(&[("region", "eu")], arguments));
    assert!(!check(&[("region", "EU"), ("size", "42")], arguments));
    assert!(!check(&[("region", "eu"), ("size", "43")], arguments));
    assert!(!check(&[("region", "eu")], "{}"));
    assert!(check(&[("in", "mm"), ("size", "2")], r#"{"box":{"of":{"size":3},"in":"mm","size":2}}"#));
    assert!(!check(&[("in", "mm"), ("size", "2")], r#"{"box":"mm"}"#));
}

/// Arguments that are scanned again for each name would take hours here.
#[test]
fn arguments_are_read_once_for_all_headers() {
    let members: Vec<String> = (0..100_000).map(|n| format!(r#""m{n}":{{"v":"{n}"}}"#)).collect();
    let paths: Vec<(String, [String; 2])> =
        (0..3_000).map(|n| (format!("M{n}"), [format!("m{n}"), "v".into()])).collect();
    let wanted: Vec<(&str, &[String])> = paths.iter().map(|(name, path)| (name.as_str(), &path[..])).collect();
    let params = (0..3_000).map(|n| (format!("m{n}"), n.to_string())).collect();
    let headers = Headers { params, ..Headers::default() };
    let began = std::time::Instant::now();
    assert_eq!(headers.check_params(&wanted, &format!("{{{}}}", members.join(","))), Ok(()));
    assert!(began.elapsed() < std::time::Duration::from_secs(10), "{:?}", began.elapsed());
}
