//! Sets of plugins: a folder is made equal to a committed file, from registries or from a layout.

use std::path::Path;

use super::*;

fn sync(home: &Home, file: &Path, folder: &Path, more: &[&str]) -> Output {
    let words = ["sync".as_ref(), file.as_os_str(), folder.as_os_str()];
    run(home, words.into_iter().chain(more.iter().map(AsRef::as_ref)))
}

/// A folder with two plugins, and its file.
fn set(home: &Home, double: &Double) -> std::path::PathBuf {
    for (tag, name) in [("1", "one"), ("2", "two")] {
        double.publish(tag, &component(&format!("Does {name}.")), json!({}));
        let added = add(home, &double.reference(&format!(":{tag}")), &["--yes", "--name", name]);
        assert!(added.status.success(), "{}", err(&added));
    }
    home.plugins().join("wharf.lock")
}

#[test]
fn another_folder_becomes_equal_and_stays_it() {
    let (home, other, double) = (Home::new(), Home::new(), Double::start());
    other.configure("[server]\ntrust = 'strict'\n");
    let file = set(&home, &double);
    // The tags have moved since.
    double.publish("1", &component("Does evil."), json!({}));
    let folder = other.plugins();
    let asked = sync(&other, &file, &folder, &[]);
    assert!(err(&asked).contains("not a terminal") && names_in(&folder).is_empty(), "{}", err(&asked));
    let done = sync(&other, &file, &folder, &["--yes"]);
    assert!(done.status.success() && err(&done).contains("2 changes"), "{}", err(&done));
    assert_eq!(names_in(&folder), ["one.wasm", "two.wasm", "wharf.lock"]);
    for name in ["one.wasm", "two.wasm", "wharf.lock"] {
        let read = |folder: &Path| fs::read(folder.join(name)).expect("a file");
        assert_eq!(read(&folder), read(&home.plugins()), "{name}");
    }
    let status = run(&other, ["status".as_ref(), folder.as_os_str()]);
    let status = String::from_utf8_lossy(&status.stdout).into_owned();
    assert!(status.contains("2 run\n"), "{status}");
    let requests = double.heads().len();
    let again = sync(&other, &file, &folder, &[]);
    assert!(again.status.success() && err(&again).contains("0 changes"), "{}", err(&again));
    assert_eq!(double.heads().len(), requests, "nothing is asked for");

    // One of the set is changed, one is removed from it, and there is one that nobody added.
    fs::write(folder.join("two.wasm"), component("Does evil.")).expect("a file");
    fs::write(folder.join("own.wasm"), component("Does its own.")).expect("a file");
    let text = fs::read_to_string(&file).expect("the file");
    let (_, two) = text.split_once("[plugins.two]").expect("it is there");
    let less = other.path("home/less.lock");
    fs::write(&less, format!("version = 1\n[plugins.two]{two}")).expect("a file");
    let done = sync(&other, &less, &folder, &["--yes"]);
    assert_eq!(done.status.code(), Some(1), "{}", err(&done));
    assert!(err(&done).contains("own.wasm is not in") && err(&done).contains("2 changes"), "{}", err(&done));
    assert_eq!(names_in(&folder), ["own.wasm", "two.wasm", "wharf.lock"]);
    assert_eq!(fs::read(folder.join("two.wasm")).expect("the file"), component("Does two."));
}

#[test]
fn a_layout_stands_for_the_registries() {
    let (home, other, double) = (Home::new(), Home::new(), Double::start());
    let file = set(&home, &double);
    let layout = home.path("home/layout");
    let saved = run(&home, ["save".as_ref(), file.as_os_str(), layout.as_os_str()]);
    assert!(saved.status.success(), "{}", err(&saved));
    let requests = double.heads().len();
    let from = ["--yes", "--layout", &layout.to_string_lossy()];
    let done = sync(&other, &file, &other.plugins(), &from);
    assert!(done.status.success() && err(&done).contains("2 changes"), "{}", err(&done));
    let by_tag = add(&other, &double.reference(":1"), &[&from[..], &["--name", "three"]].concat());
    assert!(by_tag.status.success(), "{}", err(&by_tag));
    assert_eq!(double.heads().len(), requests, "the registry is not asked");
    let missing = add(&other, &double.reference(":3"), &[&from[..], &["--name", "four"]].concat());
    assert!(err(&missing).contains("the layout has no"), "{}", err(&missing));
    // A blob that was changed on the disk.
    for blob in names_in(&layout.join("blobs/sha256")) {
        let path = layout.join("blobs/sha256").join(blob);
        let mut bytes = fs::read(&path).expect("a blob");
        if bytes.starts_with(b"\0asm") {
            bytes.push(0);
            fs::write(&path, bytes).expect("a blob");
        }
    }
    let changed = add(&other, &double.reference(":1"), &[&from[..], &["--name", "five"]].concat());
    assert!(!changed.status.success() && err(&changed).contains("the component"), "{}", err(&changed));
    let nowhere = run(&home, ["save".as_ref(), file.as_os_str(), home.plugins().as_os_str()]);
    assert!(err(&nowhere).contains("is not empty, and no OCI layout"), "{}", err(&nowhere));
}

#[test]
fn a_set_whose_content_was_replaced_is_refused() {
    let (home, other, double) = (Home::new(), Home::new(), Double::start());
    let file = set(&home, &double);
    let text = fs::read_to_string(&file).expect("the file");
    let own = super::double::sha256(&component("Does one."));
    assert!(text.contains(&own), "{text}");
    let changed = other.path("home/changed.lock");
    fs::write(&changed, text.replace(&own, &super::double::sha256(b"other"))).expect("a file");
    let refused = sync(&other, &changed, &other.plugins(), &["--yes"]);
    assert!(err(&refused).contains("has another component than"), "{}", err(&refused));
    assert_eq!(names_in(&other.plugins()), [] as [String; 0]);
    for text in ["version = 9", "[plugins]", "x"] {
        fs::write(&changed, text).expect("a file");
        assert_eq!(sync(&other, &changed, &other.plugins(), &["--yes"]).status.code(), Some(2), "{text}");
    }
}

#[test]
fn another_source_of_the_same_component_is_asked_before_it_is_recorded() {
    let (home, double) = (Home::new(), Double::start());
    let file = set(&home, &double);
    let text = fs::read_to_string(&file).expect("the file");
    let list = home.path("home/moved.lock");
    fs::write(&list, text.replace("/acme/p:1", "/acme/other:1")).expect("a file");
    let refused = sync(&home, &list, &home.plugins(), &["--yes"]);
    assert!(!refused.status.success() && err(&refused).contains("/acme/other:1"), "{}", err(&refused));
    assert_eq!(fs::read_to_string(&file).expect("the file"), text);
    // The same, published anew with other words about it.
    let anew = double.publish("1", &component("Does one."), json!({ "io.github.wharf-mcp.grants": "keyvalue" }));
    let (first, rest) = text.split_once("digest = \"").expect("a digest");
    let (_, rest) = rest.split_once('"').expect("its end");
    fs::write(&list, format!("{first}digest = \"{anew}\"{rest}")).expect("a file");
    let done = sync(&home, &list, &home.plugins(), &["--yes"]);
    assert!(done.status.success() && err(&done).contains("wishes   keyvalue"), "{}", err(&done));
    assert!(fs::read_to_string(&file).expect("the file").contains(&anew));
}

#[test]
fn a_set_of_which_one_cannot_be_had_changes_nothing() {
    let (home, other, double) = (Home::new(), Home::new(), Double::start());
    let file = set(&home, &double);
    let text = fs::read_to_string(&file).expect("the file");
    let two = super::double::sha256(&component("Does two."));
    let changed = other.path("home/changed.lock");
    // The second one of two.
    fs::write(&changed, text.replace(&two, &super::double::sha256(b"other"))).expect("a file");
    let output = sync(&other, &changed, &other.plugins(), &["--yes"]);
    assert!(err(&output).contains("has another component than"), "{}", err(&output));
    assert_eq!(names_in(&other.plugins()), [] as [String; 0]);
    let pins = fs::read_to_string(other.path("state/wharf/lock.toml")).unwrap_or_default();
    assert!(!pins.contains("[plugins."), "{pins}");
    // One that is in the way, and that nobody added.
    fs::write(other.plugin("two"), component("Was copied.")).expect("a file");
    let output = sync(&other, &file, &other.plugins(), &["--yes"]);
    assert!(err(&output).contains("was not added") && err(&output).contains("update two"), "{}", err(&output));
    assert_eq!(names_in(&other.plugins()), ["two.wasm"]);
}

/// Whatever stands in the way of one file, no version is approved and no file is changed.
#[test]
fn what_is_in_the_way_of_one_file_stops_all() {
    let (home, other, double) = (Home::new(), Home::new(), Double::start());
    let file = set(&home, &double);
    fs::create_dir(other.path("served/plugins/two.wasm.minisig")).expect("a folder");
    let output = sync(&other, &file, &other.plugins(), &["--yes"]);
    assert!(
        err(&output).contains("two.wasm.minisig: ") && err(&output).contains("nothing was changed"),
        "{}",
        err(&output)
    );
    assert_eq!(names_in(&other.plugins()), ["two.wasm.minisig"]);
    let pins = fs::read_to_string(other.path("state/wharf/lock.toml")).unwrap_or_default();
    assert!(!pins.contains("[plugins."), "{pins}");
    // The same for updates of several, and for a removal.
    let folder = home.plugins();
    for tag in ["1", "2"] {
        double.publish(tag, &component(&format!("Does {tag} anew.")), json!({}));
    }
    fs::create_dir(folder.join("two.wasm.minisig")).expect("a folder");
    let before = ["one.wasm", "two.wasm", "wharf.lock"].map(|name| fs::read(folder.join(name)).expect("a file"));
    let updated = run(&home, ["update".as_ref(), folder.as_os_str(), "--yes".as_ref()]);
    assert!(err(&updated).contains("nothing was changed"), "{}", err(&updated));
    let removed = run(&home, ["remove".as_ref(), "two".as_ref(), folder.as_os_str(), "--yes".as_ref()]);
    assert!(err(&removed).contains("nothing was changed"), "{}", err(&removed));
    assert_eq!(before, ["one.wasm", "two.wasm", "wharf.lock"].map(|name| fs::read(folder.join(name)).expect("a file")));
    fs::remove_dir(folder.join("two.wasm.minisig")).expect("it is empty");
    let updated = run(&home, ["update".as_ref(), folder.as_os_str(), "--yes".as_ref()]);
    assert!(updated.status.success() && err(&updated).matches("updated").count() == 2, "{}", err(&updated));
}

#[test]
fn a_file_in_the_place_of_one_that_was_added_is_not_removed() {
    let (home, double) = (Home::new(), Double::start());
    set(&home, &double);
    let folder = home.plugins();
    fs::write(folder.join("two.wasm"), component("Is my own.")).expect("a file");
    let less = home.path("home/less.lock");
    fs::write(&less, "version = 1\n").expect("a file");
    let done = sync(&home, &less, &folder, &["--yes"]);
    assert!(done.status.code() == Some(1) && err(&done).contains("two.wasm is not in"), "{}", err(&done));
    assert_eq!(names_in(&folder), ["two.wasm", "wharf.lock"]);
    let text = fs::read_to_string(folder.join("wharf.lock")).expect("the file");
    assert!(!text.contains("[plugins."), "{text}");
}

#[test]
fn a_signer_of_a_list_is_only_what_it_says() {
    let (home, other, double) = (Home::new(), Home::new(), Double::start());
    let file = set(&home, &double);
    let text = fs::read_to_string(&file).expect("the file");
    let claimed = text.replace("component = ", "signer = \"cosign key sha256:0\"\ncomponent = ");
    let list = other.path("home/claimed.lock");
    fs::write(&list, &claimed).expect("a file");
    let done = sync(&other, &list, &other.plugins(), &["--yes"]);
    assert!(done.status.success() && err(&done).contains("which was not checked"), "{}", err(&done));
    assert_eq!(fs::read_to_string(other.plugins().join("wharf.lock")).expect("the file"), text);
    let again = sync(&other, &list, &other.plugins(), &[]);
    assert!(err(&again).contains("0 changes"), "{}", err(&again));
    fs::write(&list, claimed.replace("sha256:0\"", &format!("{}\"", "x".repeat(300)))).expect("a file");
    assert!(err(&sync(&other, &list, &other.plugins(), &[])).contains("its signer has more than 200 bytes"));
}

#[test]
fn a_layout_keeps_what_others_save_into_it() {
    let (home, double) = (Home::new(), Double::start());
    let layout = home.path("home/layout");
    let tags: Vec<String> = (0..6).map(|tag| format!("t{tag}")).collect();
    for tag in &tags {
        double.publish(tag, &component(&format!("Does {tag}.")), json!({}));
    }
    std::thread::scope(|scope| {
        for tag in &tags {
            let reference = double.reference(&format!(":{tag}"));
            let (home, layout) = (&home, &layout);
            scope.spawn(move || {
                let saved = run(home, ["save".as_ref(), reference.as_ref(), layout.as_os_str()]);
                assert!(saved.status.success(), "{}", err(&saved));
            });
        }
    });
    let index = fs::read_to_string(layout.join("index.json")).expect("the index");
    assert!(tags.iter().all(|tag| index.contains(&format!(":{tag}\""))), "{index}");
    // What loses its tag stays, for those that name it by its digest.
    let first = super::double::sha256(&component("Does t0."));
    double.publish("t0", &component("Does another thing."), json!({}));
    let (before, save) =
        (index.matches("sha256:").count(), ["save", &double.reference(":t0"), &layout.to_string_lossy()]);
    assert!(run(&home, save).status.success());
    let index = fs::read_to_string(layout.join("index.json")).expect("the index");
    assert_eq!((index.matches(":t0\"").count(), index.matches("sha256:").count()), (1, before + 1), "{index}");
    assert!(run(&home, save).status.success());
    assert_eq!(fs::read_to_string(layout.join("index.json")).expect("the index"), index, "once is enough");
    // A blob that is another one than its name says is written anew.
    let blob = layout
        .join("blobs/sha256")
        .join(super::double::sha256(&component("Does another thing.")).trim_start_matches("sha256:"));
    fs::write(&blob, b"other").expect("a blob");
    assert!(run(&home, save).status.success());
    assert_eq!(fs::read(&blob).expect("the blob"), component("Does another thing."));
    assert!(layout.join("blobs/sha256").join(first.trim_start_matches("sha256:")).is_file());
}

#[cfg(unix)]
#[test]
fn a_layout_leads_nowhere_else() {
    let (home, double) = (Home::new(), Double::start());
    double.publish("1", &component("Does a thing."), json!({}));
    let (layout, elsewhere) = (home.path("home/layout"), home.path("home/elsewhere"));
    fs::create_dir_all(layout.join("blobs")).expect("a folder");
    fs::create_dir(&elsewhere).expect("a folder");
    fs::write(layout.join("oci-layout"), r#"{"imageLayoutVersion":"1.0.0"}"#).expect("a file");
    std::os::unix::fs::symlink(&elsewhere, layout.join("blobs/sha256")).expect("a link");
    let saved = run(&home, ["save".as_ref(), double.reference(":1").as_ref(), layout.as_os_str()]);
    assert!(err(&saved).contains("is a link, and no folder"), "{}", err(&saved));
    assert_eq!(names_in(&elsewhere), [] as [String; 0]);
}
