//! The memory of a Python component: makes the objects in it immortal (PEP 683).
//!
//! The interpreter counts references to an object in the object itself, so a call that only looks at objects of the
//! image would write to most of its pages, and each page that it writes to is a copy. Counts of immortal objects are
//! not written. `wharf_plugin/component/image.py` lists the objects in the memory.

use std::ops::Range;

use wasmparser::{BinaryReaderError, DataKind, Operator, Parser, Payload};

/// What the list begins with. Then come the number of objects, and for each of them its address and that of its type.
/// The first one is `None`.
const MARK: &[u8; 16] = b"wharf: objects.\n";
/// Bytes of an address, and of a count of references.
const WORD: u32 = 4;
/// Where an object has the address of its type; the count of references is before it.
const TYPE: u32 = 4;
/// What counts of immortal objects are at least, on a machine of 32 bits.
/// Source: `_Py_IMMORTAL_MINIMUM_REFCNT` of CPython 3.14, `refcount.h`.
const IMMORTAL: u32 = 1 << 30;
/// More references than any object has that is not immortal. Where an object was that is gone, this may be the address
/// of the next such place.
const MOST: u32 = 1 << 16;

/// Makes the objects that a component lists immortal, and removes the list. Does nothing to a component that lists
/// none, such as one made with an older wrapper.
///
/// # Errors
/// If it is no component.
pub(super) fn settle(component: &mut [u8]) -> Result<(), BinaryReaderError> {
    for segments in memories(component)? {
        let mut memory = Memory { bytes: component, segments };
        if let Some((list, objects)) = memory.objects() {
            memory.make_immortal(&objects);
            memory.bytes[list].fill(0);
            break;
        }
    }
    Ok(())
}

/// What a module puts into its memory.
#[derive(Debug, Clone)]
struct Segment {
    /// The address.
    begin: u32,
    /// Where the component has it.
    bytes: Range<usize>,
}

/// The segments of each module in a component, by their addresses.
fn memories(component: &[u8]) -> Result<Vec<Vec<Segment>>, BinaryReaderError> {
    let mut found = Vec::new();
    for payload in Parser::new(0).parse_all(component) {
        let Payload::DataSection(section) = payload? else { continue };
        let mut segments = Vec::new();
        for data in section {
            let data = data?;
            let DataKind::Active { memory_index: 0, offset_expr } = data.kind else { continue };
            if let Operator::I32Const { value } = offset_expr.get_operators_reader().read()? {
                let bytes = data.range.end - data.data.len()..data.range.end;
                segments.push(Segment { begin: value.cast_unsigned(), bytes });
            }
        }
        segments.sort_by_key(|segment| segment.begin);
        found.push(segments);
    }
    Ok(found)
}

/// The memory of a module.
struct Memory<'a> {
    bytes: &'a mut [u8],
    segments: Vec<Segment>,
}

/// An object, and its type.
type Object = (u32, u32);

impl Memory<'_> {
    /// Where the list is, and what it lists.
    fn objects(&self) -> Option<(Range<usize>, Vec<Object>)> {
        self.segments.iter().find_map(|segment| {
            let bytes = &self.bytes[segment.bytes.clone()];
            let aligned = (segment.begin.next_multiple_of(WORD) - segment.begin) as usize;
            let mut places = (aligned..bytes.len()).step_by(WORD as usize);
            // The interpreter has the text of the mark too, and a plugin may have it any number of times.
            let (at, objects) = places.find_map(|at| Some((at, self.list(bytes[at..].strip_prefix(MARK)?)?)))?;
            let begin = segment.bytes.start + at;
            Some((begin..begin + MARK.len() + (1 + 2 * objects.len()) * WORD as usize, objects))
        })
    }

    /// What comes after a mark, if it is a list.
    fn list(&self, after: &[u8]) -> Option<Vec<Object>> {
        let (words, _) = after.as_chunks();
        let (count, words) = words.split_first()?;
        let (objects, _) = words.get(..(word(count) as usize).checked_mul(2)?)?.as_chunks();
        let objects = || objects.iter().map(|[object, kind]| (word(object), word(kind)));
        let (none, kind) = objects().next()?;
        (self.count_of(none, kind)? >= IMMORTAL).then(|| objects().collect())
    }

    /// Gives all of them the count that `None` has.
    fn make_immortal(&mut self, objects: &[Object]) {
        let Some(immortal) = objects.first().and_then(|(none, kind)| self.count_of(*none, *kind)) else { return };
        for (object, kind) in objects {
            // What has been freed since it was listed is no object.
            if self.count_of(*object, *kind).is_some_and(|count| (1..MOST).contains(&count))
                && let Some(at) = self.place(*object)
            {
                self.bytes[at].copy_from_slice(&immortal.to_le_bytes());
            }
        }
    }

    /// How many references there are to an object, if there is one of that type.
    fn count_of(&self, object: u32, kind: u32) -> Option<u32> {
        (self.read(object.checked_add(TYPE)?)? == kind).then(|| self.read(object)).flatten()
    }

    fn read(&self, address: u32) -> Option<u32> {
        self.bytes[self.place(address)?].first_chunk().map(word)
    }

    /// Where the component has a word of the memory.
    fn place(&self, address: u32) -> Option<Range<usize>> {
        let after = self.segments.partition_point(|segment| segment.begin <= address);
        let segment = &self.segments[after.checked_sub(1)?];
        let begin = segment.bytes.start + (address - segment.begin) as usize;
        let end = begin + WORD as usize;
        (end <= segment.bytes.end).then_some(begin..end)
    }
}

fn word(bytes: &[u8; WORD as usize]) -> u32 {
    u32::from_le_bytes(*bytes)
}

#[cfg(test)]
mod tests {
    use wasmparser::Parser;

    use super::{IMMORTAL, MARK, settle};

    /// Where the objects are: `None`, its type, one that lives, one that is gone, and one that has no type any more.
    const AT: [u32; 5] = [1024, 1040, 1056, 1072, 1088];

    /// The address of a place where an object was.
    const FREE: u32 = 1 << 20;

    /// A component whose memory has these objects, and a list of them.
    fn component(count_of_none: u32) -> Vec<u8> {
        let counts = [count_of_none, IMMORTAL, 3, FREE, 2];
        let kinds = [AT[1], AT[1], AT[1], AT[1], 0];
        let mut memory: Vec<u32> =
            counts.into_iter().zip(kinds).flat_map(|(count, kind)| [count, kind, 0, 7]).collect();
        // The text of the mark, and the list.
        let mark: Vec<u32> = MARK.as_chunks().0.iter().map(super::word).collect();
        memory.extend_from_slice(&mark);
        memory.push(0);
        memory.extend_from_slice(&mark);
        memory.push(AT.len() as u32);
        memory.extend(AT.into_iter().flat_map(|object| [object, AT[1]]));
        memory.push(99);
        let text: String = memory.into_iter().flat_map(u32::to_le_bytes).map(|byte| format!("\\{byte:02x}")).collect();
        let module =
            format!("(core module (memory 1) (data (i32.const 8) \"x\") (data (i32.const {}) \"{text}\"))", AT[0]);
        wat::parse_str(format!("(component (core module) {module})")).expect("a component")
    }

    /// The words of the memory from the first object on.
    fn words(component: &[u8]) -> Vec<u32> {
        let mut found = Vec::new();
        for payload in Parser::new(0).parse_all(component) {
            if let wasmparser::Payload::DataSection(section) = payload.expect("a component") {
                let data = section.into_iter().nth(1).expect("two segments").expect("a segment").data;
                found = data.as_chunks().0.iter().map(super::word).collect();
            }
        }
        found
    }

    #[test]
    fn objects_that_are_there_become_immortal() {
        let mut made = component(IMMORTAL + 5);
        let before = words(&made);
        settle(&mut made).expect("a component");
        let after = words(&made);
        let counts: Vec<u32> = after.iter().copied().step_by(4).take(AT.len()).collect();
        // Two of them are not objects any more, and one was immortal.
        assert_eq!(counts, [IMMORTAL + 5, IMMORTAL, IMMORTAL + 5, FREE, 2]);
        let list = after.len() - 1 - (MARK.len() / 4 + 1 + 2 * AT.len());
        assert_eq!(after[20..list], before[20..list], "the text of the mark");
        assert!(after[list..after.len() - 1].iter().all(|word| *word == 0), "the list is removed");
        assert_eq!(after.last(), Some(&99));
    }

    /// A plugin may have the mark any number of times.
    #[test]
    fn what_only_looks_like_a_list_costs_nothing() {
        let marks = MARK.repeat(1 << 16).into_iter().map(|byte| format!("\\{byte:02x}")).collect::<String>();
        let text = format!("(component (core module (memory 99) (data (i32.const 0) \"{marks}\")))");
        let mut made = wat::parse_str(text).expect("a component");
        let before = made.clone();
        let began = std::time::Instant::now();
        settle(&mut made).expect("a component");
        assert!(made == before && began.elapsed() < std::time::Duration::from_secs(5), "{:?}", began.elapsed());
    }

    #[test]
    fn other_components_stay_as_they_are() {
        // Counts of another kind.
        let mut made = component(3);
        let before = made.clone();
        settle(&mut made).expect("a component");
        assert_eq!(made, before);
        let mut empty = wat::parse_str("(component (core module (memory 1)))").expect("a component");
        settle(&mut empty).expect("a component");
        assert!(settle(&mut b"no wasm".to_vec()).is_err());
    }
}
