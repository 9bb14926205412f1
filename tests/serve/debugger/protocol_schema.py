"""The published JSON schema of the debug adapter protocol, as debugpy carries it."""

from __future__ import annotations

import functools
import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

_PLACE = "_vendored/pydevd/_pydevd_bundle/_debug_adapter/debugProtocol.json"


@functools.cache
def _definitions() -> dict[str, Any]:
    found = importlib.util.find_spec("debugpy")
    if found is None or found.origin is None:
        pytest.skip("the schema of the protocol comes with debugpy, which is not installed")
    schema = json.loads((Path(found.origin).parent / _PLACE).read_text(encoding="utf-8"))
    return schema["definitions"]


@functools.cache
def _validator(name: str) -> Any:
    jsonschema = pytest.importorskip("jsonschema")
    return jsonschema.Draft4Validator({"$ref": f"#/definitions/{name}", "definitions": _definitions()})


def _name(message: dict[str, Any]) -> str:
    kind = message["type"]
    if kind == "response" and not message["success"]:
        return "ErrorResponse"
    name = message["event" if kind == "event" else "command"]
    return f"{name[0].upper()}{name[1:]}{kind.capitalize()}"


def validate(message: dict[str, Any]) -> None:
    """Refuse a message that is not as the schema says, or has a body with fields nobody knows."""
    _validator("ProtocolMessage").validate(message)
    name = _name(message)
    _validator(name).validate(message)
    body = message.get("body")
    declared = _properties(_definitions()[name]).get("body", {})
    if "$ref" in declared:
        declared = _definitions()[declared["$ref"].rpartition("/")[2]]
    known = declared.get("properties")
    if known and isinstance(body, dict):
        unknown = set(body) - set(known)
        assert not unknown, f"{name} has no {unknown}"


def _properties(definition: dict[str, Any]) -> dict[str, Any]:
    found = dict(definition.get("properties", {}))
    for part in definition.get("allOf", []):
        found.update(part.get("properties", {}))
    return found
