;; H25: a list of 100,000 contents, each of 152 bytes, that are all the same 64 KiB of zeros:
;; 6.5 GB. 72 and 76 are where the result has its list and how long that is.
(drop (memory.grow (i32.const 256)))
(loop $next
  (i32.store offset=8 (i32.add (i32.const 131072) (i32.mul (local.get $n) (i32.const 152))) (i32.const 65536))
  (i32.store offset=12 (i32.add (i32.const 131072) (i32.mul (local.get $n) (i32.const 152))) (i32.const 65536))
  (local.set $n (i32.add (local.get $n) (i32.const 1)))
  (br_if $next (i32.lt_u (local.get $n) (i32.const 100000))))
(i32.store (i32.const 72) (i32.const 131072))
(i32.store (i32.const 76) (i32.const 100000))
