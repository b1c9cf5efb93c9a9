;; H18: calls itself without an end.
(drop (call $deeper (i32.const 0)))
