;; H40: would call another plugin's tool. There is no such function.
(component
  (import "wharf:plugin/host@0.1.0" (instance
    (export "call-tool" (func (param "name" string) (result string))))))
