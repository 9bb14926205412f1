"""Chapters of declarations that are loaded when they are asked for, also by several threads at once."""

from __future__ import annotations

from typing import Any

import pytest

from tileir.ir.declaration import OperationDeclaration, Registry


class Interrupted(dict[Any, Any]):
    """A table in which, whenever something is missing, another thread loads all chapters before that is noticed."""

    def __init__(self, registry: Registry) -> None:
        super().__init__()
        self.registry = registry
        self.is_running = False

    def get(self, key: Any, default: Any = None) -> Any:
        found = super().get(key, default)
        if found is None and not self.is_running:
            self.is_running = True
            assert len(self.registry.by_name) == 2
        return found


def registry_of_two() -> Registry:
    registry = Registry()
    loaded: set[str] = set()

    def load(chapter: str) -> None:
        if chapter not in loaded:
            loaded.add(chapter)
            opcode = {"first": 1, "second": 2}[chapter]
            registry.add(
                OperationDeclaration(f"{chapter}_one", chapter=chapter, summary="Does nothing.", opcode=opcode)
            )

    registry.expect({"first": "FIRST_ONE=1", "second": "SECOND_ONE=2"}, load)
    return registry


def test_a_chapter_that_another_thread_loads_meanwhile() -> None:
    registry = registry_of_two()
    try:
        registry._loaded = Interrupted(registry)
    except TypeError:
        pytest.skip("a compiled class takes no other table")
    found = registry.find("cuda_tile.first_one")
    assert found is not None and found.name == "cuda_tile.first_one"


def test_an_opcode_that_another_thread_loads_meanwhile() -> None:
    registry = registry_of_two()
    try:
        registry._opcodes = Interrupted(registry)
    except TypeError:
        pytest.skip("a compiled class takes no other table")
    found = registry.with_opcode(2)
    assert found is not None and found.name == "cuda_tile.second_one"


def test_what_no_chapter_has() -> None:
    registry = registry_of_two()
    assert registry.find("cuda_tile.third_one") is None
    assert registry.with_opcode(3) is None
    assert [found.opcode for found in registry.declarations()] == [1, 2]
