//! Files of one granted folder: tools to list, read, search and write them, and a resource for
//! each. What is done with the folder is in `folder`, looking through it in `search`.

mod folder;
mod search;
#[cfg(test)]
mod tests;

use folder::{Entry, Folder};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use search::{Found, Query};
use wharf_plugin::*;

struct Files;

/// What resources' URIs begin with.
const SCHEME: &str = "files:///";
/// What stands in a URI's path as something else than it is written.
/// Source: RFC 3986, 2.3 and 3.3.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The URI of a path in the folder.
fn uri(path: &str) -> String {
    format!("{SCHEME}{}", utf8_percent_encode(path, ENCODED))
}

impl Plugin for Files {
    fn tools(&self, tools: &mut Tools) {
        tools
            .add("list", "Lists a folder's files and folders by name, with sizes.", |_, args| {
                list(&Folder::granted()?, args)
            })
            .title("List files")
            .read_only();
        tools
            .add("read", "Reads a text file, or some lines of it; of a long one as much as fits.", |_, args| {
                read(&Folder::granted()?, args)
            })
            .title("Read a file")
            .read_only();
        tools
            .add(
                "search",
                "Finds files by their names or by lines in them, by a text or a regular expression.",
                |_, args| search(&Folder::granted()?, &args),
            )
            .title("Search files")
            .read_only();
        tools
            .add(
                "write",
                "Writes a text file: makes it, replaces it, or adds to its end. Makes folders on the way.",
                |_, args| write(&Folder::granted()?, &args),
            )
            .title("Write a file")
            .destructive(true)
            .open_world(false);
    }

    fn resource_templates(&self) -> Result<Vec<ResourceTemplate>> {
        let template = ResourceTemplate::new(format!("{SCHEME}{{+path}}"), "file");
        Ok(vec![template.title("File").description("A text file by its path in the folder").mime_type("text/plain")])
    }

    fn read_resource(&self, uri: &str, _: &Call) -> Result<ReadResult> {
        let path = uri.strip_prefix(SCHEME).ok_or_else(Error::not_found)?;
        let path = percent_decode_str(path).decode_utf8().map_err(|_| Error::not_found())?;
        let text = Folder::granted()?.text(&path).map_err(|_| Error::not_found())?;
        Ok(ResourceContents::text(uri, text).mime_type("text/plain").into())
    }
}

export!(Files: tools, resources);

#[derive(Deserialize, JsonSchema)]
struct List {
    /// The folder's path; the whole granted folder if absent.
    #[serde(default)]
    path: String,
}

#[derive(Serialize, JsonSchema)]
struct Listed {
    /// By name.
    entries: Vec<Entry>,
    /// Whether there are more.
    cut: bool,
}

fn list(folder: &Folder, args: List) -> Result<Json<Listed>> {
    let (entries, cut) = folder.list(&args.path)?;
    Ok(Json(Listed { entries, cut }))
}

#[derive(Deserialize, JsonSchema)]
struct Read {
    /// The file's path.
    path: String,
    /// The first line that is wanted, from 1.
    #[serde(default = "one")]
    #[schemars(range(min = 1))]
    from: usize,
    /// How many lines; to the end if absent.
    lines: Option<usize>,
}

fn one() -> usize {
    1
}

/// Bytes of text that one call gives.
const GIVEN: usize = 64 << 10;

fn read(folder: &Folder, args: Read) -> Result<ToolResult> {
    let text = folder.text(&args.path)?;
    let total = text.lines().count();
    let (mut given, mut count) = (String::new(), 0);
    for line in text.split_inclusive('\n').skip(args.from - 1).take(args.lines.unwrap_or(usize::MAX)) {
        if given.len() + line.len() > GIVEN {
            break;
        }
        given += line;
        count += 1;
    }
    if count == total {
        return Ok(ToolResult::text(given));
    }
    let which = match count {
        0 if args.from > total => format!("there are {total} lines"),
        0 => format!("line {} has more than {GIVEN} bytes", args.from),
        _ => format!("lines {} to {} of {total}", args.from, args.from + count - 1),
    };
    Ok(ToolResult::text(given).with(Content::text(which)))
}

#[derive(Serialize, JsonSchema)]
struct Matches {
    found: Vec<Found>,
    /// Whether there may be more: a limit was reached.
    cut: bool,
}

fn search(folder: &Folder, query: &Query) -> Result<Json<Matches>> {
    let (found, cut) = search::search(folder, query)?;
    Ok(Json(Matches { found, cut }))
}

/// What to do with a file that is there.
#[derive(Deserialize, JsonSchema, Clone, Copy)]
#[serde(rename_all = "lowercase")]
enum How {
    /// Make it; it must not be there.
    Create,
    /// Make it, or replace all of it.
    Replace,
    /// Make it, or add to its end.
    Append,
}

#[derive(Deserialize, JsonSchema)]
struct Write {
    /// The file's path.
    path: String,
    /// What to write.
    text: String,
    /// Whether a file that is there is left alone, replaced, or added to.
    how: How,
}

fn write(folder: &Folder, args: &Write) -> Result<ToolResult> {
    let size = folder.write(&args.path, &args.text, args.how)?;
    let uri = uri(&args.path);
    resource_updated(&uri);
    let link = Content::link(Resource::new(uri, &args.path).mime_type("text/plain").size(size));
    Ok(ToolResult::text(format!("{} has {size} bytes.", args.path)).with(link))
}
