;; H18: declares a table of ten million elements.
(component
  (core module $m (table 10000000 funcref))
  (core instance (instantiate $m)))
