//! Notes that last from one call to the next: tools to write and find them, a resource for
//! each, and a prompt over them. What a note is and how it is kept is in `note`.

mod moment;
mod note;
#[cfg(test)]
mod tests;

use note::{Book, Note};
use wharf_plugin::*;

struct Notes;

/// Resources that are listed, the newest; the template reaches all. A host takes 128.
const LISTED: usize = 100;
/// Notes in one prompt, the newest.
const SUMMARISED: usize = 20;

impl Plugin for Notes {
    fn tools(&self, tools: &mut Tools) {
        tools
            .add("add", "Keeps a note for later conversations. Gives its id and its URI.", add)
            .title("Add a note")
            .destructive(false)
            .open_world(false);
        tools.add("list", "Lists all notes by id and title, newest first.", list).title("List notes").read_only();
        tools
            .add("search", "Finds notes that contain a text, in whatever case, newest first.", search)
            .title("Search notes")
            .read_only();
        tools
            .add("delete", "Deletes one note, after the user has confirmed it.", delete)
            .title("Delete a note")
            .destructive(true)
            .open_world(false);
    }

    /// Without the grant there are none; the tools say what is missing.
    fn resources(&self) -> Result<Vec<Resource>> {
        let notes = Book::open().and_then(|book| book.newest(LISTED)).unwrap_or_default();
        Ok(notes.iter().map(Note::resource).collect())
    }

    fn resource_templates(&self) -> Result<Vec<ResourceTemplate>> {
        Ok(vec![
            ResourceTemplate::new("notes://{id}", "note")
                .title("Note")
                .description("A note by its id")
                .mime_type(note::MIME_TYPE),
        ])
    }

    fn read_resource(&self, uri: &str, _: &Call) -> Result<ReadResult> {
        let id = uri.strip_prefix("notes://").and_then(|id| id.parse().ok()).ok_or_else(Error::not_found)?;
        let note = Book::open()?.get(id)?.ok_or_else(Error::not_found)?;
        Ok(note.contents().into())
    }

    fn prompts(&self, prompts: &mut Prompts) {
        prompts
            .add("summarise", "Asks for a summary of one note, or of the newest ones", summarise)
            .title("Summarise notes");
    }

    fn complete(&self, typed: &Typed) -> Result<Completion> {
        if typed.argument != "id" {
            return Ok(Completion::default());
        }
        let ids = Book::open()?.ids()?;
        Ok(Completion::from(ids.iter().map(u64::to_string)).starting_with(&typed.value))
    }
}

export!(Notes: tools, resources, prompts, completions);

#[derive(Deserialize, JsonSchema)]
struct Add {
    /// One line; the text's first line if absent.
    title: Option<String>,
    /// The note itself, in Markdown.
    text: String,
}

#[derive(Serialize, JsonSchema)]
struct Added {
    /// The note's id.
    id: u64,
    /// Where it can be read.
    uri: String,
}

/// The address is in the text: agent libraries fail on a link.
fn add(_: &Call, args: Add) -> Result<(Json<Added>, Vec<Content>)> {
    if args.text.trim().is_empty() {
        return Err(Error::invalid("/text", "must not be empty"));
    }
    let note = Book::open()?.add(args.title, args.text)?;
    changed(&note);
    let text = Content::text(format!("Note {} is kept at {}.", note.id, note.uri()));
    Ok((Json(Added { id: note.id, uri: note.uri() }), vec![text]))
}

/// A note in a list.
#[derive(Serialize, JsonSchema)]
struct Entry {
    id: u64,
    title: String,
    /// Where it can be read.
    uri: String,
    /// The first line of its text that contains what was looked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<String>,
}

impl Entry {
    fn new(note: &Note, line: Option<&str>) -> Self {
        Self { id: note.id, title: note.title.clone(), uri: note.uri(), line: line.map(str::to_owned) }
    }
}

#[derive(Serialize, JsonSchema)]
struct Entries {
    /// Newest first.
    notes: Vec<Entry>,
}

fn list(_: &Call, _: NoArguments) -> Result<Json<Entries>> {
    let notes = Book::open()?.newest(usize::MAX)?;
    Ok(Json(Entries { notes: notes.iter().map(|note| Entry::new(note, None)).collect() }))
}

#[derive(Deserialize, JsonSchema)]
struct Search {
    /// What to look for, in titles and texts.
    query: String,
}

fn search(_: &Call, args: Search) -> Result<Json<Entries>> {
    let query = args.query.to_lowercase();
    let notes = Book::open()?.newest(usize::MAX)?;
    let found = |note: &Note| {
        let contains = |text: &str| text.to_lowercase().contains(&query);
        let line = note.text.lines().find(|line| contains(line));
        (line.is_some() || contains(&note.title)).then(|| Entry::new(note, line))
    };
    Ok(Json(Entries { notes: notes.iter().filter_map(found).collect() }))
}

#[derive(Deserialize, JsonSchema)]
struct Delete {
    /// The note's id.
    id: u64,
}

fn delete(call: &Call, args: Delete) -> Result<String> {
    let book = Book::open()?;
    let note = book.get(args.id)?.ok_or_else(|| unknown(args.id))?;
    let (id, title) = (note.id, &note.title);
    // Not only where the client can: a refused question is an error that names the missing grant or capability.
    if !call.confirm(format!("Delete note {id}, '{title}'?"))? {
        return Ok(format!("Note {id} is kept: the user did not confirm."));
    }
    book.delete(id)?;
    changed(&note);
    Ok(format!("Note {id} is deleted."))
}

#[derive(Deserialize, JsonSchema)]
struct Summarise {
    /// The note's id; the newest notes if absent.
    id: Option<String>,
}

fn summarise(_: &Call, args: Summarise) -> Result<PromptResult> {
    let book = Book::open()?;
    let notes = match args.id {
        Some(id) => {
            let id = id.parse().map_err(|_| Error::invalid("/id", "is a whole number"))?;
            vec![book.get(id)?.ok_or_else(|| unknown(id))?]
        }
        None => book.newest(SUMMARISED)?,
    };
    if notes.is_empty() {
        return Err(Error::failed("there are no notes yet"));
    }
    let prompt = PromptResult::user("Summarise these notes in a few sentences.");
    Ok(notes.iter().fold(prompt, |prompt, note| prompt.and_user(Content::embedded(note.contents()))))
}

fn unknown(id: u64) -> Error {
    Error::invalid("/id", format!("there is no note {id}"))
}

/// Tells the host, which tells the clients that want to know.
fn changed(note: &Note) {
    list_changed(Listing::Resources);
    resource_updated(&note.uri());
}
