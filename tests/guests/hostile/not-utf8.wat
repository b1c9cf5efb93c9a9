;; H26: an answer that is not UTF-8. Its pointer is at 264, its length at 268.
(i32.store (i32.const 128) (i32.const 0xfffefdff))
(i32.store (i32.const 264) (i32.const 128))
(i32.store (i32.const 268) (i32.const 4))
