;; H03: an empty component.
(component)
