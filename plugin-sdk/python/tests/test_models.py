"""Models of pydantic 1."""

import datetime
import enum
import unittest
from decimal import Decimal
from typing import Any, List, Optional, Tuple

from pydantic import BaseModel, Field, validator

from wharf_plugin import InvalidArguments, Plugin
from wharf_plugin.testing import Client

plugin = Plugin()


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Item(BaseModel):
    """An item."""

    name: str
    price: Decimal = Field(..., gt=0, description="Of each.")
    size: Tuple[int, int] = (1, 2)
    colour: Optional[Colour] = None


class Order(BaseModel):
    first: Item = Field(..., description="What.")
    title: str = Field("none", title="Heading")
    properties: List[Item] = []
    day: Optional[datetime.date] = None

    @validator("title")
    def is_good(cls, title: str) -> str:
        if title == "bad":
            raise ValueError("is bad")
        return title


class Tree(BaseModel):
    below: "List[Tree]" = []


Tree.update_forward_refs()


@plugin.tool
def order(order: Order, more: list[Item] | None = None) -> Order:
    """Orders."""
    order.properties += more or []
    return order


class Models(unittest.TestCase):
    def test_schemas_have_no_references(self) -> None:
        tool = Client(plugin).tools()[0]
        item = {
            "type": "object",
            "description": "An item.",
            "properties": {
                "name": {"type": "string"},
                "price": {"type": "number", "exclusiveMinimum": 0, "description": "Of each."},
                "size": {
                    "type": "array",
                    "prefixItems": [{"type": "integer"}, {"type": "integer"}],
                    "minItems": 2,
                    "maxItems": 2,
                    "default": [1, 2],
                },
                "colour": {"anyOf": [{"enum": ["red", "blue"]}, {"type": "null"}]},
            },
            "required": ["name", "price"],
        }
        order = {
            "type": "object",
            "properties": {
                "first": {**item, "description": "What."},
                "title": {"type": "string", "title": "Heading", "default": "none"},
                "properties": {"type": "array", "items": item, "default": []},
                "day": {"type": ["string", "null"], "format": "date"},
            },
            "required": ["first"],
        }
        self.assertEqual(tool["inputSchema"]["properties"]["order"], order)
        self.assertEqual(tool["outputSchema"], order)

    def test_arguments_and_results_are_models(self) -> None:
        item = {"name": "nail", "price": 0.5, "colour": "red"}
        result = Client(plugin).call("order", order={"first": item, "day": "2026-01-02"}, more=[item])
        whole = {**item, "size": [1, 2]}
        expected = {"first": whole, "title": "none", "properties": [whole], "day": "2026-01-02"}
        self.assertEqual(result.structured, expected)

    def test_errors_have_their_place(self) -> None:
        item = {"name": "nail", "price": 1}
        wrong: list[tuple[Any, str, str]] = [
            ({"first": {"name": "nail", "price": -1}}, "/order/first/price", "greater than 0"),
            ({"first": item, "title": "bad"}, "/order/title", "is bad"),
            ({"first": item, "properties": [item, {}]}, "/order/properties/1/name", "required"),
            (5, "/order", "expected dict"),
        ]
        for order, path, reason in wrong:
            with self.subTest(path=path), self.assertRaisesRegex(InvalidArguments, reason) as raised:
                Client(plugin).call("order", order=order)
            self.assertEqual(raised.exception.path, path)

    def test_models_without_a_schema_are_refused(self) -> None:
        class Later(BaseModel):
            """As models of pydantic 2 are."""

            @classmethod
            def model_validate(cls, value: Any) -> None: ...

        def tree(tree: Tree) -> str:
            return ""

        def later(later: Later) -> str:
            return ""

        tree.__annotations__["tree"] = Tree
        later.__annotations__["later"] = Later
        with self.assertRaisesRegex(TypeError, "Tree contains itself"):
            plugin.tool(tree)
        with self.assertRaisesRegex(TypeError, "Later is a model of pydantic 2.*pydantic<2"):
            plugin.tool(later)


if __name__ == "__main__":
    unittest.main()
