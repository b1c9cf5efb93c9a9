"""What is in a column."""

import datetime
import math
import re
import statistics
from collections import Counter
from dataclasses import dataclass
from typing import Annotated, Literal

Cells = list[str | None]

# Not all that `float` takes: `nan`, `1_000` and ` 1` are no numbers in a table.
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_DATE = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d.*)?")


@dataclass
class Numbers:
    """Of the numbers of a column."""

    least: float
    quartile1: float
    median: float
    quartile3: float
    most: float
    mean: float
    deviation: Annotated[float, "Of a sample; 0 for a single number."]
    sum: float


@dataclass
class Span:
    """The first and the last date or moment, and the shortest and the longest text."""

    least: str | int
    most: str | int


@dataclass
class Frequent:
    value: str
    rows: int


@dataclass
class Column:
    """What is in a column."""

    name: str
    type: Literal["integer", "number", "boolean", "date", "text", "empty"]
    values: int
    missing: int
    distinct: int
    numbers: Numbers | None
    dates: Annotated[Span | None, "The first and the last."]
    lengths: Annotated[Span | None, "Characters of the shortest and the longest text."]
    frequent: Annotated[list[Frequent], "The most frequent values that come more than once."]


def describe(name: str, cells: Cells, top: int) -> Column:
    """Describes a column."""
    values = [cell for cell in cells if cell is not None]
    kind = kind_of(values)
    counted = Counter(values)
    numbers = [found for cell in values if (found := number(cell)) is not None] if kind in ("integer", "number") else []
    lengths = [len(value) for value in values] if kind == "text" else []
    dates = sorted(values) if kind == "date" else []
    return Column(
        name=name,
        type=kind,
        values=len(values),
        missing=len(cells) - len(values),
        distinct=len(counted),
        numbers=_numbers(numbers) if numbers else None,
        dates=Span(dates[0], dates[-1]) if dates else None,
        lengths=Span(min(lengths), max(lengths)) if lengths else None,
        frequent=[Frequent(value, rows) for value, rows in counted.most_common(top) if rows > 1],
    )


def kind_of(values: list[str]) -> Literal["integer", "number", "boolean", "date", "text", "empty"]:
    """The narrowest type that all values are of."""
    if not values:
        return "empty"
    if all(number(value) is not None for value in values):
        return "integer" if all(re.fullmatch(r"[+-]?\d+", value) for value in values) else "number"
    if all(value.lower() in ("true", "false", "yes", "no") for value in values):
        return "boolean"
    return "date" if all(_is_date(value) for value in values) else "text"


def number(cell: str | None) -> float | None:
    """The number in a cell, if that is one."""
    if cell is None or not _NUMBER.fullmatch(cell):
        return None
    found = float(cell)
    return found if math.isfinite(found) else None


def tidy(value: float) -> float:
    """Without the last digits, where binary fractions show."""
    return float(f"{value:.12g}")


def _is_date(value: str) -> bool:
    if not _DATE.fullmatch(value):
        return False
    try:
        datetime.datetime.fromisoformat(value)
    except ValueError:
        return False
    return True


def _numbers(numbers: list[float]) -> Numbers:
    mean = statistics.fmean(numbers)
    quartiles = statistics.quantiles(numbers, n=4, method="inclusive") if len(numbers) > 1 else numbers * 3
    # `statistics.stdev` is exact, and a hundred times slower.
    squares = math.fsum((one - mean) ** 2 for one in numbers)
    return Numbers(
        least=min(numbers),
        quartile1=tidy(quartiles[0]),
        median=tidy(quartiles[1]),
        quartile3=tidy(quartiles[2]),
        most=max(numbers),
        mean=tidy(mean),
        deviation=tidy(math.sqrt(squares / max(len(numbers) - 1, 1))),
        sum=tidy(math.fsum(numbers)),
    )
