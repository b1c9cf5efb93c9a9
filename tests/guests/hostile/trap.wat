;; H18: traps.
unreachable
