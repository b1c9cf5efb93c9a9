;; H16: writes all memory that it can have, again and again. One instruction cannot be
;; interrupted. 131072 is behind what the guest holds, 900 pages are 56 of its 64 MiB.
(drop (memory.grow (i32.const 900)))
(loop $for_ever
  (memory.fill (i32.const 131072) (i32.const 7) (i32.const 58982400))
  (memory.copy (i32.const 131072) (i32.const 131073) (i32.const 58982399))
  (br $for_ever))
