"""The settings under `config` of the plugin's grants.

Variables of the grant `env` are in `os.environ`.
"""

from __future__ import annotations

from .host import current


def get(key: str, default: str | None = None) -> str | None:
    """One setting."""
    value = current().setting(key)
    return default if value is None else value


def all() -> dict[str, str]:
    """All settings."""
    return current().settings()
