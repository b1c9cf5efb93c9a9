"""Results are compared with the annotation of their function."""

import unittest
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypedDict, Union

from wharf_plugin import Content, Image, Plugin, Text, ToolError, ToolResult
from wharf_plugin.returned import fits
from wharf_plugin.testing import Client


@dataclass
class Stats:
    words: int


class Row(TypedDict):
    name: str


class Returned(unittest.TestCase):
    def test_values_fit_their_annotations(self) -> None:
        image = Image(b"", "image/png")
        cases: list[tuple[Any, list[Any], list[Any]]] = [
            (str, ["a", image], [None, 5, ["a"], {}]),
            (Content, ["a", Text("b")], [None, 5]),
            (Union[str, None], ["a", None], [5]),
            (None, [None], ["a"]),
            (Annotated[int, "How many."], [5, 3.0], [None, "5", True, 3.5]),
            (float, [5, 3.5], ["5", False]),
            (bool, [True], [1, None]),
            (list[Content], [[], ["a"], (image,)], [None, "a", {}]),
            (Sequence[int], [[1], {1}], [1]),
            (dict[str, int], [{}, Stats(1)], [None, [], "a"]),
            (Stats, [Stats(1), {"words": 1}], [None, 1]),
            (Row, [{"name": "a"}], [None, "a"]),
            (Literal["a", None], ["a", None], []),
            (Literal["a"], ["a"], [None]),
            (Any, [None, 5, "a"], []),
            (ToolResult[int], [5], []),
        ]
        for hint, good, bad in cases:
            for value in good:
                self.assertTrue(fits(hint, value), (hint, value))
            for value in bad:
                self.assertFalse(fits(hint, value), (hint, value))

    def test_an_error_has_the_value_and_the_annotation(self) -> None:
        plugin = Plugin()

        @plugin.tool
        def count(text: str) -> int:
            return text  # type: ignore[return-value]

        @plugin.tool
        def greet() -> str:
            return None  # type: ignore[return-value]

        @plugin.tool
        def rows() -> list[int]:
            return None  # type: ignore[return-value]

        client = Client(plugin)
        arguments: dict[str, dict[str, Any]] = {"count": {"text": "many"}, "greet": {}, "rows": {}}
        for name, reason in [
            ("count", "count returned 'many', but is annotated `-> int`"),
            ("greet", "greet returned None, but is annotated `-> str`"),
            ("rows", "rows returned None, but is annotated `-> list[int]`"),
        ]:
            with self.assertRaises(ToolError) as raised:
                client.call(name, **arguments[name])
            self.assertEqual(str(raised.exception), reason)
        with self.assertRaises(ToolError) as raised:
            client.call("count", text="x" * 10_000)
        self.assertLess(len(str(raised.exception)), 200)


if __name__ == "__main__":
    unittest.main()
