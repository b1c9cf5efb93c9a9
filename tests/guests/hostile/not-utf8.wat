;; H26: an answer that is no UTF-8. 264 and 268 are where it lies and how long it is.
(i32.store (i32.const 128) (i32.const 0xfffefdff))
(i32.store (i32.const 264) (i32.const 128))
(i32.store (i32.const 268) (i32.const 4))
