"""Chapters of declarations that are loaded when they are asked for, also by several threads at once."""

from __future__ import annotations

import subprocess
import sys
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


INTERRUPTED = """
import sys
from tileir.dialect import ops
from tileir.ir.registry import REGISTRY

def step(frame, event, argument):
    if event == "return" and frame.f_code.co_name == "add" and len(REGISTRY.loaded()) > before:
        sys.setprofile(None)
        raise KeyboardInterrupt

interrupts = 0
for chapter in ops._CHAPTERS:
    name = f"tileir.dialect.ops.{chapter}"
    if name not in sys.modules:
        before = len(REGISTRY.loaded())
        sys.setprofile(step)
        try:
            __import__(name)
        except KeyboardInterrupt:
            interrupts += 1
        sys.setprofile(None)
        found = REGISTRY.loaded()[-1]
        module = __import__(name, fromlist=["x"])
        assert any(value is found for value in vars(module).values()), found
assert interrupts or module.__file__.endswith((".so", ".pyd"))
names = [declaration.name for declaration in REGISTRY.declarations()]
assert len(set(names)) == len(names) > 100
try:
    REGISTRY.add(type(found)(found.mnemonic, chapter="another", summary="", since=None))
except ValueError as error:
    print(str(error).partition("' ")[2])
"""


def test_chapter_whose_loading_was_interrupted_is_loaded_again() -> None:
    """As by Ctrl-C in the first launch of a process; what the first attempt declared stays, and mistakes are told."""
    process = subprocess.run([sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, timeout=60)
    assert process.stdout == "is declared twice\n", process.stderr
