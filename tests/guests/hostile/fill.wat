;; H16: fills all available memory repeatedly; a single instruction cannot be interrupted. 131072 is
;; behind the guest's data, 900 pages are 56 of its 64 MiB.
(drop (memory.grow (i32.const 900)))
(loop $for_ever
  (memory.fill (i32.const 131072) (i32.const 7) (i32.const 58982400))
  (memory.copy (i32.const 131072) (i32.const 131073) (i32.const 58982399))
  (br $for_ever))
