;; H02: a module, which is no component.
(module (func (export "run")))
