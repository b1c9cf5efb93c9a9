//! A note, and the book that they are kept in. Each note has a key of its own: calls run
//! side by side, and one list of all notes would lose what two of them add at once.

use wharf_plugin::*;

use crate::moment;

pub(crate) const MIME_TYPE: &str = "text/markdown";
/// Letters of a title.
const TITLE: usize = 80;

/// What is kept under its id.
#[derive(Serialize, Deserialize)]
pub(crate) struct Note {
    #[serde(skip)]
    pub(crate) id: u64,
    pub(crate) title: String,
    pub(crate) text: String,
    /// When it was written, in ISO 8601.
    written: String,
}

impl Note {
    pub(crate) fn uri(&self) -> String {
        format!("notes://{}", self.id)
    }

    pub(crate) fn resource(&self) -> Resource {
        Resource::new(self.uri(), format!("note {}", self.id))
            .title(self.title.as_str())
            .mime_type(MIME_TYPE)
            .size(self.text.len() as u64)
            .last_modified(self.written.as_str())
    }

    pub(crate) fn contents(&self) -> ResourceContents {
        ResourceContents::text(self.uri(), self.text.as_str()).mime_type(MIME_TYPE)
    }
}

/// All notes.
pub(crate) struct Book {
    notes: Store,
}

impl Book {
    pub(crate) fn open() -> Result<Self> {
        Ok(Self { notes: Store::bucket("notes")? })
    }

    pub(crate) fn add(&self, title: Option<String>, text: String) -> Result<Note> {
        let title = title.filter(|title| !title.trim().is_empty()).unwrap_or_else(|| first_line(&text).to_owned());
        let title = title.trim().chars().filter(|letter| !letter.is_control()).take(TITLE).collect();
        let id = Store::bucket("ids")?.increment("last", 1)?;
        let note = Note { id, title, text, written: moment::now() };
        self.notes.set(&id.to_string(), &note)?;
        Ok(note)
    }

    pub(crate) fn get(&self, id: u64) -> Result<Option<Note>> {
        let note = self.notes.get::<Note>(&id.to_string())?;
        Ok(note.map(|note| Note { id, ..note }))
    }

    pub(crate) fn delete(&self, id: u64) -> Result<()> {
        self.notes.delete(&id.to_string())
    }

    /// Newest first.
    pub(crate) fn ids(&self) -> Result<Vec<u64>> {
        let mut ids: Vec<u64> = self.notes.keys()?.iter().filter_map(|key| key.parse().ok()).collect();
        ids.sort_unstable_by(|a, b| b.cmp(a));
        Ok(ids)
    }

    /// At most so many, newest first.
    pub(crate) fn newest(&self, most: usize) -> Result<Vec<Note>> {
        // What another call deletes meanwhile is left out.
        self.ids()?.into_iter().take(most).filter_map(|id| self.get(id).transpose()).collect()
    }
}

fn first_line(text: &str) -> &str {
    text.lines().map(|line| line.trim_start_matches('#').trim()).find(|line| !line.is_empty()).unwrap_or("Note")
}
