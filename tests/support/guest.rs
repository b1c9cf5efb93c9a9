//! Small plugins generated from WebAssembly text, without a compiler. Only this module and its
//! submodules know the layout of the canonical ABI.

pub mod asking;
pub mod bodies;
mod contents;
mod imports;
mod listing;

use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

use super::home::repository;

/// Addresses in the guest's memory, in bytes. The texts are followed by the list of tools, and that by
/// the heap.
const TOOLS_RESULT: usize = 16;
const CALL_RESULT: usize = 64;
/// The result of a host function: a pointer and a length, or a discriminant and those.
const GIVEN: usize = 128;
const CONTENT: usize = 256;
const TEXTS: usize = 4096;

/// Bytes of a `tool` record; absent optional members are zero.
const TOOL_SIZE: usize = 84;

/// Maximum number of bytes of one write to a stream.
const MOST_WRITTEN: usize = 4096;

/// A plugin with one or more tools, which all return the same text and may do something before.
pub struct Guest {
    tools: Vec<Tool>,
    /// Instructions at the beginning of `list-tools` and of the start function, as text.
    listing: String,
    starting: String,
    /// Instructions at the beginning of `call-tool`.
    calling: String,
    answer: Text,
    texts: Vec<u8>,
}

struct Tool {
    name: String,
    schema: String,
    description: Option<Text>,
    output_schema: Option<String>,
    meta: Option<String>,
}

/// A text in the guest's memory.
#[derive(Clone, Copy)]
struct Text {
    at: usize,
    len: usize,
}

impl Guest {
    /// One tool, `version`, that returns that text.
    pub fn returning(answer: &str) -> Self {
        let mut guest = Self {
            tools: Vec::new(),
            listing: String::new(),
            starting: String::new(),
            calling: String::new(),
            answer: Text { at: 0, len: 0 },
            texts: Vec::new(),
        };
        guest.answer = guest.text(answer);
        guest.tools(&[("version", r#"{"type":"object"}"#)])
    }

    /// Its tool never returns.
    pub fn spinning() -> Self {
        Self { calling: bodies::SPIN.into(), ..Self::returning("never") }
    }

    /// Its tool traps.
    pub fn trapping() -> Self {
        Self { calling: bodies::TRAP.into(), ..Self::returning("never") }
    }

    /// Its listing never returns.
    pub fn spinning_in_list() -> Self {
        Self { listing: bodies::SPIN.into(), ..Self::returning("never") }
    }

    /// Its listing traps.
    pub fn trapping_in_list() -> Self {
        Self { listing: bodies::TRAP.into(), ..Self::returning("never") }
    }

    /// Its start function never returns.
    pub fn spinning_in_start() -> Self {
        Self { starting: bodies::SPIN.into(), ..Self::returning("never") }
    }

    /// Its tool returns the numbers of environment variables, arguments, folders and bytes on stdin. A
    /// character that is not a digit is more than nine.
    pub fn reporting_environment() -> Self {
        let mut guest = Self::returning("variables ?, arguments ?, folders ?, input ?");
        let holes: Vec<usize> = (0..).zip(&guest.texts).filter(|(_, byte)| **byte == b'?').map(|(at, _)| at).collect();
        let lists = ["$environment", "$arguments", "$folders"].map(|list| format!("(call {list} (i32.const {GIVEN}))"));
        let read = format!("(call $read (call $stdin) (i64.const 64) (i32.const {GIVEN}))");
        // A list is a pointer and its length. A read has them after a discriminant, or is the end.
        let count = format!("(i32.load (i32.const {}))", GIVEN + 4);
        let bytes =
            format!("(select (i32.const 0) (i32.load (i32.const {})) (i32.load8_u (i32.const {GIVEN})))", GIVEN + 8);
        let asked = lists.iter().map(|call| (call, &count)).chain([(&read, &bytes)]);
        for (hole, (call, found)) in holes.iter().zip(asked) {
            guest.calling += &format!(
                "(memory.fill (i32.const {GIVEN}) (i32.const 255) (i32.const 16)) {call}
                 (i32.store8 (i32.const {}) (i32.add (i32.const 48) {found}))\n",
                TEXTS + hole
            );
        }
        guest
    }

    /// Replaces the tools, each a name and its schema.
    pub fn tools(mut self, tools: &[(&str, &str)]) -> Self {
        let tool = |(name, schema): &(&str, &str)| Tool {
            name: (*name).into(),
            schema: (*schema).into(),
            description: None,
            output_schema: None,
            meta: None,
        };
        self.tools = tools.iter().map(tool).collect();
        self
    }

    /// Adds a tool with that description.
    pub fn described(mut self, name: &str, description: &str) -> Self {
        self.describe(name, description);
        self
    }

    /// Adds a tool that runs these instructions before it answers.
    pub fn does(mut self, name: &str, body: &str) -> Self {
        let Text { at, len } = self.text(name);
        self.calling += &format!(
            "(if (call $same (local.get 0) (local.get 1) (i32.const {at}) (i32.const {len})) (then {body}))\n"
        );
        self.described(name, "Does something.")
    }

    /// Adds a tool that runs these instructions, and fails with its answer.
    pub fn fails(self, name: &str, body: &str) -> Self {
        self.does(name, &format!("{body} {}", failing()))
    }

    /// Adds a tool with this structured content beside its answer.
    pub fn returns_structured(mut self, name: &str, structured: &str) -> Self {
        let Text { at, len } = self.text(structured);
        let body = format!(
            "(i32.store8 (i32.const {}) (i32.const 1))
             (i32.store (i32.const {}) (i32.const {at}))
             (i32.store (i32.const {}) (i32.const {len}))",
            CALL_RESULT + 16,
            CALL_RESULT + 20,
            CALL_RESULT + 24
        );
        self.does(name, &body)
    }

    /// Adds a tool with this structured content and that output schema.
    pub fn returns_with_schema(mut self, name: &str, schema: &str, structured: &str) -> Self {
        self = self.returns_structured(name, structured);
        self.tools.last_mut().expect("just added").output_schema = Some(schema.into());
        self
    }

    /// Adds a tool whose answer claims that many zero bytes, of which only those in `pages` new pages are
    /// in its memory.
    pub fn returns_bytes(self, name: &str, bytes: usize, pages: usize) -> Self {
        let body = format!(
            "(i32.store (i32.const {}) (i32.mul (memory.grow (i32.const {pages})) (i32.const 65536)))
             (i32.store (i32.const {}) (i32.const {bytes}))",
            CONTENT + 8,
            CONTENT + 12
        );
        self.does(name, &body)
    }

    /// Adds a tool that prints this text.
    pub fn prints(mut self, name: &str, text: &str) -> Self {
        let Text { at, len } = self.text(text);
        let mut body = String::new();
        for start in (0..len).step_by(MOST_WRITTEN) {
            let part = MOST_WRITTEN.min(len - start);
            body += &format!(
                "(call $write (call $stdout) (i32.const {}) (i32.const {part}) (i32.const {GIVEN}))\n",
                at + start
            );
        }
        self.does(name, &body)
    }

    /// Adds a tool that prints this to stderr that many times, then `last`, then runs `rest`.
    pub fn prints_errors(mut self, name: &str, text: &str, times: usize, last: &str, rest: &str) -> Self {
        let print = |Text { at, len }: Text| {
            format!("(call $write (call $stderr) (i32.const {at}) (i32.const {len}) (i32.const {GIVEN}))")
        };
        let (text, last) = (print(self.text(text)), print(self.text(last)));
        let body = format!(
            "(loop $again
               {text}
               (local.set $n (i32.add (local.get $n) (i32.const 1)))
               (br_if $again (i32.lt_u (local.get $n) (i32.const {times}))))
             {last} {rest}"
        );
        self.does(name, &body)
    }

    /// Adds a tool that logs this that many times as a warning, then runs `rest`.
    pub fn logs(mut self, name: &str, text: &str, times: usize, rest: &str) -> Self {
        let Text { at, len } = self.text(text);
        let body = format!(
            "(loop $again
               (call $log (i32.const 3) (i32.const {at}) (i32.const {len}))
               (local.set $n (i32.add (local.get $n) (i32.const 1)))
               (br_if $again (i32.lt_u (local.get $n) (i32.const {times}))))
             {rest}"
        );
        self.does(name, &body)
    }

    /// Adds a tool that logs this at the level `debug`, which then returns.
    pub fn logs_debug(mut self, name: &str, text: &str) -> Self {
        let Text { at, len } = self.text(text);
        self.does(name, &format!("(call $log (i32.const 0) (i32.const {at}) (i32.const {len}))"))
    }

    /// Adds a tool that reports progress that many times, then runs `rest`.
    pub fn reports_progress_times(self, name: &str, times: usize, rest: &str) -> Self {
        let body = format!(
            "(loop $again
               (local.set $n (i32.add (local.get $n) (i32.const 1)))
               (call $progress (f64.convert_i32_u (local.get $n))
                 (i32.const 0) (f64.const 0) (i32.const 0) (i32.const 0) (i32.const 0))
               (br_if $again (i32.lt_u (local.get $n) (i32.const {times}))))
             {rest}"
        );
        self.does(name, &body)
    }

    /// Adds a tool that notifies new contents of this resource.
    pub fn updates(mut self, name: &str, uri: &str) -> Self {
        let Text { at, len } = self.text(uri);
        self.does(name, &format!("(call $updated (i32.const {at}) (i32.const {len}))"))
    }

    /// The component's bytes.
    pub fn build(&self) -> Vec<u8> {
        let mut module = wat::parse_str(self.module()).expect("valid text");
        let mut resolve = Resolve::default();
        resolve.push_dir(repository().join("wit")).expect("the plugin interface");
        let package = resolve.push_str("wasi.wit", include_str!("guest/wasi.wit")).expect("a world of the tests");
        let world = resolve.select_world(&[package], Some("guest")).expect("a world of it");
        embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8).expect("metadata");
        let mut encoder = ComponentEncoder::default().module(&module).expect("a module of that world");
        encoder.encode().expect("a component")
    }

    /// Adds a tool, and returns the address of its description.
    fn describe(&mut self, name: &str, description: &str) -> Text {
        let description = self.text(description);
        let (name, schema) = (name.into(), r#"{"type":"object"}"#.into());
        self.tools.push(Tool { name, schema, description: Some(description), output_schema: None, meta: None });
        description
    }

    /// Puts a text into the guest's memory.
    fn text(&mut self, text: &str) -> Text {
        let at = TEXTS + self.texts.len();
        self.texts.extend_from_slice(text.as_bytes());
        Text { at, len: text.len() }
    }

    fn module(&self) -> String {
        let (texts, tools) = self.memory();
        let list = TEXTS + texts.len();
        let heap = (list + tools.len()).next_multiple_of(8);
        let instructions = format!("{}{}{}", self.listing, self.starting, self.calling);
        format!(
            r#"(module
              {imports}
              {table}
              (memory (export "memory") {pages})
              (global $heap (mut i32) (i32.const {heap}))
              (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32)
                (global.get $heap)
                (global.set $heap (i32.and
                  (i32.add (i32.add (global.get $heap) (local.get 3)) (i32.const 7)) (i32.const -8))))
              (func $same (param $a i32) (param $a_len i32) (param $b i32) (param $b_len i32) (result i32)
                (if (i32.ne (local.get $a_len) (local.get $b_len)) (then (return (i32.const 0))))
                (loop $next
                  (if (i32.eqz (local.get $a_len)) (then (return (i32.const 1))))
                  (local.set $a_len (i32.sub (local.get $a_len) (i32.const 1)))
                  (br_if $next (i32.eq
                    (i32.load8_u (i32.add (local.get $a) (local.get $a_len)))
                    (i32.load8_u (i32.add (local.get $b) (local.get $a_len))))))
                (i32.const 0))
              (func $deeper (param i32) (result i32)
                (i32.add (i32.const 1) (call $deeper (i32.add (local.get 0) (i32.const 1)))))
              (func $begin {starting})
              (start $begin)
              (func (export "wharf:plugin/tools@0.1.0#list-tools") (result i32)
                {listing} (i32.const {TOOLS_RESULT}))
              (func (export "wharf:plugin/tools@0.1.0#call-tool")
                (param i32 i32 i32 i32 i32 i32 i32 i64 i32 i32 i32 i32 i32 i32 i32 i32) (result i32)
                (local $n i32)
                {calling} (i32.const {CALL_RESULT}))
              {results}
              (data (i32.const {TEXTS}) "{texts}")
              (data (i32.const {list}) "{tools}"))"#,
            imports = imports::called_by(&instructions),
            table = if instructions.contains("$table") { "(table $table 1 funcref)" } else { "" },
            // One page more than needed.
            pages = heap / 65_536 + 2,
            starting = self.starting,
            listing = self.listing,
            calling = self.calling,
            results = self.results(list),
            texts = escaped(&texts),
            tools = escaped(&tools),
        )
    }

    /// The results, as data segments: all discriminants of the success cases are zero.
    fn results(&self, list: usize) -> String {
        let data = |at: usize, first: usize, second: usize| {
            format!("(data (i32.const {at}) \"{}\")\n", escaped(&pair(first, second)))
        };
        [
            // `ok` of a list, then pointer and length.
            data(TOOLS_RESULT + 4, list, self.tools.len()),
            // `ok(complete(…))` whose content is one text.
            data(CALL_RESULT + 8, CONTENT, 1),
            data(CONTENT + 8, self.answer.at, self.answer.len),
        ]
        .concat()
    }

    /// The texts, padded, and the tool records after them.
    fn memory(&self) -> (Vec<u8>, Vec<u8>) {
        let mut texts = self.texts.clone();
        let mut tools = Vec::with_capacity(self.tools.len() * TOOL_SIZE);
        let mut place = |text: &str| {
            let at = TEXTS + texts.len();
            texts.extend_from_slice(text.as_bytes());
            pair(at, text.len())
        };
        for tool in &self.tools {
            let mut record = [0; TOOL_SIZE];
            record[..8].copy_from_slice(&place(&tool.name));
            if let Some(description) = tool.description {
                record[20] = 1;
                record[24..32].copy_from_slice(&pair(description.at, description.len));
            }
            record[32..40].copy_from_slice(&place(&tool.schema));
            if let Some(schema) = &tool.output_schema {
                record[40] = 1;
                record[44..52].copy_from_slice(&place(schema));
            }
            if let Some(meta) = &tool.meta {
                record[72] = 1;
                record[76..84].copy_from_slice(&place(meta));
            }
            tools.extend_from_slice(&record);
        }
        texts.resize(texts.len().next_multiple_of(8), 0);
        (texts, tools)
    }
}

/// Instructions that make the answer an error.
fn failing() -> String {
    format!("(i32.store8 (i32.const {}) (i32.const 1))", CALL_RESULT + 28)
}

/// Two little-endian words.
fn pair(first: usize, second: usize) -> [u8; 8] {
    let [first, second] = [first, second].map(|word| u32::try_from(word).expect("a small guest").to_le_bytes());
    let mut both = [0; 8];
    both[..4].copy_from_slice(&first);
    both[4..].copy_from_slice(&second);
    both
}

/// Bytes as escapes of the text format.
fn escaped(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("\\{byte:02x}")).collect()
}

#[test]
fn generated_guests_are_valid_components() {
    let two = r#"{"type":"object"}"#;
    for guest in [
        Guest::returning("1"),
        Guest::spinning(),
        Guest::trapping_in_list(),
        Guest::spinning_in_start(),
        Guest::reporting_environment(),
        Guest::returning("").tools(&[("a", two), ("b", two)]).meta("{}"),
        Guest::returning("").does("a", bodies::EXIT).does("b", bodies::RECUR).prints("c", "x").logs("d", "x", 3, ""),
        Guest::returning("").does("a", bodies::GROW_TABLE),
        Guest::returning("").returns_with_schema("a", "{}", "{}").returns_bytes("b", 1 << 20, 16).described("c", "C"),
        Guest::returning("").listing_needs_variable().lists_variable_count("a").lists_differently("b"),
        Guest::returning("").asks("a", &[("k", asking::ROOTS)]).reports_progress_times("b", 3, "").updates("c", "x:y"),
        Guest::returning("?")
            .notifies_list_changed("a", "")
            .counts_variables("b")
            .returns_letters("c", 1 << 20)
            .returns_meta("d", "{}"),
        Guest::returning("")
            .described("a", "A")
            .input_schema("{}")
            .output_schema("{}")
            .meta("{}")
            .reports_progress("b", "x")
            .logs_data("c", "l", "1"),
    ] {
        let mut validator = wasmparser::Validator::new_with_features(wasmparser::WasmFeatures::all());
        validator.validate_all(&guest.build()).expect("a valid component");
    }
}
