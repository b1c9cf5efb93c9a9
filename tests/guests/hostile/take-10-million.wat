;; H18: declares a table of ten million.
(component
  (core module $m (table 10000000 funcref))
  (core instance (instantiate $m)))
