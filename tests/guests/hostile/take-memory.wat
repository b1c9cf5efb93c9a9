;; H17: grows the memory until that fails, then traps.
(loop $more (br_if $more (i32.ne (memory.grow (i32.const 16)) (i32.const -1))))
unreachable
