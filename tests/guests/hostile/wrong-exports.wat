;; H03: exports the interface with functions of the wrong types.
(component
  (core module $m (func (export "f")))
  (core instance $i (instantiate $m))
  (func $f (canon lift (core func $i "f")))
  (instance $tools (export "list-tools" (func $f)) (export "call-tool" (func $f)))
  (export "wharf:plugin/tools@0.1.0" (instance $tools)))
