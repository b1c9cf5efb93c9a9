;; H17: takes memory until there is no more, then stops.
(loop $more (br_if $more (i32.ne (memory.grow (i32.const 16)) (i32.const -1))))
unreachable
