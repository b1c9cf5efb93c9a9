;; H04: imports what no host has.
(component (import "evil:host/run@1.0.0" (instance (export "run" (func)))))
