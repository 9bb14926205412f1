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
from tileir.execute.entries import entries_of
from tileir.serve.debugger.session import Debugger

EXAMPLES = Path(__file__).parents[3] / "examples"
NAMES = ("vector_add", "softmax", "layer_norm", "matmul", "attention", "histogram", "racy")


class Walk:
    """A debugger beside what an observer has seen of the same launch."""

    def __init__(self, kernel: Any, grid: Any, arguments: Any, schedule: str, memory: Any = ()) -> None:
        plain, debugged = copy.deepcopy(arguments), copy.deepcopy(arguments)
        self.reference = Reference()
        self.results = plain
        self.failure = ""
        try:
            kernel.launch(
                grid, *plain, schedule=schedule, observer=self.reference, memory=memory, output=lambda text: None
            )
        except tileir.ExecutionError as error:
            self.failure = str(error)
        self.arguments = debugged
        self.debugger = Debugger(
            kernel, grid, debugged, schedule=schedule, names="tile", memory=memory, output=lambda text: None
        )
        self.steps = 0

    def look(self) -> None:
        """Compare the moment with the reference."""
        debugger, (block, step) = self.debugger, self.debugger.moment
        assert debugger.operation is not None
        operation = debugger.recording.program.operations[debugger.operation]
        assert operation is self.reference.steps[block][step]
        newest: dict[Any, Any] = {}
        for when, value, content in self.reference.values[block]:
            if when <= step:
                newest[value] = content
        found = {debugger.recording.program.values[one.number]: one for one in debugger.variables() if one.number >= 0}
        for value, content in newest.items():
            # Arrays lie elsewhere in another launch.
            is_address = value.defining_operation is not None and value.defining_operation.declaration is PTR_TO_INT
            if isinstance(value.type, TileType) and not isinstance(value.type.element, PointerType) and not is_address:
                one = numpy.asarray(found[value].value)
                assert one.tobytes() == numpy.asarray(content).tobytes(), (block, step, found[value].name)
                self.steps += 1
                assert found[value].shown

    def forwards_and_back(self, stride: int) -> None:
        debugger = self.debugger
        assert debugger.start().reason == "entry"
        moments = [debugger.moment]
        self.look()
        if debugger.recording.schedule == "interleaved":
            for block in self.reference.order:
                debugger.go_to(block, 0)
                while debugger.moment.block == block and debugger.step(by="operation").reason == "step":
                    if debugger.moment.block == block and debugger.moment.step % stride == 0:
                        self.look()
            moments = []
        else:
            while debugger.step(by="operation").reason == "step":
                moments.append(debugger.moment)
                if len(moments) % stride == 0:
                    self.look()
            executed = [
                (block, step) for block in self.reference.order for step in range(len(self.reference.steps[block]))
            ]
            assert moments == executed
        assert debugger.finish().reason == "end"
        for one, other in zip(self.arguments, self.results, strict=True):
            if isinstance(one, numpy.ndarray):
                assert one.tobytes() == other.tobytes()
        for number, moment in enumerate(reversed(moments)):
            debugger.step(reverse=True, by="operation")
            assert debugger.moment == moment
            if number % stride == 0:
                self.look()
        assert not debugger.recording.differs


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
    program = tileir.smith.program(seed)
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
                walk = Walk(tileir.compile(module, name, "interpreter"), (2, 2), arguments, schedule)
                if not walk.failure:
                    walk.forwards_and_back(3)
                    walked += 1
    assert walked > 20
