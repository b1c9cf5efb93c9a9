//! What tasks are kept in, and where. Engines that need a server are in `tests/stores`.

#[path = "../stores/promises.rs"]
#[allow(dead_code, reason = "what other engines need of it too")]
mod promises;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use wharf::store::Sqlite;

use crate::support::home::Home;
use crate::support::process::run;

macro_rules! with_sqlite {
    ($($promise:ident)*) => {$(
        #[tokio::test(flavor = "multi_thread")]
        async fn $promise() {
            let home = Home::new();
            promises::$promise(&|| Sqlite::new(home.path("state/store.db"))).await;
        }
    )*};
}

promises::for_each_promise!(with_sqlite);

#[test]
fn a_password_in_the_url_is_never_shown() {
    let home = Home::new();
    let plugins = home.plugins();
    let dir = plugins.to_str().expect("UTF-8");
    for (url, said) in [
        ("postgres://wharf:hunter2@127.0.0.1:1/wharf", "postgres://127.0.0.1:1/wharf"),
        ("postgres://wharf:hunter2@db.example/wharf?sslmode=prefer", "store.url: its sslmode would go on without TLS"),
        ("postgres://wharf:hunter2@/wharf", "store.url: "),
        ("nats://wharf:hunter2@127.0.0.1:1/wharf", "nats://127.0.0.1:1/wharf"),
        ("tls://hunter2@localhost:1/wharf", "tls://localhost:1/wharf"),
        ("nats://wharf:hunter2@nats.example/wharf?tls=maybe", "store.url: has something after the question mark"),
        ("mysql://wharf:hunter2@db.example/wharf", "store.url: not a place for a store"),
    ] {
        home.configure(&format!("[store]\nurl = '{url}'\n"));
        for words in [vec!["tasks", dir], vec!["tasks", "show", "x"], vec!["status", dir], vec!["doctor", dir]] {
            let output = run(&home, &words);
            let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
            assert!(text.contains(said) && !text.contains("hunter2"), "{url} {words:?}: {text}");
        }
    }
    home.configure("[store]\nurl = 7\n");
    let output = run(&home, ["tasks"]);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(text.contains("store.url: expected a URL in quotes"), "{text}");
}

#[test]
fn the_file_of_the_tasks_can_be_elsewhere() {
    let home = Home::new();
    home.configure("[store]\nurl = 'sqlite:kept/all.db'\n");
    let output = run(&home, ["doctor", home.plugins().to_str().expect("UTF-8")]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("config/wharf/kept/all.db, which is made when it is first needed"), "{text}");
    home.configure("[store]\nurl = 'sqlite:kept/all.db'\npassword = { env = 'A' }\n");
    let output = run(&home, ["tasks"]);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(text.contains("store.password: a file of SQLite has none"), "{text}");
    for (settings, said) in [
        ("url = 'sqlite:kept/all.db'\ncredentials = 'a'", "store.credentials: a file of SQLite has none"),
        ("url = 'postgres://wharf@localhost/wharf'\ncredentials = 'a'", "store.credentials: only NATS has them"),
        (
            "url = 'nats://localhost/wharf'\ncredentials = 'a'\npassword = { env = 'A' }",
            "store.credentials: is in place of store.password",
        ),
        ("url = 'nats://localhost/wharf'\ncredentials = 'absent'", "store.credentials: the file cannot be read"),
    ] {
        home.configure(&format!("[store]\n{settings}\n"));
        let output = run(&home, ["tasks"]);
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(text.contains(said), "{settings}: {text}");
    }
    let file = home.path("config/wharf/a");
    for (text, said) in [("nothing", "it has no seed of a user"), ("SUAAOB", "it has no seed of a user")] {
        fs::write(&file, text).expect("a file");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).expect("its owner's");
        home.configure("[store]\nurl = 'nats://localhost/wharf'\ncredentials = 'a'\n");
        let output = run(&home, ["tasks"]);
        let shown = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(shown.contains(said) && !shown.contains(text), "{shown}");
    }
}
