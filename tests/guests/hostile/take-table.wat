;; H18: grows a table until that fails, then traps.
(loop $more (br_if $more (i32.ne (table.grow $table (ref.null func) (i32.const 1000)) (i32.const -1))))
unreachable
