;; H26: an answer of half a character: the surrogate U+D800 as it would be in UTF-8.
(i32.store (i32.const 128) (i32.const 0x0080a0ed))
(i32.store (i32.const 264) (i32.const 128))
(i32.store (i32.const 268) (i32.const 3))
