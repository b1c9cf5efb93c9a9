//! Builds components with tools from hand-written core modules: the canonical ABI's layout of
//! `wharf:plugin/tools`, and bodies in WAT.

use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

/// The address of the first text; results are written below.
const TEXTS: usize = 4096;

/// A plugin with tools.
pub(super) struct Guest {
    texts: Vec<u8>,
    tools: Vec<u8>,
    count: u32,
    /// Body of `call-tool`, which returns the address of its result. At 1024 is an empty result
    /// that a body may fill and return: `(i32.const 1024)`.
    pub(super) call: String,
    /// Replaces the body of `list-tools`.
    pub(super) list: Option<String>,
    /// Further fields of the module.
    pub(super) fields: String,
}

/// Bytes of a `tool` record.
const TOOL: usize = 84;

impl Guest {
    /// A guest with one tool, `t`, that takes any object.
    pub(super) fn new(call: &str) -> Self {
        let mut guest = Self::bare(call);
        guest.tool("t", Some("A tool."), r#"{"type":"object"}"#, None);
        guest
    }

    pub(super) fn bare(call: &str) -> Self {
        Self { texts: Vec::new(), tools: Vec::new(), count: 0, call: call.into(), list: None, fields: String::new() }
    }

    /// Adds a text to the guest's memory; returns its address and length.
    pub(super) fn text(&mut self, text: &str) -> (u32, u32) {
        let at = TEXTS + self.texts.len();
        self.texts.extend_from_slice(text.as_bytes());
        (at as u32, text.len() as u32)
    }

    pub(super) fn tool(&mut self, name: &str, description: Option<&str>, input: &str, output: Option<&str>) {
        let mut record = [0u8; TOOL];
        let mut put = |at: usize, (address, length): (u32, u32)| {
            record[at..at + 4].copy_from_slice(&address.to_le_bytes());
            record[at + 4..at + 8].copy_from_slice(&length.to_le_bytes());
        };
        put(0, self.text(name));
        if let Some(description) = description {
            let text = self.text(description);
            put(24, text);
        }
        put(32, self.text(input));
        if let Some(output) = output {
            let text = self.text(output);
            put(44, text);
        }
        record[20] = u8::from(description.is_some());
        record[40] = u8::from(output.is_some());
        self.tools.extend_from_slice(&record);
        self.count += 1;
    }

    /// Sets a body that returns only this structured content.
    pub(super) fn structured(&mut self, json: &str) {
        let (address, length) = self.text(json);
        self.call = format!(
            "(i32.store8 (i32.const 1040) (i32.const 1))
             (i32.store (i32.const 1044) (i32.const {address}))
             (i32.store (i32.const 1048) (i32.const {length}))
             (i32.const 1024)"
        );
    }

    pub(super) fn build(&self) -> Vec<u8> {
        let tools = (TEXTS + self.texts.len()).next_multiple_of(4);
        let hex = |bytes: &[u8]| bytes.iter().map(|b| format!("\\{b:02x}")).collect::<String>();
        let list = self.list.clone().unwrap_or(format!(
            "(i32.store (i32.const 4) (i32.const {tools}))
             (i32.store (i32.const 8) (i32.const {}))
             (i32.const 0)",
            self.count
        ));
        let pages = (tools + self.tools.len()).div_ceil(64 << 10) + 1;
        let core = format!(
            r#"(module
              {fields}
              (memory (export "memory") {pages})
              (global $heap (mut i32) (i32.const {heap}))
              (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32)
                (local $at i32)
                (local.set $at (i32.and (i32.add (global.get $heap) (i32.const 7)) (i32.const -8)))
                (global.set $heap (i32.add (local.get $at) (local.get 3)))
                (local.get $at))
              (func (export "wharf:plugin/tools@0.1.0#list-tools") (result i32) {list})
              (func (export "wharf:plugin/tools@0.1.0#call-tool")
                (param i32 i32 i32 i32 i32 i32 i32 i64 i32 i32 i32 i32 i32 i32 i32 i32) (result i32)
                {call})
              (data (i32.const {TEXTS}) "{texts}")
              (data (i32.const {tools}) "{records}"))"#,
            fields = self.fields,
            heap = tools + self.tools.len(),
            call = self.call,
            texts = hex(&self.texts),
            records = hex(&self.tools),
        );
        let mut module = wat::parse_str(core).expect("valid WAT");
        let mut resolve = Resolve::default();
        let wit = concat!(env!("CARGO_MANIFEST_DIR"), "/../wit");
        let (package, _) = resolve.push_path(wit).expect("the interface");
        let world = resolve.select_world(&[package], Some("tools-plugin")).expect("a world");
        embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8).expect("metadata");
        ComponentEncoder::default().module(&module).expect("a module").encode().expect("a component")
    }
}
