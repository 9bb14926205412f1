"""Chapters of declarations that are loaded when they are asked for, also by several threads at once."""

from __future__ import annotations

from typing import Any

import pytest

from tileir.ir.declaration import OperationDeclaration
from tileir.ir.registry import Registry


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
    declared = {
        chapter: OperationDeclaration(f"{chapter}_one", summary="Does nothing.", opcode=opcode)
        for opcode, chapter in ((1, "first"), (2, "second"))
    }

    def load(chapter: str) -> list[OperationDeclaration]:
        return [declared[chapter]]

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
        registry._by_opcode = Interrupted(registry)
    except TypeError:
        pytest.skip("a compiled class takes no other table")
    found = registry.with_opcode(2)
    assert found is not None and found.name == "cuda_tile.second_one"


def test_what_no_chapter_has() -> None:
    registry = registry_of_two()
    assert registry.find("cuda_tile.third_one") is None
    assert registry.with_opcode(3) is None
    assert [found.opcode for found in registry.declarations()] == [1, 2]


def test_chapter_whose_loading_was_interrupted_is_loaded_again() -> None:
    """As by Ctrl-C in the first launch of a process."""
    registry = Registry()
    declared = [OperationDeclaration(name, summary="Does nothing.", since=None) for name in ("first", "second")]
    attempts: list[str] = []

    def load(chapter: str) -> list[OperationDeclaration]:
        attempts.append(chapter)
        if len(attempts) == 1:
            registry.add(declared[0])
            raise KeyboardInterrupt
        return declared

    registry.expect({"chapter": "FIRST SECOND"}, load)
    with pytest.raises(KeyboardInterrupt):
        registry.find("cuda_tile.second")
    assert registry.find("cuda_tile.second") is declared[1] and registry.declarations() == declared
    with pytest.raises(ValueError, match=r"operation 'cuda_tile\.first' is declared twice"):
        registry.add(OperationDeclaration("first", summary="", since=None))


def test_two_operations_cannot_have_one_opcode() -> None:
    registry = Registry()
    registry.add(OperationDeclaration("first", summary="", since=None, opcode=0x7B))
    with pytest.raises(ValueError, match=r"operation 'cuda_tile\.second' has the opcode of another, 0x7b"):
        registry.add(OperationDeclaration("second", summary="", since=None, opcode=0x7B))
