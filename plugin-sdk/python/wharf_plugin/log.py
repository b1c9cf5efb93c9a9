"""Messages to the host's log, and to the client if it asked for them.

Python's own `logging` comes out here too: records of any logger, from the level `DEBUG`.
"""

from __future__ import annotations

import logging
from typing import Any

from .host import Level, current
from .values import dumps


def message(level: Level, text: object) -> None:
    """Logs a text at a level."""
    current().log(level, str(text))


def data(level: Level, logger: str, value: Any) -> None:
    """Logs a structured value; `logger` names the part of the plugin."""
    current().log_data(level, logger, dumps(value))


def debug(text: object) -> None:
    """Details for the plugin's author."""
    message("debug", text)


def info(text: object) -> None:
    """Normal operation."""
    message("info", text)


def notice(text: object) -> None:
    """Normal but significant events."""
    message("notice", text)


def warning(text: object) -> None:
    """Possible problems."""
    message("warning", text)


def error(text: object) -> None:
    """Errors."""
    message("error", text)


def critical(text: object) -> None:
    """Failures of a part of the plugin."""
    message("critical", text)


def alert(text: object) -> None:
    """Conditions that need immediate action."""
    message("alert", text)


def emergency(text: object) -> None:
    """The plugin is unusable."""
    message("emergency", text)


class Handler(logging.Handler):
    """Sends records of Python's `logging` to the host."""

    def emit(self, record: logging.LogRecord) -> None:
        level: Level = "debug"
        for least, name in _LEVELS:
            if record.levelno >= least:
                level = name
                break
        try:
            text = self.format(record)
            if record.name == "root":
                message(level, text)
            else:
                data(level, record.name, text)
        except Exception:
            self.handleError(record)


_LEVELS: tuple[tuple[int, Level], ...] = (
    (logging.CRITICAL, "critical"),
    (logging.ERROR, "error"),
    (logging.WARNING, "warning"),
    (logging.INFO, "info"),
)
