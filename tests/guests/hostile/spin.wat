;; H14: never ends.
(loop $for_ever (br $for_ever))
