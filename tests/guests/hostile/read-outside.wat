;; H18: reads out of bounds.
(drop (i32.load (i32.const -8)))
