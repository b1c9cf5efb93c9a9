//! Components that make more and more of the host, of which the engine keeps something, until they are stopped.

/// One that makes one kind of thing.
pub struct Flood {
    pub name: &'static str,
    /// The code of the fault with which it ends, if it has little processor time.
    pub code: &'static str,
    canon: &'static str,
    import: &'static str,
    body: &'static str,
}

const fn flood(
    name: &'static str,
    code: &'static str,
    canon: &'static str,
    import: &'static str,
    body: &'static str,
) -> Flood {
    Flood { name, code, canon, import, body }
}

pub const FLOODS: [Flood; 5] = [
    flood("stream", "trap", "(canon stream.new $stream)", "(result i64)", "(drop (call $make))"),
    flood("future", "trap", "(canon future.new $future)", "(result i64)", "(drop (call $make))"),
    flood("set", "trap", "(canon waitable-set.new)", "(result i32)", "(drop (call $make))"),
    flood(
        "wait",
        "trap",
        r#"(canon lower (func $clock "wait-for") async (memory (core memory $libc "memory")))"#,
        "(param i64) (result i32)",
        "(drop (call $make (i64.const 100000000000)))",
    ),
    flood("yield", "cpu", "(canon thread.yield)", "(result i32)", "(drop (call $make))"),
];

impl Flood {
    /// Its function is `flood`.
    pub fn component(&self) -> Vec<u8> {
        let Self { canon, import, body, .. } = self;
        let text = format!(
            r#"(component
  (import "wasi:clocks/monotonic-clock@0.3.0"
    (instance $clock (export "wait-for" (func async (param "how-long" u64)))))
  (type $stream (stream u8))
  (type $future (future))
  (core module $libc (memory (export "memory") 1))
  (core instance $libc (instantiate $libc))
  (core func $make {canon})
  (core module $m
    (import "" "make" (func $make {import}))
    (func (export "run") (loop $again {body} (br $again))))
  (core instance $i (instantiate $m (with "" (instance (export "make" (func $make))))))
  (func (export "flood") (canon lift (core func $i "run"))))"#
        );
        wat::parse_str(text).expect("valid text")
    }
}
