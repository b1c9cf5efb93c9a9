;; H17: declares the maximum memory.
(component (core module (memory 65536)))
