;; H14: loops endlessly with calls of a cheap host function.
(loop $for_ever (drop (call $cancelled)) (br $for_ever))
