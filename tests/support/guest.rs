//! Small plugins made on the spot from text, for what no compiler would produce or no test
//! wants to wait for.
//! It runs nothing. The layout of the canonical ABI is spelt out here and only here.

use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

use super::home::repository;

/// Where things lie in the guest's memory, in bytes. What is handed over starts above.
const TOOLS_RESULT: usize = 16;
const CALL_RESULT: usize = 64;
const CONTENT: usize = 256;
const TOOLS: usize = 1024;
const STRINGS: usize = 16_384;
const HEAP: usize = 65_536;

/// Bytes of a `tool` record; every optional member of it that is absent is zero.
const TOOL_SIZE: usize = 84;

/// A plugin with one or more tools that all do the same thing.
pub struct Guest {
    tools: Vec<(String, String)>,
    /// What `list-tools` and `call-tool` do before they answer, as instructions in text.
    listing: String,
    calling: String,
    answer: String,
}

impl Guest {
    /// One tool, `version`, that answers with that text.
    pub fn saying(answer: &str) -> Self {
        Self {
            tools: vec![("version".into(), r#"{"type":"object"}"#.into())],
            listing: String::new(),
            calling: String::new(),
            answer: answer.into(),
        }
    }

    /// Its tool never ends.
    pub fn spinning() -> Self {
        Self { calling: "(loop $for_ever (br $for_ever))".into(), ..Self::saying("never") }
    }

    /// Its tool hits an instruction that stops it.
    pub fn trapping() -> Self {
        Self { calling: "unreachable".into(), ..Self::saying("never") }
    }

    /// It never says what tools it has.
    pub fn spinning_in_list() -> Self {
        Self { listing: "(loop $for_ever (br $for_ever))".into(), ..Self::saying("never") }
    }

    /// It fails to say what tools it has.
    pub fn trapping_in_list() -> Self {
        Self { listing: "unreachable".into(), ..Self::saying("never") }
    }

    /// With these tools instead, each a name and its schema.
    pub fn tools(mut self, tools: &[(&str, &str)]) -> Self {
        self.tools = tools.iter().map(|(name, schema)| ((*name).into(), (*schema).into())).collect();
        self
    }

    /// The component's bytes.
    pub fn build(&self) -> Vec<u8> {
        let mut module = wat::parse_str(self.module()).expect("valid text");
        let mut resolve = Resolve::default();
        let (package, _) = resolve.push_dir(repository().join("wit")).expect("the plugin interface");
        let world = resolve.select_world(&[package], Some("tools-plugin")).expect("a world of it");
        embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8).expect("metadata");
        let mut encoder = ComponentEncoder::default().module(&module).expect("a module of that world");
        encoder.encode().expect("a component")
    }

    fn module(&self) -> String {
        let mut memory = Memory::default();
        let tools = self.tools.iter().enumerate();
        for (at, (name, schema)) in tools.map(|(i, tool)| (TOOLS + i * TOOL_SIZE, tool)) {
            memory.string(at, name);
            memory.string(at + 32, schema);
        }
        // `ok` of a list: the discriminant is zero, then pointer and length.
        memory.pair(TOOLS_RESULT + 4, TOOLS, self.tools.len());
        // `ok(complete(…))` whose content is one text: its discriminants are zero, too.
        memory.pair(CALL_RESULT + 8, CONTENT, 1);
        memory.string(CONTENT + 8, &self.answer);
        format!(
            r#"(module
              (memory (export "memory") 4)
              (global $heap (mut i32) (i32.const {HEAP}))
              (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32)
                (global.get $heap)
                (global.set $heap (i32.and
                  (i32.add (i32.add (global.get $heap) (local.get 3)) (i32.const 7)) (i32.const -8))))
              (func (export "wharf:plugin/tools@0.1.0#list-tools") (result i32)
                {listing} (i32.const {TOOLS_RESULT}))
              (func (export "wharf:plugin/tools@0.1.0#call-tool")
                (param i32 i32 i32 i32 i32 i32 i32 i64 i32 i32 i32 i32 i32 i32 i32 i32) (result i32)
                {calling} (i32.const {CALL_RESULT}))
              {data})"#,
            listing = self.listing,
            calling = self.calling,
            data = memory.segments,
        )
    }
}

/// The data segments of a module in the making.
#[derive(Default)]
struct Memory {
    segments: String,
    used: usize,
}

impl Memory {
    /// Puts the text somewhere, and its place and length at `at`.
    fn string(&mut self, at: usize, text: &str) {
        let place = STRINGS + self.used;
        self.used += text.len();
        self.bytes(place, text.as_bytes());
        self.pair(at, place, text.len());
    }

    /// Two little-endian words.
    fn pair(&mut self, at: usize, first: usize, second: usize) {
        let words = [first, second].map(|word| u32::try_from(word).expect("a small guest").to_le_bytes());
        self.bytes(at, words.as_flattened());
    }

    fn bytes(&mut self, at: usize, bytes: &[u8]) {
        let escaped: String = bytes.iter().map(|byte| format!("\\{byte:02x}")).collect();
        self.segments.push_str(&format!("(data (i32.const {at}) \"{escaped}\")\n"));
    }
}

#[test]
fn guests_made_here_are_components() {
    let two = r#"{"type":"object"}"#;
    for guest in [
        Guest::saying("1"),
        Guest::spinning(),
        Guest::trapping_in_list(),
        Guest::saying("").tools(&[("a", two), ("b", two)]),
    ] {
        let mut validator = wasmparser::Validator::new_with_features(wasmparser::WasmFeatures::all());
        validator.validate_all(&guest.build()).expect("a valid component");
    }
}
