"""The program of an item, and what it is launched with."""

from __future__ import annotations

from typing import Any, NamedTuple

from tileir.analyze.random_arguments import random_launch
from tileir.analyze.smith.program import SmithProgram
from tileir.bytecode import is_bytecode
from tileir.execute.arguments.argument_text import stated_launch
from tileir.execute.errors import LaunchError
from tileir.execute.launching.entries import entries_of
from tileir.interface import load, verify
from tileir.ir.core import Operation
from tileir.judge.items import Item
from tileir.judge.seeds import seed_program


class Launch(NamedTuple):
    """A kernel, and what it is launched with."""

    entry: str
    grid: tuple[int, ...]
    arguments: list[Any]
    """Copied before each launch, as kernels write to arrays."""


class Subject:
    """A program that is judged."""

    def __init__(self, module: Operation, text: str = "", smith: SmithProgram | None = None) -> None:
        self.module: Operation = module
        self._text: str = text
        self._smith: SmithProgram | None = smith
        self._launches: list[Launch] | None = None
        self._refusal: LaunchError | None = None

    def launches(self, seed: int) -> list[Launch]:
        """A launch of each kernel: its own, the one that the text states, or a random one."""
        if self._refusal is not None:
            # Arguments that are not found take seconds to look for: once, not again in each step.
            raise self._refusal
        if self._launches is None:
            try:
                self._launches = self._made(seed)
            except LaunchError as error:
                self._refusal = error
                raise
        return self._launches

    def _made(self, seed: int) -> list[Launch]:
        entries = entries_of(self.module)
        if not entries:
            raise LaunchError("the module has no entry, so nothing to launch")
        return [self._launch(name, entry, seed) for name, entry in entries.items()]

    def _launch(self, name: str, entry: Operation, seed: int) -> Launch:
        if self._smith is not None:
            return Launch(name, self._smith.grid, self._smith.arguments)
        words = stated_launch(self._text, name) if self._text else None
        launch = words.launch(entry) if words is not None else random_launch(entry, seed)
        return Launch(name, launch.grid, launch.arguments)


def subject_of(item: Item) -> Subject:
    """The program of an item, verified; raises what is wrong with it."""
    if item.kind == "seed":
        return _smith(item)
    if is_bytecode(item.content):
        return Subject(load(item.content, item.name))
    return Subject(load(item.content, item.name), item.content.decode("utf-8", "replace"))


def _smith(item: Item) -> Subject:
    made = seed_program(item.content)
    verify(made.module)
    return Subject(made.module, smith=made)
