use super::*;
use crate::store::Sqlite;
use std::os::unix::fs::PermissionsExt as _;

struct Here {
    root: tempfile::TempDir,
    store: Arc<dyn Store>,
}

impl Here {
    fn new() -> Self {
        let root = tempfile::tempdir().expect("a folder");
        fs::set_permissions(root.path(), fs::Permissions::from_mode(0o700)).expect("its owner's");
        let store = Sqlite::new(root.path().join("store.db"));
        Self { root, store }
    }

    fn folder(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    async fn publish(&self, files: &[(&str, &[u8])]) -> Result<Changes, PublishError> {
        let files = files.iter().map(|(path, bytes)| ((*path).to_owned(), Content::Bytes(bytes.to_vec())));
        publish(&self.store, &files.collect()).await.map(|done| done.changes)
    }

    async fn pull(&self, name: &str) -> Result<Option<Changes>, PublishError> {
        pull(&*self.store, &self.folder(name)).await
    }

    /// Puts that set into the store, whatever it is.
    async fn put_set(&self, files: Items) {
        let value = serde_json::to_vec(&Set { files, before: BTreeSet::new() }).expect("JSON");
        let (expected, durability) = (Expected::Anything, Durability::Process);
        let put = Put { key: KEY.into(), value, expected, durability, expires: None };
        self.store.put(put).await.expect("usable");
    }

    /// The files of a folder, with their contents.
    fn files(&self, name: &str) -> BTreeMap<String, Vec<u8>> {
        fn collect(folder: &Path, root: &Path, found: &mut BTreeMap<String, Vec<u8>>) {
            for entry in fs::read_dir(folder).expect("a folder") {
                let path = entry.expect("an entry").path();
                let relative = path.strip_prefix(root).expect("below").to_string_lossy().into_owned();
                if relative == INCOMING {
                    continue;
                }
                if path.is_dir() {
                    collect(&path, root, found);
                } else if ![RECORD, TURN_FILE].contains(&&*relative) {
                    found.insert(relative, fs::read(&path).expect("a file"));
                }
            }
        }
        let (folder, mut found) = (self.folder(name), BTreeMap::new());
        collect(&folder, &folder, &mut found);
        found
    }
}

fn changes(added: &[&str], changed: &[&str], removed: &[&str]) -> Changes {
    let owned = |paths: &[&str]| paths.iter().map(|path| (*path).to_owned()).collect();
    Changes { added: owned(added), changed: owned(changed), removed: owned(removed) }
}

fn files(all: &[(&str, &[u8])]) -> BTreeMap<String, Vec<u8>> {
    all.iter().map(|(path, bytes)| ((*path).to_owned(), bytes.to_vec())).collect()
}

#[tokio::test]
async fn folders_become_what_is_published_and_keep_what_is_their_own() {
    let here = Here::new();
    assert_eq!(here.pull("one").await, Ok(None));
    let large: Vec<u8> = (0..PART * 2 + 7).map(|byte| (byte % 251) as u8).collect();
    let first: [(&str, &[u8]); 3] = [("a.wasm", &large), ("b/c.wasm", b"c"), ("skills/x/SKILL.md", b"")];
    let all = changes(&["a.wasm", "b/c.wasm", "skills/x/SKILL.md"], &[], &[]);
    assert_eq!(here.publish(&first).await, Ok(all.clone()));
    assert_eq!(here.publish(&first).await, Ok(Changes::default()));
    for name in ["one", "two"] {
        assert_eq!(here.pull(name).await, Ok(Some(all.clone())));
        assert_eq!(here.files(name), files(&first));
        assert_eq!(here.pull(name).await, Ok(Some(Changes::default())));
    }
    // What somebody adds stays, what they change does not.
    fs::write(here.folder("one").join("own.wasm"), "own").expect("a file");
    fs::write(here.folder("one").join("a.wasm"), "other").expect("a file");
    let second: [(&str, &[u8]); 2] = [("a.wasm", &large), ("d.wasm", b"d")];
    assert_eq!(here.publish(&second).await, Ok(changes(&["d.wasm"], &[], &["b/c.wasm", "skills/x/SKILL.md"])));
    here.pull("one").await.expect("pulled");
    assert_eq!(here.files("one"), files(&[("a.wasm", &large), ("d.wasm", b"d"), ("own.wasm", b"own")]));
    assert!(!here.folder("one").join("skills").exists(), "folders that are empty go");
    // A node that is one set behind still finds what that had; then it goes.
    assert_eq!(here.store.usage(CONTENTS).await.expect("usable").entries, 3 + 1 + 1);
    here.publish(&[("d.wasm", b"e")]).await.expect("published");
    here.publish(&[("d.wasm", b"f")]).await.expect("published");
    assert_eq!(here.store.usage(CONTENTS).await.expect("usable").entries, 2);
    assert_eq!(
        here.pull("two").await.expect("pulled"),
        Some(changes(&["d.wasm"], &[], &["a.wasm", "b/c.wasm", "skills/x/SKILL.md"]))
    );
    assert_eq!(here.files("two"), files(&[("d.wasm", b"f")]));
}

#[tokio::test]
async fn a_folder_with_files_of_its_own_is_not_replaced() {
    let here = Here::new();
    here.publish(&[("a.wasm", b"a")]).await.expect("published");
    fs::create_dir(here.folder("one")).expect("a folder");
    fs::write(here.folder("one").join("mine.wasm"), "mine").expect("a file");
    assert_eq!(here.pull("one").await, Err(PublishError::NotOurs("mine.wasm".into())));
    assert_eq!(here.files("one"), files(&[("mine.wasm", b"mine")]));
}

#[tokio::test]
async fn a_set_that_cannot_be_fetched_changes_nothing() {
    let here = Here::new();
    here.publish(&[("a.wasm", b"a")]).await.expect("published");
    here.pull("one").await.expect("pulled");
    here.publish(&[("a.wasm", b"b"), ("b.wasm", b"c")]).await.expect("published");
    let gone = format!("{}0000", prefix(&Sha256::of(b"c")));
    assert_eq!(here.store.delete(&gone).await, Ok(true));
    assert!(matches!(here.pull("one").await, Err(PublishError::Damaged(_))));
    assert_eq!(here.files("one"), files(&[("a.wasm", b"a")]));
    // Who publishes it again repairs it.
    here.publish(&[("a.wasm", b"b"), ("b.wasm", b"c")]).await.expect("published");
    here.pull("one").await.expect("pulled");
    assert_eq!(here.files("one"), files(&[("a.wasm", b"b"), ("b.wasm", b"c")]));
}

#[tokio::test]
async fn who_publishes_again_mends_what_is_damaged() {
    let here = Here::new();
    let set: [(&str, &[u8]); 3] = [("a.wasm", b"a"), ("b.wasm", b"b"), ("c.wasm", b"c")];
    let contents: BTreeMap<_, _> =
        set.iter().map(|(path, bytes)| ((*path).to_owned(), Content::Bytes(bytes.to_vec()))).collect();
    here.publish(&set).await.expect("published");
    let put = async |key: String, value: &[u8]| {
        let (expected, durability) = (Expected::Anything, Durability::Process);
        here.store.put(Put { key, value: value.to_vec(), expected, durability, expires: None }).await.expect("usable");
    };
    // One is gone, one is another one of the same size. The set is the same.
    here.store.delete(&format!("{}0000", prefix(&Sha256::of(b"a")))).await.expect("usable");
    put(format!("{}0000", prefix(&Sha256::of(b"b"))), b"x").await;
    assert!(matches!(here.pull("one").await, Err(PublishError::Damaged(_))));
    assert_eq!(publish(&here.store, &contents).await, Ok(Done { mended: 2, ..Done::default() }));
    assert_eq!(publish(&here.store, &contents).await, Ok(Done::default()));
    here.pull("one").await.expect("pulled");
    assert_eq!(here.files("one"), files(&set));
    // The set itself is none.
    put(KEY.into(), b"garbage").await;
    assert!(matches!(here.pull("one").await, Err(PublishError::Damaged(_))));
    let done = publish(&here.store, &contents).await.expect("published");
    assert_eq!(done, Done { changes: changes(&["a.wasm", "b.wasm", "c.wasm"], &[], &[]), mended: 0 });
    assert_eq!(here.pull("one").await, Ok(Some(Changes::default())));
}

#[tokio::test]
async fn paths_that_leave_the_folder_are_neither_published_nor_taken() {
    let here = Here::new();
    let skill = "skills/../a.wasm/x";
    for path in [
        "../a.wasm",
        "/a.wasm",
        "a//b.wasm",
        "./a.wasm",
        ".a.wasm",
        "a\\b.wasm",
        "C:a.wasm",
        "",
        "b/../../a",
        skill,
        "wharf.toml",
        "a.txt",
        "a/b/c.wasm",
        "a\nb.wasm",
        "a\u{202e}.wasm",
        "skills/SKILL.md",
    ] {
        assert!(matches!(here.publish(&[(path, b"a")]).await, Err(PublishError::File(_))), "{path}");
        here.put_set([(path.to_owned(), Item::of(b"a"))].into()).await;
        assert!(matches!(here.pull("one").await, Err(PublishError::Damaged(_))), "{path}");
        here.store.delete(KEY).await.expect("usable");
    }
    assert!(!here.folder("a.wasm").exists());
}

#[tokio::test]
async fn a_set_that_nobody_can_have_published_is_not_taken() {
    let here = Here::new();
    here.publish(&[("a.wasm", b"a")]).await.expect("published");
    let digest = Sha256::of(b"a");
    for size in [0, 2, MAX_FILE] {
        here.put_set([("a.wasm".to_owned(), Item { digest, size })].into()).await;
        assert!(matches!(here.pull("one").await, Err(PublishError::Damaged(_))), "{size}");
    }
    let paths = ["a.wasm", "a.wasm-b.wasm", "a.wasm/b.wasm"].map(str::to_owned);
    here.put_set(paths.map(|path| (path, Item::of(b"a"))).into()).await;
    let below = "below a path that is a file itself: a.wasm/b.wasm".to_owned();
    assert_eq!(here.pull("one").await, Err(PublishError::Damaged(below)));
    // However long its name is, the error is short.
    here.put_set([(format!("{}.wasm", "x".repeat(3 << 20)), Item::of(b"a"))].into()).await;
    let error = here.pull("one").await.expect_err("no name of a file").to_string();
    assert!(error.len() < 300, "{}", error.len());
}

#[tokio::test]
async fn a_folder_of_which_nothing_is_known_is_not_replaced() {
    let here = Here::new();
    here.publish(&[("a.wasm", b"a")]).await.expect("published");
    here.pull("one").await.expect("pulled");
    let record = here.folder("one").join(RECORD);
    fs::write(&record, "garbage").expect("written");
    assert!(matches!(here.pull("one").await, Err(PublishError::Record(_))));
    // What the hint says.
    fs::remove_dir_all(here.folder("one")).expect("removed");
    here.pull("one").await.expect("pulled");
    assert_eq!(here.files("one"), files(&[("a.wasm", b"a")]));
}

#[tokio::test]
async fn one_publishes_at_a_time() {
    let here = Here::new();
    let turn = Turn::take(&here.store, TURN, now()).await.expect("usable").expect("free");
    assert_eq!(here.publish(&[("a.wasm", b"a")]).await, Err(PublishError::Concurrent));
    assert_eq!(here.store.usage(CONTENTS).await.expect("usable").entries, 0);
    turn.end().await;
    here.publish(&[("a.wasm", b"a")]).await.expect("published");
    // One that fails ends its turn too.
    assert!(here.publish(&[("../a", b"a")]).await.is_err());
    assert_eq!(here.store.get(TURN).await, Ok(None));
}

#[tokio::test]
async fn a_pull_that_was_stopped_leaves_nothing_in_the_way_of_the_next_one() {
    let here = Here::new();
    here.publish(&[("a.wasm", b"a"), ("b.wasm", b"b")]).await.expect("published");
    // Killed in the first one, with one file in its place and one that is not.
    let incoming = here.folder("one").join(INCOMING);
    fs::create_dir_all(&incoming).expect("a folder");
    fs::write(incoming.join("0"), "half").expect("a file");
    here.pull("one").await.expect("pulled");
    assert_eq!(here.files("one"), files(&[("a.wasm", b"a"), ("b.wasm", b"b")]));
    assert!(!incoming.exists());
    // A file becomes a folder, and a folder a file.
    here.publish(&[("skills/x/ref", b"a"), ("skills/x/other/y", b"b")]).await.expect("published");
    here.pull("one").await.expect("pulled");
    here.publish(&[("skills/x/ref/z", b"c"), ("skills/x/other", b"d")]).await.expect("published");
    here.pull("one").await.expect("pulled");
    assert_eq!(here.files("one"), files(&[("skills/x/other", b"d"), ("skills/x/ref/z", b"c")]));
}

#[tokio::test]
async fn links_lead_neither_out_of_the_folder_nor_into_the_store() {
    let here = Here::new();
    let out = here.folder("out");
    fs::create_dir_all(out.join("x")).expect("a folder");
    fs::write(out.join("x/SKILL.md"), "mine").expect("a file");
    here.publish(&[("skills/x/SKILL.md", b"a")]).await.expect("published");
    here.pull("one").await.expect("pulled");
    for (set, link) in [("b", "skills/x"), ("c", "skills")] {
        let link = here.folder("one").join(link);
        fs::remove_dir_all(&link).expect("removed");
        std::os::unix::fs::symlink(if set == "b" { out.join("x") } else { out.clone() }, &link).expect("a link");
        here.publish(&[("skills/x/SKILL.md", set.as_bytes())]).await.expect("published");
        assert!(matches!(here.pull("one").await, Err(PublishError::NotOurs(_))));
        here.publish(&[("a.wasm", b"a")]).await.expect("published");
        assert!(matches!(here.pull("one").await, Err(PublishError::NotOurs(_))));
        assert_eq!(fs::read(out.join("x/SKILL.md")).expect("it is there"), b"mine");
        fs::remove_file(&link).expect("removed");
        fs::create_dir_all(here.folder("one").join("skills/x")).expect("a folder");
    }
    // A file in place of which there is a link is one afterwards.
    let a = here.folder("one").join("a.wasm");
    std::os::unix::fs::symlink(out.join("x/SKILL.md"), &a).expect("a link");
    here.pull("one").await.expect("pulled");
    assert_eq!((fs::read(&a).expect("a file"), a.is_symlink()), (b"a".to_vec(), false));
    assert_eq!(fs::read(out.join("x/SKILL.md")).expect("it is there"), b"mine");
    let link = here.folder("link");
    std::os::unix::fs::symlink(out.join("x/SKILL.md"), &link).expect("a link");
    let linked = BTreeMap::from([("a.wasm.minisig".to_owned(), Content::File(link))]);
    assert!(matches!(publish(&here.store, &linked).await, Err(PublishError::File(_))));
}

#[tokio::test]
async fn a_folder_that_others_can_write_to_is_not_used() {
    let here = Here::new();
    here.publish(&[("a.wasm", b"a")]).await.expect("published");
    fs::create_dir(here.folder("one")).expect("a folder");
    fs::set_permissions(here.folder("one"), fs::Permissions::from_mode(0o777)).expect("everybody's");
    assert!(matches!(here.pull("one").await, Err(PublishError::File(_))));
    // One of somebody at the place of a file is left alone, and the set is not half placed.
    fs::set_permissions(here.folder("one"), fs::Permissions::from_mode(0o755)).expect("its owner's");
    here.pull("one").await.expect("pulled");
    here.publish(&[("b.wasm", b"b"), ("c.wasm", b"c")]).await.expect("published");
    fs::create_dir(here.folder("one").join("c.wasm")).expect("a folder");
    assert!(matches!(here.pull("one").await, Err(PublishError::NotOurs(_))));
    assert_eq!(here.files("one"), files(&[("a.wasm", b"a")]));
}
