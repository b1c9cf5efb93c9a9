;; H25: a list of 100,000 contents, each of 152 bytes, which all alias the same 64 KiB of zeros:
;; 6.5 GB. The result has the pointer of the list at 72 and its length at 76.
(drop (memory.grow (i32.const 256)))
(loop $next
  (i32.store offset=8 (i32.add (i32.const 131072) (i32.mul (local.get $n) (i32.const 152))) (i32.const 65536))
  (i32.store offset=12 (i32.add (i32.const 131072) (i32.mul (local.get $n) (i32.const 152))) (i32.const 65536))
  (local.set $n (i32.add (local.get $n) (i32.const 1)))
  (br_if $next (i32.lt_u (local.get $n) (i32.const 100000))))
(i32.store (i32.const 72) (i32.const 131072))
(i32.store (i32.const 76) (i32.const 100000))
