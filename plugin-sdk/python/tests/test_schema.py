"""Schemas from type hints, and values read back through them."""

import datetime
import enum
import unittest
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, NotRequired, Optional, TypedDict, Union

from wharf_plugin import InvalidArguments
from wharf_plugin.ask import Ask
from wharf_plugin.reading import read, read_form, read_text
from wharf_plugin.schema import form_schema, input_schema, schema
from wharf_plugin.shapes import argument_docs, parameters
from wharf_plugin.values import dumps


class Colour(enum.Enum):
    """A colour."""

    RED = "red"
    GREEN = "green"


class Size(enum.IntEnum):
    SMALL = 1
    LARGE = 2


@dataclass
class Point:
    """A place on the map.

    Attributes:
        x: How far to the right.
        y: How far up.
    """

    x: int
    y: int = 0
    tags: list[str] = field(default_factory=list)


class Options(TypedDict):
    deep: bool
    limit: NotRequired[Annotated[int, "How many.", {"minimum": 1}]]


@dataclass
class Nested:
    points: dict[str, Point]
    options: Options | None = None


@dataclass
class Tree:
    children: "list[Tree]"


class Schemas(unittest.TestCase):
    def test_simple_types(self) -> None:
        for hint, expected in [
            (str, {"type": "string"}),
            (int, {"type": "integer"}),
            (float, {"type": "number"}),
            (bool, {"type": "boolean"}),
            (Any, {}),
            (bytes, {"type": "string", "contentEncoding": "base64"}),
            (datetime.date, {"type": "string", "format": "date"}),
            (list[int], {"type": "array", "items": {"type": "integer"}}),
            (Sequence[str], {"type": "array", "items": {"type": "string"}}),
            (set[str], {"type": "array", "items": {"type": "string"}, "uniqueItems": True}),
            (dict[str, int], {"type": "object", "additionalProperties": {"type": "integer"}}),
            (dict[str, Any], {"type": "object"}),
            (Optional[int], {"type": ["integer", "null"]}),
            (Union[int, str], {"type": ["integer", "string"]}),
            (int | None, {"type": ["integer", "null"]}),
            (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
            (Literal["a", 1], {"enum": ["a", 1]}),
            (Colour, {"type": "string", "enum": ["red", "green"], "description": "A colour."}),
            (Size, {"type": "integer", "enum": [1, 2]}),
            (Colour | None, {"anyOf": [schema(Colour), {"type": "null"}]}),
            (
                tuple[int, str],
                {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}], "minItems": 2, "maxItems": 2},
            ),
            (tuple[int, ...], {"type": "array", "items": {"type": "integer"}}),
            (Annotated[int, "n", {"maximum": 3}], {"type": "integer", "description": "n", "maximum": 3}),
        ]:
            with self.subTest(hint=hint):
                self.assertEqual(schema(hint), expected)

    def test_records(self) -> None:
        point = {
            "type": "object",
            "properties": {
                "x": {"type": "integer", "description": "How far to the right."},
                "y": {"type": "integer", "default": 0, "description": "How far up."},
                "tags": {"type": "array", "items": {"type": "string"}},
            },
            "required": ["x"],
            "description": "A place on the map.",
        }
        self.assertEqual(schema(Point), point)
        options = {
            "type": "object",
            "properties": {
                "deep": {"type": "boolean"},
                "limit": {"type": "integer", "description": "How many.", "minimum": 1},
            },
            "required": ["deep"],
        }
        self.assertEqual(schema(Options), options)
        self.assertEqual(
            schema(Nested)["properties"],
            {
                "points": {"type": "object", "additionalProperties": point},
                "options": {"anyOf": [options, {"type": "null"}]},
            },
        )

    def test_types_without_a_schema(self) -> None:
        for hint, why in [(Tree, "contains itself"), (complex, "complex has no JSON Schema; use str, int"), (Ask, "Ask has no")]:
            with self.subTest(hint=hint), self.assertRaisesRegex(TypeError, why):
                schema(hint)

    def test_forms_are_flat(self) -> None:
        @dataclass
        class Table:
            seats: Annotated[int, "How many people.", {"minimum": 1}]
            where: Literal["inside", "outside"] = "inside"
            note: str | None = None

        self.assertEqual(
            form_schema(Table),
            {
                "type": "object",
                "properties": {
                    "seats": {"type": "integer", "description": "How many people.", "minimum": 1},
                    "where": {"type": "string", "enum": ["inside", "outside"], "default": "inside"},
                    "note": {"type": "string"},
                },
                "required": ["seats"],
            },
        )
        self.assertEqual(read_form(Table, {"seats": 2}), Table(2))

    def test_empty_optional_fields_are_none(self) -> None:
        @dataclass
        class Note:
            text: str | None

        self.assertEqual(form_schema(Note), {"type": "object", "properties": {"text": {"type": "string"}}})
        self.assertEqual(read_form(Note, {}), Note(None))


class Docstrings(unittest.TestCase):
    def test_sections(self) -> None:
        def google(path: str, deep: bool = False) -> str:
            """Lists a folder.

            All of it.

            Args:
                path (str): Where to look,
                    and how.
                deep: Whether to go on.

            Returns:
                What was found.
            """
            return path

        members, description = parameters(google, lambda name, hint: False)
        self.assertEqual(description, "Lists a folder.\n\nAll of it.")
        self.assertEqual(
            input_schema(members),
            {
                "type": "object",
                "properties": {
                    "path": {"type": "string", "description": "Where to look, and how."},
                    "deep": {"type": "boolean", "default": False, "description": "Whether to go on."},
                },
                "required": ["path"],
                "additionalProperties": False,
            },
        )

    def test_fields(self) -> None:
        text, described = argument_docs("Adds.\n\n:param a: The first,\n    a number.\n:param int b: The second.\n:returns: The sum.")
        self.assertEqual(text, "Adds.")
        self.assertEqual(described, {"a": "The first, a number.", "b": "The second."})

    def test_other_text_is_kept(self) -> None:
        doc = "Does this: and that.\n\nNote: it is slow.\n\n    indented\n"
        self.assertEqual(argument_docs(doc), (doc.strip(), {}))


class Reading(unittest.TestCase):
    def test_types(self) -> None:
        key = uuid.uuid4()
        for hint, value, expected in [
            (int, 3.0, 3),
            (float, 3, 3.0),
            (bytes, "aGk=", b"hi"),
            (Colour, "red", Colour.RED),
            (Size, 2, Size.LARGE),
            (set[int], [1, 1], {1}),
            (frozenset[int], [1], frozenset({1})),
            (tuple[int, str], [1, "a"], (1, "a")),
            (tuple[int, ...], [1, 2], (1, 2)),
            (Sequence[int], [1], [1]),
            (datetime.date, "2026-11-22", datetime.date(2026, 11, 22)),
            (uuid.UUID, str(key), key),
            (int | None, None, None),
            (int | str, "a", "a"),
            (dict[str, Point], {"a": {"x": 1}}, {"a": Point(1)}),
            (Options, {"deep": True, "other": 1}, {"deep": True}),
            (Any, {"a": [None]}, {"a": [None]}),
        ]:
            with self.subTest(hint=hint):
                self.assertEqual(read(hint, value), expected)

    def test_invalid_values_name_their_place(self) -> None:
        for hint, value, path, reason in [
            (int, True, "", "must be a whole number"),
            (int, 1.5, "", "must be a whole number"),
            (str, 1, "", "must be a string"),
            (bool, 1, "", "must be a boolean"),
            (float, "1", "", "must be a number"),
            (bytes, "*", "", "must be base64"),
            (Literal["a"], "b", "", 'must be one of "a"'),
            (Literal[1], True, "", "must be one of 1"),
            (Colour, "blue", "", 'must be one of "red", "green"'),
            (list[int], [1, "2"], "/1", "must be a whole number"),
            (dict[str, Point], {"a/b": {"x": "no"}}, "/a~1b/x", "must be a whole number"),
            (Point, {"y": 1}, "", "x is required"),
            (tuple[int, int], [1], "", "must have 2 items"),
        ]:
            with self.subTest(hint=hint, value=value), self.assertRaises(InvalidArguments) as raised:
                read(hint, value)
            self.assertEqual((raised.exception.path, raised.exception.reason), (path, reason))

    def test_text_of_prompts(self) -> None:
        self.assertEqual(read_text(int | None, "7", ""), 7)
        self.assertEqual(read_text(bool, "true", ""), True)
        self.assertEqual(read_text(Colour, "green", ""), Colour.GREEN)
        with self.assertRaisesRegex(InvalidArguments, "/n: must be a number"):
            read_text(int, "seven", "/n")


class Values(unittest.TestCase):
    def test_dumps(self) -> None:
        value = {"p": Point(1), "c": Colour.RED, "d": datetime.date(2026, 1, 2), "s": (1, 2), 3: b"hi", "é": None}
        self.assertEqual(
            dumps(value),
            '{"p":{"x":1,"y":0,"tags":[]},"c":"red","d":"2026-01-02","s":[1,2],"3":"aGk=","é":null}',
        )
        with self.assertRaisesRegex(ValueError, "NaN"):
            dumps(float("nan"))
        with self.assertRaisesRegex(TypeError, "complex cannot be converted"):
            dumps(1j)


if __name__ == "__main__":
    unittest.main()
