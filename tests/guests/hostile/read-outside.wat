;; H18: reads where there is no memory.
(drop (i32.load (i32.const -8)))
