"""Messages to whoever watches: the host's log, and the client if it wants them.

Python's own `logging` comes out here too: records of any logger, from the level `DEBUG`.
"""

from __future__ import annotations

import logging
from typing import Any

from .host import Level, current
from .values import dumps


def message(level: Level, text: object) -> None:
    """Says something at a level."""
    current().log(level, str(text))


def data(level: Level, logger: str, value: Any) -> None:
    """Says something structured; `logger` names the part of the plugin that speaks."""
    current().log_data(level, logger, dumps(value))


def debug(text: object) -> None:
    """What only the plugin's author wants to know."""
    message("debug", text)


def info(text: object) -> None:
    """What goes on."""
    message("info", text)


def notice(text: object) -> None:
    """What is normal but worth a look."""
    message("notice", text)


def warning(text: object) -> None:
    """What may become a problem."""
    message("warning", text)


def error(text: object) -> None:
    """What went wrong."""
    message("error", text)


def critical(text: object) -> None:
    """What stops a part from working."""
    message("critical", text)


def alert(text: object) -> None:
    """What somebody must see to at once."""
    message("alert", text)


def emergency(text: object) -> None:
    """What stops everything."""
    message("emergency", text)


class Handler(logging.Handler):
    """Gives records of Python's `logging` to the host."""

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
