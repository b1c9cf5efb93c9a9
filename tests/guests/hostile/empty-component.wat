;; H03: a component, and nothing else.
(component)
