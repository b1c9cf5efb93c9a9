"""The tools of this plugin. Import everything at the top: a built component cannot import modules."""

import re
from collections import Counter
from dataclasses import dataclass
from typing import Annotated

from wharf_plugin import Call, InvalidArguments, Plugin

plugin = Plugin()


@plugin.tool(read_only=True)
def greet(name: Annotated[str, "Whom to greet."], times: Annotated[int, {"minimum": 1, "maximum": 9}] = 1) -> str:
    """Greets somebody."""
    return "\n".join([f"Hello, {name}!"] * times)


@dataclass
class Word:
    word: str
    times: int


@dataclass
class Words:
    total: int
    frequent: Annotated[list[Word], "The most frequent first."]


@plugin.tool(read_only=True)
def count_words(text: str, call: Call) -> Words:
    """Counts the words of a text.

    Args:
        text: What to count in.
    """
    found = re.findall(r"\w+", text.lower())
    if not found:
        raise InvalidArguments("/text", "has no words")
    call.log.debug(f"{len(found)} words")
    return Words(len(found), [Word(*one) for one in Counter(found).most_common(3)])
