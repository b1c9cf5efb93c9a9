"""Lists the objects that exist when a component is built: the build makes them immortal (PEP 683).

The interpreter counts references to an object in the object itself. A call that only looks at objects of
the image would write to most of its pages, and each page that it writes to is a copy. The counts of
immortal objects are not written.
"""

from __future__ import annotations

import gc
import sys
from types import CodeType
from typing import Any

# What the build looks for: this, the number of objects, and for each of them its address and that of its
# type, as words of 32 bits. The first object is `None`.
_MARK = b"wharf: objects.\n"

# Kept for the build, which overwrites it.
_list = bytearray()


def settle() -> None:
    """Lists all objects, and excludes them from garbage collection. To be called last."""
    gc.collect()
    found = _all()
    _list.extend(bytes(len(_MARK) + 4 + 8 * len(found)))
    _list[: len(_MARK)] = _MARK
    words = memoryview(_list)[len(_MARK) :].cast("I")
    words[0] = len(found)
    for number, one in enumerate(found):
        words[2 * number + 1] = id(one)
        words[2 * number + 2] = id(type(one))
    gc.freeze()


def _all() -> list[Any]:
    """All objects that others refer to, `None` first."""
    pending: list[Any] = [sys.modules, *gc.get_objects()]
    seen: set[int] = set()
    found: list[Any] = [None]
    # These are gone when the build looks at the list.
    own = {id(pending), id(seen), id(found)}
    seen.update(own, [id(None), id(own)])
    while pending:
        one = pending.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        found.append(one)
        pending += gc.get_referents(one)
        if type(one) is CodeType:
            # Of code, nothing tells the garbage collector to what it refers.
            pending += (one.co_name, one.co_qualname, one.co_filename, one.co_consts, one.co_names)
            pending += (one.co_linetable, one.co_exceptiontable)
    return found
