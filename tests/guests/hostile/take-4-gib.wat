;; H17: declares all memory that there can be.
(component (core module (memory 65536)))
