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

#[tokio::test]
async fn a_value_without_room_fails_no_read_and_says_so_to_all_that_write_with_it() {
    let folder = Folder::new("full");
    let mut file = File::open(&folder.0.join("store.db")).expect("usable");
    // As a disk with room for a few small values.
    file.connection.pragma_update(None, "max_page_count", 16).expect("a limit");
    let write = |key: &'static str, size: usize| {
        Request::new(Some(Durability::Power), move |transaction| {
            let statement = "INSERT INTO entry (key, version, size, value) VALUES (?1, 1, 1, zeroblob(?2))";
            transaction.execute(statement, params![key, size])
        })
    };
    let count = || {
        Request::new(None, |transaction| {
            transaction.query_row("SELECT count(*) FROM entry", [], |row| row.get::<_, u64>(0))
        })
    };
    let (first, kept) = write("first", 9);
    file.serve(vec![first]).expect("there is room");
    assert_eq!(kept.await, Ok(Ok(1)));
    let ((before, unkept), (large, refused), (after, undone), (read, counted)) =
        (write("before", 9), write("large", 1 << 20), write("after", 9), count());
    let error = file.serve(vec![before, large, after, read]).expect_err("full");
    assert!(is_full(&error), "{error}");
    for outcome in [unkept, refused, undone] {
        let StoreError(why) = outcome.await.expect("told").expect_err("not kept");
        assert!(why.contains("make room"), "{why}");
    }
    assert_eq!(counted.await, Ok(Ok(1)));
    // It is usable still.
    let ((again, kept), (read, counted)) = (write("again", 9), count());
    file.serve(vec![again]).expect("there is room");
    file.serve(vec![read]).expect("usable");
    assert_eq!((kept.await, counted.await), (Ok(Ok(1)), Ok(Ok(2))));
}
