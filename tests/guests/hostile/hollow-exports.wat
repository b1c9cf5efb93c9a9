;; H03: the interface's name, and none of its functions.
(component
  (instance $tools)
  (export "wharf:plugin/tools@0.1.0" (instance $tools)))
