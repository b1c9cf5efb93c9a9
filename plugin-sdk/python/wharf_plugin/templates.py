"""URI templates, as far as needed to parse the plugin's own URIs.

`{name}` stands for text without `/`, `{+name}` for any. The host compares URIs with the
template itself, all of RFC 6570; here are the variables that a function wants.
"""

from __future__ import annotations

import re
from urllib.parse import unquote


class UriTemplate:
    """A compiled template."""

    def __init__(self, template: str) -> None:
        pattern, at = "", 0
        self.variables: list[str] = []
        for found in re.finditer(r"\{([^{}]*)\}", template):
            expression = re.fullmatch(r"(\+?)([A-Za-z_][A-Za-z0-9_]*)", found[1])
            if not expression:
                raise ValueError(f"{found[0]} of {template}: write {{name}} or {{+name}}")
            pattern += re.escape(template[at : found.start()])
            pattern += f"(?P<{expression[2]}>{'.+' if expression[1] else '[^/?#]+'})"
            self.variables.append(expression[2])
            at = found.end()
        self._pattern = re.compile(pattern + re.escape(template[at:]), re.DOTALL)

    def match(self, uri: str) -> dict[str, str] | None:
        """The decoded variables of a URI that matches the template."""
        found = self._pattern.fullmatch(uri)
        return {name: unquote(value) for name, value in found.groupdict().items()} if found else None
