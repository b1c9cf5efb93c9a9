;; H14: loops endlessly.
(loop $for_ever (br $for_ever))
