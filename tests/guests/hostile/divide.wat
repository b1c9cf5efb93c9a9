;; H18: divides by zero.
(drop (i32.div_s (i32.const 1) (local.get $n)))
