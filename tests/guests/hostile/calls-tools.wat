;; H40: imports a function to call another plugin's tool, which does not exist.
(component
  (import "wharf:plugin/host@0.1.0" (instance
    (export "call-tool" (func (param "name" string) (result string))))))
