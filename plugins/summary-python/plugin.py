"""What is in a table: columns, types, counts, quantiles, frequent values, groups."""

import math
from dataclasses import dataclass
from typing import Annotated, Literal

from wharf_plugin import InvalidArguments, Plugin

import columns
import tables
from columns import Column
from tables import Table

plugin = Plugin()

Data = Annotated[str, "The table: CSV with a header, a JSON array of objects, or JSON Lines."]
Format = Annotated[
    Literal["auto", "csv", "json", "jsonl"], "What `data` is; `auto` looks at how it begins."
]


@dataclass
class Summary:
    """What is in a table."""

    format: str
    rows: Annotated[int, "Rows, less those that are empty."]
    duplicates: Annotated[int, "Rows that say what an earlier one says."]
    columns: list[Column]


@dataclass
class Group:
    """Rows that share a value."""

    value: Annotated[str | None, "The value; null for rows without one."]
    rows: int
    sum: float | None
    mean: float | None
    least: float | None
    most: float | None


@dataclass
class Groups:
    """A table in groups, the largest first."""

    groups: list[Group]
    left_out: Annotated[int, "Groups beyond `limit`."]


@plugin.tool(read_only=True)
def describe(
    data: Data,
    format: Format = "auto",
    top: Annotated[int, "Frequent values per column.", {"minimum": 0, "maximum": 20}] = 3,
) -> Summary:
    """Summarises a table column by column: its type, how many values are missing and
    distinct, the least and most, mean, deviation and quartiles of numbers, the range of
    dates, the lengths of texts, and the most frequent values. Use it before you read a large
    table, or in place of that."""
    table = _read(data, format)
    seen = {tuple(row) for row in table.rows}
    return Summary(
        format=table.format,
        rows=len(table.rows),
        duplicates=len(table.rows) - len(seen),
        columns=[columns.describe(name, [row[at] for row in table.rows], top) for at, name in enumerate(table.names)],
    )


@plugin.tool(read_only=True)
def group(
    data: Data,
    by: Annotated[str, "The column that groups are made by."],
    value: Annotated[str | None, "The column of numbers to add up; without it rows are only counted."] = None,
    format: Format = "auto",
    limit: Annotated[int, "How many groups at most.", {"minimum": 1, "maximum": 1000}] = 20,
) -> Groups:
    """Groups the rows of a table by a column, and counts them; of a second column it gives
    sum, mean, least and most in each group."""
    table = _read(data, format)
    keys = _column(table, by, "/by")
    numbers: list[float | None] = [None] * len(keys)
    if value is not None:
        numbers = [columns.number(cell) for cell in _column(table, value, "/value")]
        if all(number is None for number in numbers):
            raise InvalidArguments("/value", f"the column {value} has no numbers")
    found: dict[str | None, list[int]] = {}
    for at, key in enumerate(keys):
        found.setdefault(key, []).append(at)
    ordered = sorted(found.items(), key=lambda item: (-len(item[1]), item[0] is None, item[0] or ""))
    groups = [_group(key, len(rows), [numbers[at] for at in rows]) for key, rows in ordered[:limit]]
    return Groups(groups, len(ordered) - len(groups))


def _group(key: str | None, rows: int, cells: list[float | None]) -> Group:
    of = [number for number in cells if number is not None]
    if not of:
        return Group(key, rows, None, None, None, None)
    total = math.fsum(of)
    return Group(key, rows, columns.tidy(total), columns.tidy(total / len(of)), min(of), max(of))


def _read(data: str, format: str) -> Table:
    try:
        return tables.read(data, format)
    except tables.Unreadable as error:
        raise InvalidArguments("/data", str(error)) from None


def _column(table: Table, name: str, path: str) -> list[str | None]:
    if name not in table.names:
        raise InvalidArguments(path, f"there is no column {name}; there are: {', '.join(table.names)}")
    at = table.names.index(name)
    return [row[at] for row in table.rows]
