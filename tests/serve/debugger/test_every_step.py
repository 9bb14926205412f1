"""A launch under the debugger has at every step the values that a plain launch has, forwards and backwards."""

from __future__ import annotations

import copy
import importlib
from pathlib import Path
from typing import Any

import numpy
import pytest
from tests.execute.recording.reference import Reference
from tests.execute.test_random_programs import arguments_for

import tileir
from tileir.dialect.ops import PTR_TO_INT
from tileir.dialect.types import PointerType, TileType
from tileir.execute.launching.entries import entries_of
from tileir.serve.debugger.session import Debugger

EXAMPLES = Path(__file__).parents[3] / "examples"
NAMES = ("vector_add", "softmax", "layer_norm", "matmul", "attention", "histogram", "racy")


MOST_STEPS = 20_000


class Endless(Exception):
    """A launch takes more steps than a walk has time for."""


class Bounded(Reference):
    """A reference for launches that may never end."""

    def before(self, operation: Any, block: Any, operands: list[Any]) -> None:
        super().before(operation, block, operands)
        if len(self.steps[block.number]) > MOST_STEPS:
            raise Endless


class Walk:
    """A debugger beside what an observer has seen of the same launch."""

    def __init__(self, kernel: Any, grid: Any, arguments: Any, schedule: str) -> None:
        plain, debugged = copy.deepcopy(arguments), copy.deepcopy(arguments)
        self.reference = Bounded()
        self.results = plain
        self.failure = ""
        self.printed: list[str] = []
        self.debugger_printed: list[str] = []
        self.globals = kernel.globals.regions
        before = self.globals_now()
        try:
            kernel.launch(grid, plain, schedule=schedule, observer=self.reference, output=self.printed.append)
        except tileir.ExecutionError as error:
            self.failure = str(error)
        # A launch finds the globals as the one before has left them.
        self.globals_left = self.globals_now()
        for name, content in before.items():
            if self.globals[name].data.flags.writeable:
                self.globals[name].data[:] = content
        self.arguments = debugged
        self.debugger = Debugger(
            kernel, grid, debugged, schedule=schedule, names="tile", output=self.debugger_printed.append
        )
        self.steps = 0

    def globals_now(self) -> dict[str, Any]:
        return {name: region.data.copy() for name, region in self.globals.items()}

    def look(self) -> None:
        """Compare the position with the reference."""
        debugger, (block, step) = self.debugger, self.debugger.position
        assert debugger.operation is not None
        operation = debugger.recording.program.operations[debugger.operation]
        assert operation is self.reference.steps[block][step]
        newest: dict[Any, Any] = {}
        for when, value, content in self.reference.values[block]:
            if when <= step:
                newest[value] = content
        found = {debugger.recording.program.values[one.number]: one for one in debugger.variables() if one.number >= 0}
        for value, content in newest.items():
            if not isinstance(value.type, TileType):
                continue
            made = value.defining_operation
            if isinstance(value.type.element, PointerType) or (made is not None and made.declaration is PTR_TO_INT):
                self.look_at_addresses(found[value].value, content)
            else:
                one = numpy.asarray(found[value].value)
                assert one.tobytes() == numpy.asarray(content).tobytes(), (block, step, found[value].name)
                self.steps += 1
            assert found[value].text

    def look_at_addresses(self, found: Any, content: Any) -> None:
        """Arrays lie elsewhere in another launch: what is pointed to must be the same."""
        words = numpy.array(found).reshape(-1)
        self.debugger.recording.launch.memory.move.back.words(words)
        expected = places_of(content, self.results)
        inside = expected >= 0
        assert (places_of(words, self.arguments)[inside] == expected[inside]).all()

    def forwards_and_back(self, stride: int) -> None:
        debugger = self.debugger
        assert debugger.start().reason == "entry"
        positions = [debugger.position]
        self.look()
        if debugger.recording.schedule == "interleaved":
            for block in self.reference.order:
                if self.failure and not len(debugger.steps(block)):
                    # Of a tile block that was under way when another one failed, all is known up to its last access.
                    continue
                debugger.go_to(block, 0)
                while debugger.position.block == block and debugger.step(by="operation").reason == "step":
                    if debugger.position.block == block and debugger.position.step % stride == 0:
                        self.look()
            positions = []
        else:
            while debugger.step(by="operation").reason == "step":
                positions.append(debugger.position)
                if len(positions) % stride == 0:
                    self.look()
            executed = [
                (block, step) for block in self.reference.order for step in range(len(self.reference.steps[block]))
            ]
            assert positions == executed
        stop = debugger.finish()
        assert stop.reason == "end"
        # Arrays lie elsewhere in another launch.
        assert stop.text.partition(" at address ")[0] == self.failure.partition(" at address ")[0]
        assert self.debugger_printed == self.printed
        for name, content in self.globals_now().items():
            assert content.tobytes() == self.globals_left[name].tobytes()
        for one, other in zip(self.arguments, self.results, strict=True):
            if isinstance(one, numpy.ndarray):
                assert one.tobytes() == other.tobytes()
        for number, position in enumerate(reversed(positions)):
            debugger.step(reverse=True, by="operation")
            assert debugger.position == position
            if number % stride == 0:
                self.look()
        assert not debugger.recording.differs


def places_of(addresses: Any, arrays: Any) -> Any:
    """For each address which array it is in, and where; -1 if it is in none."""
    words = numpy.array(addresses).reshape(-1).view(numpy.uint64)
    found = numpy.full(words.size, -1, numpy.int64)
    for number, array in enumerate(arrays):
        if isinstance(array, numpy.ndarray):
            offsets = words - numpy.uint64(array.ctypes.data)
            inside = offsets < array.nbytes
            found[inside] = (number << 48) + offsets[inside].astype(numpy.int64)
    return found


def example(name: str, monkeypatch: pytest.MonkeyPatch) -> tuple[Any, Any, list[Any]]:
    monkeypatch.syspath_prepend(str(EXAMPLES))
    found = getattr(importlib.import_module("run_all"), name)()
    kernel = tileir.compile(EXAMPLES / f"{name}.mlir", backend="interpreter")
    return kernel, found.grid, [*found.inputs, found.output, *found.scalars]


@pytest.mark.parametrize(
    "name, schedule", [("vector_add", "reverse"), ("histogram", "interleaved"), ("matmul", "forward")]
)
def test_an_example_has_the_values_of_a_plain_launch(name: str, schedule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel, grid, arguments = example(name, monkeypatch)
    Walk(kernel, grid, arguments, schedule).forwards_and_back(41)


@pytest.mark.long
@pytest.mark.parametrize("schedule", ["forward", "random:3", "interleaved"])
@pytest.mark.parametrize("name", NAMES)
def test_every_example_has_the_values_of_a_plain_launch(
    name: str, schedule: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel, grid, arguments = example(name, monkeypatch)
    Walk(kernel, grid, arguments, schedule).forwards_and_back(7)


def walk_random(seed: int, schedule: str, stride: int) -> int:
    program = tileir.smith(seed)
    kernel = tileir.compile(program.module, backend="interpreter")
    walk = Walk(kernel, program.grid, list(program.arguments), schedule)
    walk.forwards_and_back(stride)
    return walk.steps


@pytest.mark.parametrize("seed, schedule", [(3, "forward"), (11, "interleaved")])
def test_a_random_program_has_the_values_of_a_plain_launch(seed: int, schedule: str) -> None:
    assert walk_random(seed, schedule, 23) > 100


@pytest.mark.long
@pytest.mark.parametrize("seed", range(60))
def test_random_programs_have_the_values_of_a_plain_launch(seed: int) -> None:
    walk_random(seed, ("forward", "reverse", "interleaved")[seed % 3], 5)


@pytest.mark.long
def test_the_programs_of_the_drafts_have_the_values_of_a_plain_launch() -> None:
    walked = 0
    for path in sorted((Path(__file__).parents[2] / "programs" / "drafts").glob("*.mlir")):
        try:
            module = tileir.load(path)
            entries = entries_of(module)
        except tileir.TileIRError:
            continue
        for name, entry in entries.items():
            arguments = arguments_for(entry)
            if arguments is None:
                continue
            for schedule in ("forward", "interleaved"):
                try:
                    walk = Walk(tileir.compile(module, entry=name, backend="interpreter"), (2, 2), arguments, schedule)
                except Endless:
                    continue
                walk.forwards_and_back(3)
                walked += 1
    assert walked > 100
