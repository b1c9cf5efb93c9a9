;; H26: a misaligned result pointer.
(return (i32.const 65))
