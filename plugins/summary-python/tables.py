"""Tables out of text: CSV, a JSON array of objects, JSON Lines."""

import csv
import io
import json
from dataclasses import dataclass
from typing import Any

SEPARATORS = ",;\t|"


class Unreadable(Exception):
    """The text is no table."""


@dataclass
class Table:
    """Cells are text, or `None` where there is nothing."""

    format: str
    names: list[str]
    rows: list[list[str | None]]


def read(text: str, format: str) -> Table:
    """Reads a table; `auto` guesses what it is. Raises `Unreadable`."""
    text = text.lstrip("\ufeff")
    start = text.lstrip()[:1]
    if not start:
        raise Unreadable("there is nothing in it")
    if format == "auto":
        format = {"[": "json", "{": "jsonl"}.get(start, "csv")
    if format == "csv":
        return _read_csv(text)
    return _of_objects(format, _array(text) if format == "json" else _lines(text))


def _read_csv(text: str) -> Table:
    head = text.lstrip("\r\n").splitlines()[0]
    separator = max(SEPARATORS, key=head.count)
    try:
        lines = [line for line in csv.reader(io.StringIO(text.lstrip("\r\n")), delimiter=separator) if any(line)]
    except csv.Error as error:
        raise Unreadable(f"not CSV: {error}") from None
    names = [name.strip() or f"column {at}" for at, name in enumerate(lines[0], 1)]
    _only_once(names)
    rows = []
    for number, line in enumerate(lines[1:], 1):
        if len(line) > len(names):
            raise Unreadable(f"row {number} has {len(line)} cells, and the header {len(names)}")
        cells: list[str | None] = [cell.strip() or None for cell in line]
        rows.append(cells + [None] * (len(names) - len(cells)))
    return Table("csv", names, rows)


def _array(text: str) -> list[Any]:
    try:
        found = json.loads(text)
    except ValueError as error:
        raise Unreadable(f"not JSON: {error}") from None
    if not isinstance(found, list):
        raise Unreadable("the JSON is no array")
    return found


def _lines(text: str) -> list[Any]:
    found = []
    for number, line in enumerate(text.split("\n"), 1):
        try:
            if line.strip():
                found.append(json.loads(line))
        except ValueError as error:
            raise Unreadable(f"line {number} is not JSON: {error}") from None
    return found


def _of_objects(format: str, objects: list[Any]) -> Table:
    names: dict[str, None] = {}
    for number, one in enumerate(objects, 1):
        if not isinstance(one, dict):
            raise Unreadable(f"row {number} is no object")
        names.update(dict.fromkeys(one))
    return Table(format, list(names), [[_cell(one.get(name)) for name in names] for one in objects])


def _cell(value: Any) -> str | None:
    if value is None or value == "":
        return None
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _only_once(names: list[str]) -> None:
    for at, name in enumerate(names):
        if name in names[:at]:
            raise Unreadable(f"there are two columns {name}")
