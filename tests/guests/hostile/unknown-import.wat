;; H04: has an unknown import.
(component (import "evil:host/run@1.0.0" (instance (export "run" (func)))))
