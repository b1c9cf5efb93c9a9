;; H14: never ends, and keeps asking the host something that costs it little.
(loop $for_ever (drop (call $cancelled)) (br $for_ever))
