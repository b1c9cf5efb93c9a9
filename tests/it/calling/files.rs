//! A call that lacks a file, or may not write one, says which grant it lacks.

use std::fs;

use super::wharf;
use crate::support::client::Client;
use crate::support::guest::Guest;
use crate::support::home::Home;
use crate::support::process::run_hint;

#[test]
fn a_failure_for_lack_of_a_file_names_the_grant_only_if_the_plugin_looked_for_folders() {
    let home = Home::new();
    let looks = "(call $folders (i32.const 128))";
    let missing = Guest::returning("/data/x: No such file or directory (os error 44)");
    home.put_bytes(&missing.fails("opens", looks).fails("fails", "").build(), "opener");
    // Some runtimes ask for the folders before they print.
    home.put_bytes(&Guest::returning("ValueError: x").fails("prints", looks).build(), "printer");
    let folder = home.plugins();
    let hint = format!("no folder is granted to it; run: wharf grant opener {} read=PATH:/data", folder.display());
    for (tool, is_explained) in [("opener_opens", true), ("opener_fails", false), ("printer_prints", false)] {
        let ran = wharf(&home, "call", &folder, &[tool]);
        assert!(ran.code == 1 && ran.err.contains(&hint) == is_explained, "{tool}: {}", ran.err);
    }
    let mut client = Client::start_modern(&home);
    client.call("opener_opens", serde_json::json!({}));
    client.process().log_with("a call failed for lack of a file, and no folder is granted");
    // With a folder, the plugin looks for something else.
    home.configure(&format!("[plugins.opener.grants]\nfs = [{{ host = '{}', guest = '/data' }}]\n", data(&home)));
    let ran = wharf(&home, "call", &folder, &["opener_opens"]);
    assert!(ran.code == 1 && ran.err.is_empty(), "{}", ran.err);
}

#[test]
fn a_write_to_a_folder_that_is_only_read_names_the_grant_with_its_paths() {
    let home = Home::with(&["files"]);
    let (data, folder) = (data(&home), home.plugins());
    home.configure(&format!("[plugins.files.grants]\nfs = [{{ host = \"{data}\", guest = \"/data\" }}]\n"));
    let write = ["files_write", "path=a.txt", "text=x", "how=create"];
    let denied = wharf(&home, "call", &folder, &write);
    assert!(denied.code == 1 && denied.out.contains("missing grant `fs`"), "{}{}", denied.out, denied.err);
    let command = format!("or run: wharf grant files {} 'write={data}:/data'", folder.display());
    assert!(denied.err.contains(&command), "{}", denied.err);
    // The log has the whole line, with the other folders.
    let mut client = Client::start_modern(&home);
    client.call("files_write", serde_json::json!({"path": "a.txt", "text": "x", "how": "create"}));
    client.process().log_with(&format!(r#"put `fs = [{{ host = "{data}", guest = "/data", mode = "write" }}]` under"#));
    drop(client);
    assert!(run_hint(&home, &denied.err, "or run:").status.success());
    let written = wharf(&home, "call", &folder, &write);
    assert_eq!(written.code, 0, "{}{}", written.out, written.err);
    assert_eq!(fs::read_to_string(home.path("shared/a.txt")).expect("it was written"), "x");
}

/// A folder to grant.
fn data(home: &Home) -> String {
    let folder = home.path("shared");
    fs::create_dir_all(&folder).expect("a folder");
    folder.to_str().expect("UTF-8").to_owned()
}
