use super::{GrantWord, add_grants, remove_grants};
use crate::plugin::PluginId;

fn words(words: &[&str]) -> Vec<GrantWord> {
    words.iter().map(|word| GrantWord::parse(word).expect("a grant")).collect()
}

fn id() -> PluginId {
    PluginId::parse("notes").expect("an id")
}

fn added(text: &str, grants: &[&str]) -> String {
    add_grants(text, &id(), &words(grants)).unwrap_or_else(|error| panic!("{error}"))
}

fn removed(text: &str, grants: &[&str]) -> String {
    remove_grants(text, &id(), &words(grants)).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn grants_are_added_to_an_empty_file_and_removed_again() {
    let text = added("", &["keyvalue", "http=https://a.example", "env=LANG=C", "elicit", "read=/srv/data:/data"]);
    let expected = "[plugins.notes.grants]\nkeyvalue = true\nhttp = [\"https://a.example\"]\nenv = { LANG = \"C\" }\n\
                    elicit = true\nfs = [{ host = \"/srv/data\", guest = \"/data\" }]\n";
    assert_eq!(text, expected);
    assert_eq!(
        removed(&text, &["http", "env=LANG", "elicit", "fs=/data"]),
        "[plugins.notes.grants]\nkeyvalue = true\n"
    );
    let error = remove_grants(&text, &id(), &words(&["http=https://b.example"])).expect_err("there is none");
    assert!(error.to_string().contains("has no grant \"http=https://b.example\""), "{error}");
    let hint = error.hint.unwrap_or_default();
    assert_eq!(hint, "its grants: keyvalue 'http=https://a.example' 'env=LANG' elicit 'read=/srv/data'");
    let own: Vec<&str> = hint["its grants: ".len()..].split(' ').map(|word| word.trim_matches('\'')).collect();
    assert_eq!(removed(&text, &own), "");
    let error = remove_grants("", &id(), &words(&["elicit"])).expect_err("there is none");
    assert_eq!(error.hint.as_deref(), Some("it has no grants"));
}

#[test]
fn a_word_that_lacks_a_part_is_corrected() {
    for (word, hint) in [
        ("http=pypi.org", "write 'http=https://pypi.org'"),
        ("http=a b", "write it like http=https://api.example.com"),
        ("read=/", "write 'read=/:/data'"),
        ("keyvalue=much", "write it like keyvalue or keyvalue=4MiB"),
    ] {
        let error = add_grants("", &id(), &words(&[word])).expect_err(word);
        assert_eq!(error.hint.as_deref(), Some(hint), "{word}");
        assert!(!error.to_string().contains("/data"), "{error}");
    }
}

#[test]
fn urls_that_are_the_same_grant_are_one_entry() {
    let text = added("", &["http=http://localhost:80"]);
    let private = added(&text, &[r#"http={ url = "http://localhost", private = true }"#]);
    assert_eq!(private.matches("localhost").count(), 1, "{private}");
    assert_eq!(removed(&text, &["http=http://localhost/"]), "");
}

#[test]
fn the_root_of_the_host_is_a_folder() {
    let text = added("", &["read=/:/data"]);
    assert!(text.contains(r#"{ host = "/", guest = "/data" }"#), "{text}");
}

#[test]
fn what_is_left_empty_is_removed() {
    let text = added("[plugins.other]\nprefix = false\n", &["keyvalue"]);
    assert_eq!(removed(&text, &["keyvalue"]), "[plugins.other]\nprefix = false\n");
    assert_eq!(removed("[plugins.notes.grants]\nelicit = true\n", &["elicit"]), "");
    assert_eq!(removed("[plugins.notes]\n[plugins.notes.grants]\nelicit = true\n", &["elicit"]), "");
    let inline = "[plugins]\nnotes = { prefix = false, grants = { elicit = true } }\n";
    assert!(!removed(inline, &["elicit"]).contains("grants"));
    let commented = "# why\n[plugins.notes.grants]\nelicit = true\n";
    assert_eq!(removed(commented, &["elicit"]), "# why\n[plugins.notes.grants]\n");
    let limited = "[plugins.notes]\nprefix = false\n[plugins.notes.grants]\nelicit = true\n";
    assert_eq!(removed(limited, &["elicit"]), "[plugins.notes]\nprefix = false\n");
}

#[test]
fn comments_of_other_entries_of_a_list_stay() {
    let list = |entries: &str| format!("[plugins.notes.grants]\nhttp = [{entries}]\n");
    let text =
        list("\n    # first\n    \"https://a\", # A\n    # second\n    \"https://b\", # B\n    \"https://c\", # C\n");
    for (url, left) in [
        ("a", "\n    # second\n    \"https://b\", # B\n    \"https://c\", # C\n"),
        ("b", "\n    # first\n    \"https://a\", # A\n    \"https://c\", # C\n"),
        ("c", "\n    # first\n    \"https://a\", # A\n    # second\n    \"https://b\", # B\n"),
    ] {
        assert_eq!(removed(&text, &[&format!("http=https://{url}")]), list(left), "{url}");
    }
    let plain = list("\"https://a\", \"https://b\"");
    assert_eq!(removed(&plain, &["http=https://a"]), list("\"https://b\""));
    assert_eq!(removed(&plain, &["http=https://b"]), list("\"https://a\""));
}

#[test]
fn no_text_is_written_that_is_too_large_to_read() {
    let text = format!("# {}\n", "x".repeat((1 << 20) - 20));
    let error = add_grants(&text, &id(), &words(&["keyvalue"])).expect_err("too large");
    assert!(error.to_string().contains("more than 1048576 bytes"), "{error}");
}

#[test]
fn comments_and_order_stay() {
    let text = "# mine\n[server]\nname = 'x' # here\n\n[plugins.notes.grants]\n# may ask\nelicit = false # not yet\n\
                http = [\n    # the API\n    \"https://a.example\", # v1\n]\n\n[limits]\ncpu = \"5s\"\n# end\n";
    let expected = "# mine\n[server]\nname = 'x' # here\n\n[plugins.notes.grants]\n# may ask\nelicit = true # not yet\n\
                    http = [\n    # the API\n    \"https://a.example\", # v1\n    \"https://b.example\",\n]\n\n\
                    [limits]\ncpu = \"5s\"\n# end\n";
    let edited = added(text, &["elicit", "http=https://b.example"]);
    assert_eq!(edited, expected);
    // What is granted already changes nothing.
    assert_eq!(added(&edited, &["elicit", "http=https://b.example/"]), expected);
}

#[test]
fn an_entry_of_the_same_url_or_folder_is_extended() {
    let text = added("", &["http=https://a.example", "read=/srv/data"]);
    let post = "http={ url = \"https://a.example\", methods = [\"POST\"] }";
    let edited = added(&text, &[post, "write=/srv/data"]);
    let expected = "[plugins.notes.grants]\n\
                    http = [{ url = \"https://a.example\", methods = [\"GET\", \"HEAD\", \"POST\"] }]\n\
                    fs = [{ host = \"/srv/data\", guest = \"/data\", mode = \"write\" }]\n";
    assert_eq!(edited, expected);
    assert_eq!(added(&edited, &["http=https://a.example", post]), expected);
    // Other options stay, and are added.
    let private = "[plugins.notes.grants]\nhttp = [{ url = \"http://127.0.0.1:1\", private = true }] # ours\n";
    let more = added(private, &["http={ url = \"http://127.0.0.1:1\", methods = [\"PUT\"] }"]);
    let line = "{ url = \"http://127.0.0.1:1\", private = true, methods = [\"GET\", \"HEAD\", \"PUT\"] }] # ours";
    assert!(more.contains(line), "{more}");
    let tables = "[[plugins.notes.grants.http]]\nurl = \"https://a.example\"\nmethods = [\"POST\"]\n";
    let more = added(tables, &["http=https://a.example"]);
    assert!(more.contains("methods = [\"POST\", \"GET\", \"HEAD\"]"), "{more}");
    assert_eq!(removed(&edited, &["http=https://a.example", "write=/srv/data"]), "");
}

#[test]
fn inline_tables_and_arrays_of_tables_are_edited_in_their_form() {
    let text = "[plugins]\nnotes = { prefix = false }\n";
    assert_eq!(
        added(text, &["keyvalue=4MiB"]),
        "[plugins]\nnotes = { prefix = false, grants = { keyvalue = { quota = \"4MiB\" } } }\n"
    );
    // Not a drive.
    let edited = added("", &["read=d:/x"]);
    assert!(edited.contains("/d\", guest = \"/x\""), "{edited}");
    let text = "[[plugins.notes.grants.fs]]\nhost = \"/a\"\nguest = \"/a\"\n";
    let edited = added(text, &["read=/b"]);
    assert_eq!(edited, format!("{text}\n[[plugins.notes.grants.fs]]\nhost = \"/b\"\nguest = \"/b\"\n"));
}

#[test]
fn what_is_not_valid_is_refused() {
    for word in ["keyvalu", "elicit=yes", "http=", "=x", ""] {
        assert!(GrantWord::parse(word).is_err(), "{word}");
    }
    for (word, why) in [
        ("http=ftp://a.example", "not a URL for a grant"),
        ("http={ url = 1", "http="),
        ("http", "such as http=https://api.example.com"),
        ("env=LANG", "such as env=LANG=C"),
        ("secrets=api", "there is no such secret"),
        ("fs={ host = \"x\" }", "guest"),
        ("keyvalue=much", "keyvalue"),
    ] {
        let error = add_grants("", &id(), &words(&[word])).expect_err(word);
        assert!(error.to_string().contains(why), "{error}");
    }
}

#[test]
fn the_line_ends_of_a_file_stay() {
    let text = "# mine\r\n[plugins.notes.grants]\r\nelicit = true\r\n";
    let edited = added(text, &["keyvalue"]);
    assert_eq!(edited, format!("{text}keyvalue = true\r\n"));
    assert_eq!(removed(&edited, &["keyvalue"]), text);
}

#[test]
fn a_quota_changes_nothing_else_of_the_stored_values() {
    let text = |keyvalue: &str| format!("[plugins.notes.grants]\nkeyvalue = {keyvalue}\n");
    for (before, word, after) in [
        ("{ per = \"subject\" } # each", "keyvalue=4MiB", "{ per = \"subject\", quota = \"4MiB\" } # each"),
        ("{ quota = \"1MiB\", per = \"subject\" }", "keyvalue=4MiB", "{ quota = \"4MiB\", per = \"subject\" }"),
        ("{ per = \"subject\" }", "keyvalue", "{ per = \"subject\" }"),
        ("true", "keyvalue=4MiB", "{ quota = \"4MiB\" }"),
        ("false", "keyvalue=4MiB", "{ quota = \"4MiB\" }"),
    ] {
        assert_eq!(added(&text(before), &[word]), text(after), "{before} {word}");
    }
}

#[test]
fn folders_of_each_user_stay_their_own() {
    let text = |fs: &str| format!("[plugins.notes.grants]\nfs = [{fs}]\n");
    let own = text("{ host = \"/a\", guest = \"/data\", mode = \"write\", per = \"subject\", total = \"1GiB\" }");
    let read = added(&own, &["read=/a:/data"]);
    assert!(read.contains("per = \"subject\"") && !read.contains("total") && !read.contains("write"), "{read}");
    let written = added(&read, &["write=/b:/data"]);
    assert!(written.contains("per = \"subject\"") && written.contains("/b") && written.contains("write"), "{written}");
    let shared = added(&text("{ host = \"/a\", guest = \"/data\" }"), &["write=/a:/data"]);
    assert!(!shared.contains("subject"), "{shared}");
}
