;; H18: recurses endlessly.
(drop (call $deeper (i32.const 0)))
