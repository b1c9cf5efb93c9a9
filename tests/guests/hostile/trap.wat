;; H18: hits an instruction that stops it.
unreachable
