"""What a client sees of the plugin. Run with `PYTHONPATH=.:../../plugin-sdk/python python3 -m unittest`."""

import json
import unittest
from typing import Any

from wharf_plugin import InvalidArguments
from wharf_plugin.testing import Client

from plugin import plugin

SALES = """day;town;pieces;price
2026-01-01;Bern;3;1.5
2026-01-02;Basel;;2
2026-01-03;Bern;5;2.5
2026-01-03;Bern;5;2.5
"""


def describe(data: str, **options: object) -> dict[str, Any]:
    found: dict[str, Any] = Client(plugin).call("describe", data=data, **options).structured
    return found


class Describe(unittest.TestCase):
    def test_csv(self) -> None:
        summary = describe(SALES)
        self.assertEqual((summary["format"], summary["rows"], summary["duplicates"]), ("csv", 4, 1))
        day, town, pieces, price = summary["columns"]
        self.assertEqual((day["type"], day["dates"]), ("date", {"least": "2026-01-01", "most": "2026-01-03"}))
        self.assertEqual((town["type"], town["distinct"]), ("text", 2))
        self.assertEqual(town["frequent"], [{"value": "Bern", "rows": 3}])
        self.assertEqual(town["lengths"], {"least": 4, "most": 5})
        self.assertEqual((pieces["type"], pieces["values"], pieces["missing"]), ("integer", 3, 1))
        self.assertEqual(price["type"], "number")
        self.assertEqual(
            price["numbers"],
            {
                "least": 1.5,
                "quartile1": 1.875,
                "median": 2.25,
                "quartile3": 2.5,
                "most": 2.5,
                "mean": 2.125,
                "deviation": 0.478713553878,
                "sum": 8.5,
            },
        )

    def test_json(self) -> None:
        rows = [{"a": 1, "b": True}, {"a": None, "c": [1]}, {"a": 2, "b": False}]
        for data, format in [(json.dumps(rows), "json"), ("\n".join(map(json.dumps, rows)), "jsonl")]:
            with self.subTest(format=format):
                summary = describe(data, top=0)
                self.assertEqual(summary["format"], format)
                kinds = [(column["name"], column["type"], column["missing"]) for column in summary["columns"]]
                self.assertEqual(kinds, [("a", "integer", 1), ("b", "boolean", 1), ("c", "text", 2)])

    def test_types(self) -> None:
        for values, kind in [
            ("1,2", "integer"),
            ("1,2.5,1e3", "number"),
            ("1,nan", "text"),
            ("1e999", "text"),
            ("yes,NO", "boolean"),
            ("2026-01-01 10:00,2026-01-02T03:04:05Z", "date"),
            ("2026-13-01", "text"),
        ]:
            with self.subTest(values=values):
                column = describe("a\n" + values.replace(",", "\n"))["columns"][0]
                self.assertEqual(column["type"], kind)
        self.assertEqual(describe("a,b\n1,")["columns"][1]["type"], "empty")

    def test_a_single_number_does_not_deviate(self) -> None:
        numbers = describe("a\n7")["columns"][0]["numbers"]
        self.assertEqual((numbers["median"], numbers["deviation"]), (7, 0))

    def test_what_is_no_table(self) -> None:
        for data, format, why in [
            (" \n", "auto", "/data: there is nothing in it"),
            ("a,b\n1,2,3", "auto", "row 1 has 3 cells, and the header 2"),
            ("a,a\n1,2", "auto", "there are two columns a"),
            ("[1", "auto", "not JSON"),
            ("{}", "json", "the JSON is no array"),
            ("[1]", "auto", "row 1 is no object"),
            ('{"a": 1}\n{', "auto", "line 2 is not JSON"),
        ]:
            with self.subTest(data=data), self.assertRaisesRegex(InvalidArguments, why):
                describe(data, format=format)


class Group(unittest.TestCase):
    def group(self, **options: object) -> dict[str, Any]:
        found: dict[str, Any] = Client(plugin).call("group", data=SALES, **options).structured
        return found

    def test_sums(self) -> None:
        groups = self.group(by="town", value="pieces")["groups"]
        bern = {"value": "Bern", "rows": 3, "sum": 13, "mean": 4.33333333333, "least": 3, "most": 5}
        basel = {"value": "Basel", "rows": 1, "sum": None, "mean": None, "least": None, "most": None}
        self.assertEqual(groups, [bern, basel])

    def test_counts_alone(self) -> None:
        found = self.group(by="day", limit=1)
        self.assertEqual([one["value"] for one in found["groups"]], ["2026-01-03"])
        self.assertEqual(found["left_out"], 2)

    def test_columns_that_are_not_there(self) -> None:
        with self.assertRaisesRegex(InvalidArguments, "/by: there is no column city; there are: day, town"):
            self.group(by="city")
        with self.assertRaisesRegex(InvalidArguments, "/value: the column town has no numbers"):
            self.group(by="day", value="town")


if __name__ == "__main__":
    unittest.main()
