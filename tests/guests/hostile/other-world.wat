;; H03: a component that exports an interface of WASI which no host calls for a tool.
(component
  (core module $m (func (export "run") (result i32) (i32.const 0)))
  (core instance $i (instantiate $m))
  (func $run (result (result)) (canon lift (core func $i "run")))
  (instance $job (export "run" (func $run)))
  (export "wasi:jobs/job@0.2.0" (instance $job)))
