use std::path::PathBuf;

use super::*;

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("wharf-store-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        Self(path)
    }

    /// As another process: with a connection of its own.
    fn store(&self) -> Arc<Sqlite> {
        Sqlite::new(self.0.join("store.db"))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[tokio::test]
async fn a_file_that_cannot_be_used_is_an_error_until_it_is_repaired() {
    let folder = Folder::new("broken");
    crate::os::private::create_folder(&folder.0).expect("a folder");
    let path = folder.0.join("store.db");
    std::fs::write(&path, "no database, but longer than the header of one, which has a hundred bytes".repeat(9))
        .expect("a file");
    let store = folder.store();
    let error = store.get("a").await.expect_err("no database").0;
    assert!(error.contains("store.db"), "{error}");
    std::fs::remove_file(path).expect("it is there");
    assert_eq!(store.get("a").await, Ok(None));
}

#[tokio::test]
async fn errors_have_no_statements() {
    let folder = Folder::new("words");
    let store = folder.store();
    store.get("a").await.expect("usable");
    let other = Connection::open(folder.0.join("store.db")).expect("a database");
    other.execute_batch("DROP TABLE entry; CREATE TABLE entry (other)").expect("another table");
    let put = Put {
        key: "a".into(),
        value: Vec::new(),
        expected: Expected::Absent,
        durability: Durability::Process,
        expires: None,
    };
    let errors = [
        store.get("a").await.expect_err("another table"),
        store.put(put).await.expect_err("another table"),
        store.list("", "", 1, 1).await.expect_err("another table"),
        store.keys("", "", 1).await.expect_err("another table"),
        store.usage("").await.expect_err("another table"),
        store.delete("a").await.expect_err("another table"),
        store.remove_expired(1, 1).await.expect_err("another table"),
    ];
    for StoreError(error) in errors {
        assert!(
            error.starts_with("its tables are not those of this program: no such ")
                && error.contains("store.db")
                && !["SELECT", "INSERT", "DELETE", "offset"].iter().any(|word| error.contains(word)),
            "{error}"
        );
    }
}
