//! Settings without effect: of a name that is like that of a plugin in the folder, since a misspelt one would grant nothing,
//! and grants of folders that do not exist or are never given, of addresses that are not public, and of secrets that
//! cannot be read.

use std::collections::BTreeSet;
use std::path::Path;
use std::{fs, io};

use wharf_report::{ShowPath as _, shell_text, shell_word};

use crate::config::Config;
use crate::plugin::{FolderGrant, Grants, HttpGrant, PluginId, ProtectedFolders, Secret, folder_objection};
use crate::protocol::nearest::did_you_mean;

/// Warnings about one folder.
const MAX_NAMED: usize = 16;

/// A warning about settings without effect.
pub(super) struct Absent {
    /// The plugin that they may be meant for.
    pub(super) meant: String,
    pub(super) text: String,
}

/// A warning about a granted folder that does not exist, or is not a folder.
fn unfound(id: &PluginId, folder: &FolderGrant) -> Option<String> {
    let (host, guest) = (&folder.host, &folder.guest);
    if folder.found.is_some() {
        return None;
    }
    Some(match fs::metadata(host) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let command = shell_word(host);
            format!("{guest} of {id} has no effect: {} does not exist; create it: mkdir -p {command}", host.shown())
        }
        Err(error) => format!("{guest} of {id} has no effect: {}: {error}", host.shown()),
        Ok(_) => format!("{guest} of {id} has no effect: {} is not a folder that can be read", host.shown()),
    })
}

/// Warnings about all grants that the host would not give as they are. Looks through the folders.
pub(super) fn grants(id: &PluginId, grants: &Grants, protected: &ProtectedFolders) -> Vec<String> {
    let folder = |folder: &FolderGrant| {
        let objection = folder_objection(id, folder, grants.private_files(), protected)?;
        // A folder that is never given need not exist.
        let unfound = unfound(id, folder).filter(|_| objection.is_missing);
        let (host, guest) = (folder.host.shown(), &folder.guest);
        Some(unfound.unwrap_or_else(|| format!("{guest} of {id} has no effect: {host} {}", objection.why)))
    };
    let private = |entry: &HttpGrant| {
        let allowed = entry.clone().private(true);
        let how = match grants.http.contains(entry) {
            true => format!("run: {} {}", grants.command, shell_text(&format!("http={allowed}"))),
            false => format!("write it in [[plugins.{id}.extra]] as {allowed}"),
        };
        format!("{entry} of {id} has no effect: the address is not public; to allow it, {how}")
    };
    let secret = |secret: &Secret| secret.objection().map(|why| format!("the secret {} of {id} {why}", secret.name));
    let folders = grants.parts().flat_map(|part| &part.folders).filter_map(folder);
    let http = grants.parts().flat_map(|part| &part.http).filter(|entry| entry.lacks_private()).map(private);
    let secrets = grants.parts().flat_map(|part| &part.secrets).filter_map(secret);
    let mut seen = BTreeSet::new();
    folders.chain(http).chain(secrets).filter(|text| seen.insert(text.clone())).collect()
}

/// Warnings about `[plugins.NAME]`, rules and budgets, of which the folder has no file, but one of a similar name, and
/// about conditions that nobody meets. `present`: the names of its plugins.
pub(super) fn warnings<'n>(config: &Config, dir: &Path, present: impl Iterator<Item = &'n str>) -> Vec<Absent> {
    let present: Vec<&str> = present.collect();
    let mut warnings = Vec::new();
    for name in config.plugins.keys().filter(|name| !present.contains(&name.as_str())) {
        // Another plugin's own settings are not the ones that were meant for it.
        // But what is for some callers is for a plugin that is there: nobody would notice that it does not apply.
        let is_for_some = !config.plugins[name].extra.is_empty();
        let unset = |present: &&str| is_for_some || !config.plugins.contains_key(*present);
        let unset = present.iter().copied().filter(unset);
        // One configuration serves several folders: a name that no other is like may be in another one.
        if let Some(near) = did_you_mean(name, unset) {
            let dir = dir.shown();
            let text = format!(
                "[plugins.{name}] has no effect here: no plugin in {dir} is called {name}; did you mean {near}?"
            );
            warnings.push(Absent { meant: near.to_owned(), text });
        }
        if warnings.len() == MAX_NAMED {
            break;
        }
    }
    warnings.extend(config.conditions_for_nobody().map(|text| Absent { meant: String::new(), text }));
    for (name, place) in config.named_plugins().filter(|(name, _)| !present.contains(name)) {
        if warnings.len() >= MAX_NAMED {
            break;
        }
        if let Some(near) = did_you_mean(name, present.iter().copied()) {
            let dir = dir.shown();
            let text = format!("{place} names {name}, and no plugin in {dir} is called that; did you mean {near}?");
            warnings.push(Absent { meant: near.to_owned(), text });
        }
    }
    warnings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn warned(settings: &str, present: &[&str]) -> Vec<(String, String)> {
        let config = Config::with_text(Path::new("wharf.toml"), settings.to_owned()).expect("a configuration");
        let warnings = warnings(&config, Path::new("plugins"), present.iter().copied());
        warnings.into_iter().map(|absent| (absent.meant, absent.text)).collect()
    }

    #[test]
    fn only_a_name_that_may_be_misspelt_is_warned_of() {
        let misspelt = "[plugins.note.grants]\nkeyvalue = true\n";
        let text = "[plugins.note] has no effect here: no plugin in plugins is called note; did you mean notes?";
        assert_eq!(warned(misspelt, &["notes", "text"]), [("notes".to_owned(), text.to_owned())]);
        assert_eq!(warned(misspelt, &["note", "notes"]), []);
        // Of a plugin in another folder.
        assert_eq!(warned(misspelt, &["weather"]), []);
        // The plugin has its own settings.
        assert_eq!(warned(&format!("{misspelt}[plugins.notes]\nprefix = false\n"), &["notes"]), []);
    }

    #[test]
    fn rules_and_budgets_with_a_misspelt_name_are_warned_of() {
        let rule = "[rights]\ndefault = 'everything'\n[[rights.rules]]\nname = 'closed'\ndeny = true\n";
        let budget = "[[budgets]]\ncalls = 1\n";
        let is_not_there = "names note, and no plugin in plugins is called that; did you mean notes?";
        for (what, place) in [
            (format!("{rule}plugins = ['note']\n"), "the rule 'closed' of [rights]"),
            (format!("{rule}tools = ['note/x']\n"), "the rule 'closed' of [rights]"),
            (format!("{rule}plugins = ['*']\nexcept = ['note/*']\n"), "the rule 'closed' of [rights]"),
            (format!("{budget}tools = ['note/x', 'note/y']\n"), "the budget 'budget 1'"),
        ] {
            assert_eq!(warned(&what, &["notes"]), [("notes".to_owned(), format!("{place} {is_not_there}"))], "{what}");
            assert_eq!(warned(&what, &["note", "notes"]), []);
        }
        assert_eq!(warned(&format!("{rule}plugins = ['note*', 'weather']\n"), &["notes"]), []);
    }

    #[test]
    fn conditions_that_no_token_meets_are_warned_of() {
        let budget = "[[budgets]]\ncalls = 1\nwhen = { subject = 'ci' }\n";
        let [(_, text)] = &warned(budget, &["notes"])[..] else { panic!("one warning") };
        assert!(text.starts_with("the budget 'budget 1' is for nobody: only access tokens have a subject"), "{text}");
        let oauth =
            "[server.http.oauth]\nresource = 'https://a.example/mcp'\nissuers = [{ issuer = 'https://b.example' }]\n";
        assert_eq!(warned(&format!("{oauth}{budget}"), &["notes"]), []);
    }

    #[test]
    fn warnings_are_bounded() {
        let settings: String = (10..60).map(|number| format!("[plugins.weather{number}]\nprefix = false\n")).collect();
        assert_eq!(warned(&settings, &["weather"]).len(), MAX_NAMED);
    }

    #[test]
    fn a_granted_folder_that_is_not_there_is_named_with_the_command_that_makes_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let missing = folder.path().join("data");
        let settings = format!(
            "[plugins.p.grants]\nfs = [{{ host = \"{}\", guest = \"/data\", mode = \"read\" }}]\n",
            missing.to_str().expect("UTF-8")
        );
        let config = Config::with_text(Path::new("wharf.toml"), settings).expect("a configuration");
        let id = PluginId::parse("p").expect("an id");
        let shown = missing.shown();
        let text = format!("/data of p has no effect: {shown} does not exist; create it: mkdir -p {shown}");
        assert_eq!(grants(&id, &config.grants(&id), &ProtectedFolders::default()), [text]);
    }
}
