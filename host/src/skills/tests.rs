use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;

use super::frontmatter::parse;
use super::survey::{MAX_FILE, MAX_PATH};
use super::*;

/// A plugin folder.
struct Plugins(tempfile::TempDir);

impl Plugins {
    fn new() -> Self {
        let root = tempfile::tempdir().expect("a temporary folder");
        fs::create_dir(root.path().join(FOLDER)).expect("a folder");
        Self(root)
    }

    fn skill(&self, name: &str) -> PathBuf {
        let folder = self.0.path().join(FOLDER).join(name);
        write(&folder.join(SKILL_FILE), &skill_file(name));
        folder
    }

    fn collect(&self) -> Collection {
        collect(&self.0.path().join(FOLDER), &Collection::default(), true)
    }

    /// Why the skill of that name is refused.
    fn refusal(&self, name: &str) -> String {
        match &self.collect().skills[name].state {
            State::Refused(error) => error.to_string().replace(&self.0.path().display().to_string(), ""),
            _ => panic!("{name} is not refused"),
        }
    }

    fn tree(&self, name: &str) -> Arc<Tree> {
        tree(&self.collect(), name)
    }
}

fn tree(collection: &Collection, name: &str) -> Arc<Tree> {
    match &collection.skills[name].state {
        State::Read(tree) => tree.clone(),
        State::Refused(error) => panic!("{error}"),
        State::Changing => panic!("it is changing"),
    }
}

fn skill_file(name: &str) -> String {
    format!("---\nname: {name}\ndescription: Does things.\n---\n# {name}\n")
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    fs::write(path, text).expect("a file");
}

fn yaml(yaml: &str) -> Result<Value, String> {
    let file = format!("---\n{yaml}\n---\ntext");
    parse(&file).map(|found| serde_json::from_str(&found.json).expect("JSON"))
}

#[test]
fn frontmatter_is_json_with_all_members() {
    let text = "name: a-1\ndescription: >\n  Two\n  lines: here\nmetadata:\n  version: \"1.0\"\n  tags: [x, 2, true, null]\n\
                allowed-tools: Read Write\n";
    let found = yaml(text).expect("frontmatter");
    assert_eq!(found["description"], "Two lines: here\n");
    assert_eq!(found["metadata"], serde_json::json!({"version": "1.0", "tags": ["x", 2, true, null]}));
    assert_eq!(found["allowed-tools"], "Read Write");
    for windows in ["---\r\nname: a\r\ndescription: d\r\n---\r\n", "\u{feff}---\nname: a\ndescription: d\n---"] {
        assert_eq!(parse(windows).expect("frontmatter").name, "a");
    }
}

#[test]
fn frontmatter_that_is_wrong_says_why() {
    for (text, why) in [
        ("name: a", "find description in the frontmatter"),
        ("description: d", "find name in the frontmatter"),
        ("name: 1\ndescription: d", "name is not a text"),
        ("name: A\ndescription: d", "name must be 1 to 64"),
        ("name: a\ndescription: ' '", "description must have 1 to 1024 characters"),
        ("- name", "not a mapping"),
        ("name: [a", "read the frontmatter as YAML"),
        ("name: a\nname: b\ndescription: d", "read the frontmatter as YAML"),
    ] {
        let error = yaml(text).expect_err(text);
        assert!(error.contains(why) && !error.contains('\n'), "{text}: {error}");
    }
    for (file, why) in [
        ("# no\n", "the first line is not ---"),
        ("---\nname: a\n", "find the end of the frontmatter"),
        ("", "the first line is not ---"),
    ] {
        assert!(parse(file).expect_err(file).contains(why), "{file}");
    }
}

#[test]
fn frontmatter_is_bounded() {
    let with = |more: &str| yaml(&format!("name: a\ndescription: d\n{more}"));
    let description = |length: usize| yaml(&format!("name: a\ndescription: {}", "é".repeat(length)));
    assert!(description(1024).is_ok() && description(1025).is_err());
    // Bytes: exactly the limit between the two lines, and one more.
    let sized = |size: usize| {
        let start = "---\nname: a\ndescription: d\n#";
        let file = format!("{start}{}\n---\n", "x".repeat(size - (start.len() - 4) - 1));
        parse(&file)
    };
    assert!(sized(MAX_FRONTMATTER - 8).is_ok());
    let error = sized(MAX_FRONTMATTER + 1).expect_err("too long");
    assert!(error.contains("more than 65536 bytes"), "{error}");
    // A character that the limit divides is no error of its own.
    let long = format!("---\nname: a\n#{}", "é".repeat(MAX_FRONTMATTER));
    assert!(parse(&long).expect_err("too long").contains("more than 65536 bytes"));
    let nested = |depth: usize| with(&format!("a: {}{}", "[".repeat(depth), "]".repeat(depth)));
    assert!(nested(12).is_ok() && nested(20).is_err());
    let many = |count: usize| with(&format!("a: [{}]", "1, ".repeat(count)));
    assert!(many(4000).is_ok() && many(5000).is_err());
    // Eleven values that stand for 9^9 others.
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..10 {
        let before = level - 1;
        bomb += &format!("a{level}: &a{level} [{}]\n", vec![format!("*a{before}"); 9].join(", "));
    }
    assert!(with(&bomb).is_err());
    let long = "x".repeat(32 << 10);
    let repeated = |times: usize| with(&format!("a: &a {long}\nb: [{}]", vec!["*a"; times].join(", ")));
    assert!(repeated(6).is_ok());
    let error = repeated(7).expect_err("large");
    assert!(error.contains("more than 262144 bytes"), "{error}");
}

#[test]
fn names_are_those_of_the_specification() {
    for name in ["a", "pdf-processing", "1", "a-1-b", &"x".repeat(64)] {
        assert!(is_skill_name(name), "{name}");
    }
    for name in ["", "-a", "a-", "a--b", "A", "a_b", "ä", "a b", &"x".repeat(65)] {
        assert!(!is_skill_name(name), "{name}");
    }
}

#[test]
fn a_skill_has_all_of_its_files_with_digests() {
    let plugins = Plugins::new();
    let folder = plugins.skill("demo");
    write(&folder.join("references/a b.md"), "abc");
    fs::write(folder.join("data"), [0xff, 0]).expect("a file");
    write(&folder.join("inner/SKILL.md"), &skill_file("inner"));
    write(&folder.join("inner/x.txt"), "");
    let tree = plugins.tree("demo");
    let skills = tree.skills();
    let uris: Vec<&str> = skills.iter().map(Skill::uri).collect();
    assert_eq!(uris, ["skill://demo/SKILL.md", "skill://demo/inner/SKILL.md"]);
    let files: Vec<&str> = skills[0].files().map(|file| file.uri.as_str()).collect();
    let inner = ["skill://demo/inner/SKILL.md", "skill://demo/inner/x.txt"];
    assert_eq!(
        files,
        ["skill://demo/SKILL.md", "skill://demo/data", inner[0], inner[1], "skill://demo/references/a%20b.md"]
    );
    let files: Vec<&str> = skills[1].files().map(|file| file.uri.as_str()).collect();
    assert_eq!((files, skills[1].name()), (inner.to_vec(), "inner"));
    let abc = tree.file("skill://demo/references/a%20b.md").expect("a file");
    // FIPS 180-2, appendix B.1.
    assert_eq!(abc.digest, "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    assert_eq!(tree.file("skill://demo/%64ata").expect("a file").media_type, "application/octet-stream");
    for absent in
        ["skill://demo", "skill://demo/", "skill://demo/references", "skill://demo2/SKILL.md", "skill://demo/../x"]
    {
        assert!(tree.file(absent).is_none(), "{absent}");
    }
}

#[test]
fn folders_list_their_direct_children() {
    let plugins = Plugins::new();
    let folder = plugins.skill("demo");
    write(&folder.join("a/b/c.md"), "c");
    write(&folder.join("a.txt"), "c");
    let tree = plugins.tree("demo");
    let children = |uri: &str| {
        let children = tree.children(uri)?;
        Some(children.into_iter().map(|child| (child.uri, child.file.is_none())).collect::<Vec<_>>())
    };
    let named = |uri: &str, is_folder| (uri.to_owned(), is_folder);
    let root =
        [named("skill://demo/SKILL.md", false), named("skill://demo/a", true), named("skill://demo/a.txt", false)];
    assert_eq!(children("skill://demo").as_deref(), Some(&root[..]));
    assert_eq!(children("skill://demo/a").as_deref(), Some(&[named("skill://demo/a/b", true)][..]));
    for absent in
        ["skill://demo/", "skill://demo/a/", "skill://demo/SKILL.md", "skill://demo/x", "skill://dem", "skill://"]
    {
        assert_eq!(children(absent), None, "{absent}");
    }
}

#[test]
fn what_may_not_be_in_a_skill_is_refused_by_its_name() {
    let plugins = Plugins::new();
    let with = |name: &str, make: &dyn Fn(&Path)| {
        let folder = plugins.skill(name);
        make(&folder);
        plugins.refusal(name)
    };
    let link = with("link", &|folder| symlink("/etc/passwd", folder.join("x")).expect("a link"));
    assert_eq!(link, "follow a symbolic link: /skills/link/x");
    let hidden = with("hidden", &|folder| write(&folder.join("a/.git"), ""));
    assert_eq!(hidden, "read a hidden file: /skills/hidden/a/.git");
    let fifo = with("fifo", &|folder| {
        rustix::fs::mkfifoat(rustix::fs::CWD, folder.join("x"), rustix::fs::Mode::RUSR).expect("a FIFO");
    });
    assert_eq!(fifo, "read what is neither a file nor a folder: /skills/fifo/x");
    let bytes = with("bytes", &|folder| {
        let name = <std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(b"\xff");
        fs::write(folder.join(name), "").expect("a file");
    });
    assert!(bytes.starts_with("read a file name that is not UTF-8"), "{bytes}");
    let open = with("open", &|folder| {
        fs::set_permissions(folder.join(SKILL_FILE), fs::Permissions::from_mode(0o666)).expect("permissions");
    });
    assert_eq!(open, "trust what other users can write: /skills/open/SKILL.md");
    let other = with("other", &|folder| write(&folder.join(SKILL_FILE), &skill_file("another")));
    assert_eq!(other, "use the name 'another', which is not that of its folder, 'other': /skills/other/SKILL.md");
    let none = with("none", &|folder| fs::remove_file(folder.join(SKILL_FILE)).expect("removed"));
    assert_eq!(none, "find SKILL.md in the skill's folder: /skills/none/");
    let nested = with("nested", &|folder| write(&folder.join("in/SKILL.md"), "no"));
    assert!(nested.ends_with("the first line is not ---: /skills/nested/in/SKILL.md"), "{nested}");
    let unseen = with("unseen", &|folder| write(&folder.join("more.md"), "One\r\nt\u{200b}wo\r\n"));
    assert_eq!(unseen, "accept an invisible character, U+200B, in line 2: /skills/unseen/more.md");
    for bytes in [&b"---\nname: binary\n---\n\xff"[..], b"---\nname: binary\n---\n\0"] {
        let binary = with("binary", &|folder| fs::write(folder.join(SKILL_FILE), bytes).expect("a file"));
        assert_eq!(binary, "read the file: it is not UTF-8 text: /skills/binary/SKILL.md");
    }
    let escaped = with("escaped", &|folder| {
        write(&folder.join(SKILL_FILE), "---\nname: escaped\ndescription: \"a\\u202Eb\"\n---\n");
    });
    assert_eq!(escaped, "accept an invisible character, U+202E, in the frontmatter: /skills/escaped/SKILL.md");
    let mark = plugins.skill("mark");
    write(&mark.join(SKILL_FILE), &format!("\u{feff}{}Emoji: 👨\u{200d}👩\r\n", skill_file("mark")));
    plugins.tree("mark");
    plugins.skill("Capital");
    assert_eq!(plugins.refusal("Capital"), "use the folder's name for a skill: /skills/Capital");
    // Beside skills, files and hidden folders are no mistake.
    write(&plugins.0.path().join("skills/README.md"), "");
    write(&plugins.0.path().join("skills/.git/config"), "");
    assert_eq!(plugins.collect().skills.len(), 13);
}

#[test]
fn a_linked_folder_of_skills_is_refused() {
    let plugins = Plugins::new();
    let root = plugins.0.path().join(FOLDER);
    fs::rename(&root, plugins.0.path().join("elsewhere")).expect("renamed");
    symlink("elsewhere", &root).expect("a link");
    let errors = plugins.collect().errors;
    assert!(errors[0].to_string().starts_with("follow a symbolic link: "), "{errors:?}");
    fs::remove_file(&root).expect("removed");
    assert!(plugins.collect().folders.is_empty(), "none is no error");
}

#[test]
fn a_skill_has_limits() {
    let plugins = Plugins::new();
    let folder = plugins.skill("a");
    for number in 1..MAX_ENTRIES {
        fs::write(folder.join(number.to_string()), "").expect("a file");
    }
    assert_eq!(plugins.tree("a").count(), MAX_ENTRIES);
    fs::write(folder.join("one-more"), "").expect("a file");
    assert_eq!(plugins.refusal("a"), "read more than 512 files and folders: /skills/a");

    let folder = plugins.skill("b");
    let sized = |name: &str, size: u64| {
        fs::File::create(folder.join(name)).and_then(|file| file.set_len(size)).expect("a file");
    };
    sized("x", MAX_FILE);
    assert_eq!(plugins.tree("b").count(), 2);
    sized("x", MAX_FILE + 1);
    assert_eq!(plugins.refusal("b"), "read a file of more than 4194304 bytes: /skills/b/x");
    let own = fs::metadata(folder.join(SKILL_FILE)).expect("a file").len();
    for name in ["x", "y", "z"] {
        sized(name, MAX_FILE);
    }
    sized("rest", MAX_FILE - own);
    assert_eq!(plugins.tree("b").size(), MAX_SIZE);
    sized("rest", MAX_FILE - own + 1);
    assert_eq!(plugins.refusal("b"), "read more than 16777216 bytes: /skills/b");

    let folder = plugins.skill("c");
    let deep = ["d"; MAX_DEPTH - 1].join("/");
    write(&folder.join(&deep).join("x"), "");
    assert_eq!(plugins.tree("c").count(), 2);
    fs::create_dir(folder.join(&deep).join("d")).expect("a folder");
    assert!(plugins.refusal("c").starts_with("read more than 8 folders deep: /skills/c/d/"));

    let folder = plugins.skill("d");
    let long = |length: usize| format!("{}/{}", "l".repeat(255), "l".repeat(length - 256));
    let path = |length: usize| folder.join("p").join(long(length - 2));
    write(&path(MAX_PATH - 1), "");
    assert_eq!(plugins.tree("d").count(), 2);
    fs::create_dir_all(folder.join(long(MAX_PATH - 1))).expect("folders");
    write(&folder.join(long(MAX_PATH - 1)).join("x"), "");
    assert!(plugins.refusal("d").starts_with("read a path of more than 512 bytes: "));
}

#[test]
fn all_skills_together_have_limits() {
    let plugins = Plugins::new();
    for number in 0..=MAX_SKILLS {
        plugins.skill(&format!("s{number:03}"));
    }
    let collection = plugins.collect();
    assert_eq!((collection.skills.len(), collection.errors.len()), (MAX_SKILLS, 1));
    assert!(collection.errors[0].to_string().contains("serve more than 128 skills"));

    let plugins = Plugins::new();
    for name in ["a", "b", "c", "d", "e", "f"] {
        let folder = plugins.skill(name);
        for file in ["w", "x", "y"] {
            fs::File::create(folder.join(file)).and_then(|file| file.set_len(MAX_FILE)).expect("a file");
        }
    }
    // Five of 12 MiB and a little fit into 64 MiB.
    assert!(plugins.refusal("f").starts_with("read more than 4096 files and 67108864 bytes of all skills"));
    assert_eq!(plugins.tree("e").count(), 4);

    let plugins = Plugins::new();
    for skill in 0..9 {
        let folder = plugins.skill(&format!("s{skill}"));
        for number in 1..500 {
            fs::write(folder.join(number.to_string()), "").expect("a file");
        }
    }
    assert!(plugins.refusal("s8").starts_with("read more than 4096 files"));
    assert_eq!(plugins.tree("s7").count(), 500);
}

#[test]
fn a_changed_skill_is_read_once_two_looks_find_the_same() {
    let plugins = Plugins::new();
    let folder = plugins.skill("a");
    let first = plugins.collect();
    let again = collect(&plugins.0.path().join(FOLDER), &first, false);
    assert!(Arc::ptr_eq(&tree(&first, "a"), &tree(&again, "a")), "unchanged, it is not read again");
    write(&folder.join("x"), "1");
    let changing = collect(&plugins.0.path().join(FOLDER), &first, false);
    assert!(changing.is_changing() && matches!(changing.skills["a"].state, State::Changing));
    write(&folder.join("x"), "12");
    let still = collect(&plugins.0.path().join(FOLDER), &changing, false);
    assert!(still.is_changing());
    let read = collect(&plugins.0.path().join(FOLDER), &still, false);
    assert_eq!(tree(&read, "a").file("skill://a/x").expect("a file").bytes, b"12");
    assert!(!read.is_changing());
}

#[test]
fn what_is_approved_changes_with_each_byte() {
    let plugins = Plugins::new();
    let folder = plugins.skill("a");
    fs::write(folder.join("b"), [0xff, 1]).expect("a file");
    let before = plugins.tree("a").canonical();
    let parsed: Value = serde_json::from_str(&before).expect("JSON");
    assert_eq!(parsed["files"][0]["name"], SKILL_FILE);
    assert_eq!(parsed["files"][0]["text"], skill_file("a"));
    assert!(parsed["files"][1]["digest"].as_str().is_some_and(|digest| digest.starts_with("sha256:")));
    fs::write(folder.join("b"), [0xff, 2]).expect("a file");
    let other = plugins.tree("a").canonical();
    assert_ne!(before, other);
    // Texts beyond the limit are compared by digest.
    write(&folder.join("long.md"), &"x".repeat(1 << 20));
    let long = plugins.tree("a").canonical();
    assert!(long.len() < 2000 && long != other);
    fs::rename(folder.join("b"), folder.join("c")).expect("renamed");
    assert_ne!(plugins.tree("a").canonical(), long);
}
