;; H26: an answer that ends beyond the memory.
(i32.store (i32.const 264) (i32.const 0x7fffffff))
