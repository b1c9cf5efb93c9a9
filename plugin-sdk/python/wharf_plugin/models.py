"""Models of pydantic 1 as arguments and results. Later versions have compiled parts, which a
component cannot contain.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Mapping
from typing import Any

from .errors import InvalidArguments


def is_model(hint: Any) -> bool:
    """Whether it is a class of models."""
    return isinstance(hint, type) and all(hasattr(hint, name) for name in ("__fields__", "parse_obj", "schema"))


def schema(model: Any) -> dict[str, Any]:
    """The model's schema without references, which not every client follows. Raises `TypeError` if
    it contains itself."""
    if hasattr(model, "model_validate"):
        raise TypeError(
            f"{model.__name__} is a model of pydantic 2, which has compiled parts that a component cannot contain; "
            "use a dataclass, a TypedDict or `pydantic<2`"
        )
    of_pydantic = importlib.import_module("pydantic.schema")
    made: dict[str, Any] = model.schema()
    names = of_pydantic.get_model_name_map(of_pydantic.get_flat_models_from_model(model))
    classes = {name: found for found, name in names.items()}
    return _Inliner(made.get("definitions", {}), classes).model(made, model, ())


def read(model: Any, value: Any, path: str) -> Any:
    """An instance. Raises `InvalidArguments` with the place of the first error."""
    try:
        return model.parse_obj(value)
    except ValueError as error:
        found = getattr(error, "errors", None)
        if found is None:
            raise
        first = found()[0]
        # The name of a model as a whole.
        places = [str(place).replace("~", "~0").replace("/", "~1") for place in first["loc"] if place != "__root__"]
        raise InvalidArguments("/".join([path, *places]), first["msg"]) from None


def plain(value: Any) -> Any:
    """The JSON value of an instance."""
    return json.loads(value.json(by_alias=True))


class _Inliner:
    """Puts the schemas of models in the place of references to them."""

    def __init__(self, definitions: Mapping[str, Any], classes: Mapping[str, Any]) -> None:
        self._definitions = definitions
        self._classes = classes

    def model(self, part: dict[str, Any], model: Any, within: tuple[str, ...]) -> dict[str, Any]:
        """The schema of a model or of an enumeration."""
        made = self._inlined({key: one for key, one in part.items() if key != "definitions"}, within)
        for field in getattr(model, "__fields__", {}).values():
            properties = made.get("properties", {})
            if field.allow_none and field.alias in properties:
                properties[field.alias] = _nullable(properties[field.alias])
        if made.get("description") == "An enumeration.":
            del made["description"]
        return _untitled(made, model.__name__)

    def _inlined(self, part: Any, within: tuple[str, ...]) -> Any:
        if isinstance(part, list):
            return [self._inlined(one, within) for one in part]
        if not isinstance(part, dict):
            return part
        reference = part.get("$ref")
        if isinstance(reference, str):
            name = reference.rpartition("/")[2]
            if name in within:
                raise TypeError(f"{name} contains itself, which a derived schema cannot express; set `input_schema`")
            return self.model(self._definitions[name], self._classes[name], (*within, name))
        made = {key: self._member(key, one, within) for key, one in part.items()}
        # How a reference gets a description or a default.
        if len(made.get("allOf", ())) == 1:
            made = {**made.pop("allOf")[0], **made}
        # Tuples: the schema's current version has another name for this.
        if isinstance(made.get("items"), list):
            made["prefixItems"] = made.pop("items")
        return made

    def _member(self, key: str, part: Any, within: tuple[str, ...]) -> Any:
        if key in ("default", "const", "enum", "example", "examples"):
            return part
        if key == "properties":
            inlined = {name: self._inlined(one, within) for name, one in part.items()}
            return {name: _untitled(one, name.replace("_", " ").title()) for name, one in inlined.items()}
        return self._inlined(part, within)


def _nullable(part: dict[str, Any]) -> dict[str, Any]:
    """With null, which pydantic accepts and leaves out of the schema."""
    if set(part) <= {"title", "description", "default"}:
        return part
    if isinstance(part.get("type"), str) and "enum" not in part:
        return {**part, "type": [part["type"], "null"]}
    about: dict[str, Any] = {key: part[key] for key in ("title", "description", "default") if key in part}
    return {**about, "anyOf": [{key: one for key, one in part.items() if key not in about}, {"type": "null"}]}


def _untitled(part: dict[str, Any], default: str) -> dict[str, Any]:
    """Without the title, if it only repeats the name."""
    return {key: value for key, value in part.items() if key != "title" or value != default}
