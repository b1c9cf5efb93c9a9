"""Python values as JSON text."""

from __future__ import annotations

import base64
import dataclasses
import datetime
import enum
import json
import uuid
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import Any

from . import models


def dumps(value: Any) -> str:
    """The value as JSON. Raises `ValueError` for NaN and infinity, which JSON does not have."""
    try:
        return json.dumps(plain(value), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except ValueError as error:
        raise ValueError(f"{error}: JSON has no NaN or infinity") from None


def plain(value: Any) -> Any:
    """The value in types that `json` supports: dataclasses become objects, enums their values, sets
    and tuples arrays, dates and times ISO 8601, bytes base64."""
    if value is None or type(value) in (str, int, float, bool):
        return value
    if isinstance(value, enum.Enum):
        return plain(value.value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if models.is_model(type(value)):
        return models.plain(value)
    if isinstance(value, Mapping):
        return {_key(key): plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple, AbstractSet)):
        return [plain(one) for one in value]
    if isinstance(value, (datetime.datetime, datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, uuid.UUID):
        return str(value)
    if isinstance(value, (bytes, bytearray)):
        return base64.b64encode(value).decode("ascii")
    if isinstance(value, (str, int, float)):
        return value
    raise TypeError(f"{type(value).__name__} cannot be converted to JSON")


def _key(key: Any) -> str:
    key = plain(key)
    if isinstance(key, str):
        return key
    if key is None or isinstance(key, (bool, int, float)):
        return json.dumps(key)
    raise TypeError(f"{type(key).__name__} cannot be a key in JSON")
