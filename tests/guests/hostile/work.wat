;; H38: computes for some milliseconds, then answers.
(loop $again
  (local.set $n (i32.add (local.get $n) (i32.const 1)))
  (br_if $again (i32.lt_u (local.get $n) (i32.const 10000000))))
