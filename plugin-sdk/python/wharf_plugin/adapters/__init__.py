"""Libraries that make HTTP requests, over `wharf_plugin.http`.

The build of a component installs the adapter of each library that the plugin imports. In tests in
plain Python the libraries are unchanged.
"""
