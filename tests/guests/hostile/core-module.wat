;; H02: a core module, not a component.
(module (func (export "run")))
