"""Lists objects that exist when a component is built: the build makes them immortal (PEP 683).

The interpreter counts references to an object in the object itself. A call that only looks at objects of
the image would write to most of its pages, and each page that it writes to is a copy. The counts of
immortal objects are not written.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Mapping

# Not as `gc.…`: a plugin may replace them there.
from gc import collect, freeze, get_referents
from types import CodeType, ModuleType
from typing import Any
from weakref import getweakrefcount

# What the build looks for: this, the number of objects, and for each of them its address and that of its
# type, as words of 32 bits. The first object is `None`.
_MARK = b"wharf: objects.\n"

# Objects that are listed. Without data of its own a plugin has some 50,000; of more, a call looks at few,
# and each takes some 50 bytes of the image while it is listed.
_MOST = 100_000

# Objects in a container that are listed: one with more has data.
_ITEMS = 1000

# Kept for the build, which overwrites it.
_list = bytearray()


def settle() -> None:
    """Lists the objects, and excludes all from garbage collection. To be called last."""
    collect()
    found = _found()
    _list.extend(bytes(len(_MARK) + 4 + 8 * len(found)))
    _list[: len(_MARK)] = _MARK
    words = memoryview(_list)[len(_MARK) :].cast("I")
    words[0] = len(found)
    for number, one in enumerate(found):
        words[2 * number + 1] = id(one)
        words[2 * number + 2] = id(type(one))
    freeze()


def _found() -> list[Any]:
    """`None`, and what can be reached from the modules, the nearest first. Nothing of an object's own runs for it."""
    pending = deque[Any](sys.modules.values())
    seen = {id(None)}
    found: list[Any] = [None]
    ending: dict[int, bool] = {}
    while pending and len(found) < _MOST:
        one = pending.popleft()
        if id(one) in seen:
            continue
        seen.add(id(one))
        kind = type(one)
        if not _ends(one, kind, ending):
            found.append(one)
        is_container = kind is dict or kind is list or kind is tuple or kind is set or kind is frozenset
        if is_container and len(one) > _ITEMS:
            continue
        pending += get_referents(one)
        if kind is CodeType:
            # Of code, nothing tells the garbage collector to what it refers.
            pending += (one.co_name, one.co_qualname, one.co_filename, one.co_consts, one.co_names)
            pending += (one.co_linetable, one.co_exceptiontable)
    return found


def _ends(one: Any, kind: type, ending: dict[int, bool]) -> bool:
    """Whether somebody may notice that an object is gone, which one that is immortal never is. `ending` has what is
    known of types, by their ids."""
    if id(kind) not in ending:
        ending[id(kind)] = any("__del__" in _members(base) for base in _bases(kind))
    # Classes and modules stay, whoever refers to them.
    return ending[id(kind)] or (not issubclass(kind, (type, ModuleType)) and getweakrefcount(one) > 0)


# A metaclass may have other attributes of these names.
_bases: Callable[[type], tuple[type, ...]] = type.__dict__["__mro__"].__get__
_members: Callable[[type], Mapping[str, Any]] = type.__dict__["__dict__"].__get__
