;; H03: exports the interface without its functions.
(component
  (instance $tools)
  (export "wharf:plugin/tools@0.1.0" (instance $tools)))
