;; H26: an answer with an unpaired surrogate: U+D800 encoded as in UTF-8.
(i32.store (i32.const 128) (i32.const 0x0080a0ed))
(i32.store (i32.const 264) (i32.const 128))
(i32.store (i32.const 268) (i32.const 3))
