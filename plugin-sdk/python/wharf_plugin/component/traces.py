"""Traces of exceptions, as the plugin's author reads them."""

from __future__ import annotations

import os
import re
import sys
import traceback
from collections.abc import Sequence

_PACKAGE = os.path.join(os.path.dirname(os.path.dirname(__file__)), "")
_LIBRARY = os.path.join(os.path.dirname(os.__file__), "")
_ENTRY = "wharf_entry.py"

# A component has the folders of the module search path under numbers.
_NUMBERED = re.compile(r"/\d+/")

# Exceptions that led to others; Python itself has no bound.
_DEEPEST = 20


def show(error: BaseException) -> None:
    """Writes the trace to stderr, which is in the host's log."""
    print(shown(error), end="", file=sys.stderr)


def shown(error: BaseException) -> str:
    """The trace with the frames of the author's files and what they call, without those of the wrapper and with
    the names that files have in the project."""
    made = traceback.TracebackException.from_exception(error)
    _shorten(made, 0)
    return "".join(made.format())


def _shorten(made: traceback.TracebackException, depth: int) -> None:
    made.stack = _of_author(made.stack)
    if depth == _DEEPEST:
        return
    for one in (made.__cause__, made.__context__, *(getattr(made, "exceptions", None) or ())):
        if one is not None:
            _shorten(one, depth + 1)


def _of_author(stack: Sequence[traceback.FrameSummary]) -> traceback.StackSummary:
    frames = [frame for frame in stack if not _is_of_wrapper(frame.filename)]
    # What the wrapper calls in the standard library on the way to the author's code, such as an event loop.
    while frames and _is_of_library(frames[0].filename):
        frames.pop(0)
    # Without any, the error is in the wrapper.
    for frame in frames:
        frame.filename = _name(frame.filename)
    return traceback.StackSummary.from_list(frames or list(stack))


def _is_of_wrapper(file: str) -> bool:
    return file.startswith(_PACKAGE) or os.path.basename(file) == _ENTRY


def _is_of_library(file: str) -> bool:
    return file.startswith(("<frozen ", _LIBRARY)) and "site-packages" not in file


def _name(file: str) -> str:
    numbered = _NUMBERED.match(file)
    return file[numbered.end() :] if numbered else file
