"""TTIR run with NumPy: whole kernels, as `lower` writes them, on arrays of this machine.

    launch(text, grid, array, 7, array)          # lowers the only kernel of a tile program, and runs it

`ttir_model.py` has what operations mean element by element.  Here are shapes, control flow, reductions and memory.  A
scalar is an array of one element.  Reductions are combined in halves, scans one by one; accesses outside of the arrays
of a launch are assertions.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy
from tests.execute.evaluation import arrange, same
from tests.execute.gpu.triton import ttir_model
from tests.execute.gpu.triton.evaluating_order import OrderEvaluation, TileBlockEnded
from tests.execute.gpu.triton.lowered_programs import lowered
from tests.execute.gpu.triton.ttir_text import Function, Node, Region, read, types

import tileir
from tileir.dialect.types import TileType
from tileir.execute.dtypes import scalar_array
from tileir.execute.gpu.triton.code import FAILURE_WORDS, OUTPUT_WORDS, TensorMap, evaluate
from tileir.execute.gpu.triton.lowering.lower import Lowered
from tileir.execute.gpu.triton.worker.pool import Request, compile_ttir
from tileir.execute.memory import Globals
from tileir.ir.core import Operation

_NAME = re.compile(r"%\w+")
_NUMBER = re.compile(r"(\w+) = (-?\d+|true|false)")
_STEPS = 1_000_000
_GAP = 256


class Memory:
    """The arrays of a launch, by their addresses."""

    def __init__(self) -> None:
        self._pieces: list[tuple[int, Any]] = []
        self._next = 1 << 40

    def add(self, array: Any) -> int:
        """The address of an array."""
        data = array.reshape(-1).view(numpy.uint8)
        address = self._next
        self._pieces.append((address, data))
        self._next += (data.size + 2 * _GAP) // _GAP * _GAP
        return address

    def _find(self, addresses: Any, size: int) -> list[tuple[Any, Any, Any]]:
        """For each array, which of the addresses are in it, and where."""
        found = []
        seen = numpy.zeros(addresses.shape, bool)
        for start, data in self._pieces:
            inside = (addresses >= start) & (addresses + size <= start + data.size)
            if inside.any():
                assert not (addresses[inside] % size).any(), "an access that is not aligned"
                found.append((inside, data, addresses[inside] - start))
                seen |= inside
        assert seen.all(), "an access outside of all arrays"
        return found

    def load(self, addresses: Any, dtype: Any) -> Any:
        made = numpy.zeros((*addresses.shape, dtype.itemsize), numpy.uint8)
        for inside, data, offsets in self._find(addresses, dtype.itemsize):
            made[inside] = data[offsets[:, None] + numpy.arange(dtype.itemsize)]
        return made.view(dtype).reshape(addresses.shape)

    def store(self, addresses: Any, values: Any) -> None:
        size = values.dtype.itemsize
        raw = numpy.ascontiguousarray(values).view(numpy.uint8).reshape(*addresses.shape, size)
        for inside, data, offsets in self._find(addresses, size):
            data[offsets[:, None] + numpy.arange(size)] = raw[inside]


class Returned(Exception):
    """The kernel has ended."""


class Evaluation(OrderEvaluation):
    """One tile block."""

    def __init__(self, memory: Memory, block: Sequence[int], grid: Sequence[int]) -> None:
        self.memory = memory
        self.block = block
        self.grid = grid
        self.values: dict[str, Any] = {}
        self.steps = 0

    def get(self, name: str) -> Any:
        return self.values[name]

    def names(self, text: str) -> list[Any]:
        return [self.values[name] for name in _NAME.findall(text)]

    def region(self, region: Region) -> list[Any]:
        """Run a region; what its terminator gives."""
        for node in region.operations:
            if node.name in ("scf.yield", "scf.condition", "tt.reduce.return", "tt.scan.return", "tt.return"):
                return self.names(node.rest)
            self.node(node)
        return []

    def node(self, node: Node) -> None:
        self.steps += 1
        assert self.steps < _STEPS, "a loop without an end"
        made = self._made(node)
        for name, value in zip(node.results, made, strict=True):
            self.values[name] = value

    def _made(self, node: Node) -> list[Any]:
        if "pure = false" in node.rest:
            return self.effect(node)
        special = getattr(self, "do_" + node.name.replace(".", "_"), None)
        if special is not None:
            return special(node)
        names = _NAME.findall(node.rest.rpartition(" : ")[0])
        given = {name: self.values[name] for name in names}
        shape = numpy.broadcast_shapes(*[value.shape for value in given.values()]) if given else (1,)
        flat = {name: numpy.ascontiguousarray(numpy.broadcast_to(v, shape)).reshape(-1) for name, v in given.items()}
        with numpy.errstate(all="ignore"):
            made = ttir_model.operation(node.name, node.rest, flat)
        if node.name == "arith.constant":
            return [numpy.full(types(node.rest)[-1][1] if "tensor<" in node.rest else (1,), made)]
        return [made.reshape(shape)]

    # --- control flow ---

    def do_scf_for(self, node: Node) -> list[Any]:
        found = re.match(r"(%\w+) = (%\w+) to (%\w+) step (%\w+)(?: iter_args\((.*?)\) ->)?", node.rest)
        assert found is not None, node.rest
        start, end, step = [self.get(name).reshape(-1)[0] for name in found.groups()[1:4]]
        pairs = [pair.split(" = ") for pair in found[5].split(", ")] if found[5] else []
        values = [self.get(given) for _, given in pairs]
        dtype = self.get(found[2]).dtype
        assert int(step) > 0
        for number in range(int(start), int(end), int(step)):
            self.values[found[1]] = numpy.array([number], dtype)
            for (inside, _), value in zip(pairs, values, strict=True):
                self.values[inside] = value
            values = self.region(node.regions[0])
        return values

    def do_scf_while(self, node: Node) -> list[Any]:
        found = re.match(r"\((.*?)\) :", node.rest)
        assert found is not None, node.rest
        pairs = [pair.split(" = ") for pair in found[1].split(", ")]
        values = [self.get(given) for _, given in pairs]
        while True:
            for (inside, _), value in zip(pairs, values, strict=True):
                self.values[inside] = value
            condition, *values = self.region(node.regions[0])
            if not condition[0]:
                return values
            for inside, value in zip(node.regions[1].arguments, values, strict=True):
                self.values[inside] = value
            values = self.region(node.regions[1])

    def do_scf_if(self, node: Node) -> list[Any]:
        condition = self.names(node.rest)[0]
        return self.region(node.regions[0 if condition[0] else 1])

    def do_tt_get_program_id(self, node: Node) -> list[Any]:
        return [numpy.array([self.block["xyz".index(node.rest[0])]], numpy.int32)]

    def do_tt_get_num_programs(self, node: Node) -> list[Any]:
        return [numpy.array([self.grid["xyz".index(node.rest[0])]], numpy.int32)]

    def do_gpu_barrier(self, node: Node) -> list[Any]:
        return []

    do_ttg_barrier = do_gpu_barrier

    # --- shapes ---

    def do_tt_splat(self, node: Node) -> list[Any]:
        return [numpy.full(types(node.rest)[-1][1], self.names(node.rest)[0][0])]

    def do_tt_unsplat(self, node: Node) -> list[Any]:
        (value,) = self.names(node.rest)
        assert value.size == 1
        return [value.reshape(1)]

    def do_tt_broadcast(self, node: Node) -> list[Any]:
        (value,) = self.names(node.rest)
        shape = types(node.rest)[-1][1]
        assert len(shape) == value.ndim
        return [numpy.broadcast_to(value, shape)]

    def do_tt_expand_dims(self, node: Node) -> list[Any]:
        (value,) = self.names(node.rest.partition(" {")[0])
        return [numpy.expand_dims(value, int(_numbers(node)["axis"]))]

    def do_tt_reshape(self, node: Node) -> list[Any]:
        (value,) = self.names(node.rest)
        (_, before), (_, after) = types(node.rest)
        assert value.shape == before
        return [value.reshape(after)]

    def do_tt_trans(self, node: Node) -> list[Any]:
        (value,) = self.names(node.rest)
        order = re.search(r"array<i32: ([\d, ]+)>", node.rest)
        assert order is not None
        made = value.transpose([int(axis) for axis in order[1].split(", ")])
        assert made.shape == types(node.rest.partition("} : ")[2])[1][1]
        return [made]

    def do_tt_join(self, node: Node) -> list[Any]:
        return [numpy.stack(self.names(node.rest), -1)]

    def do_tt_split(self, node: Node) -> list[Any]:
        (value,) = self.names(node.rest)
        assert value.shape[-1] == 2
        return [value[..., 0], value[..., 1]]

    def do_tt_gather(self, node: Node) -> list[Any]:
        value, places = self.names(node.rest.partition(" :")[0])
        return [numpy.take_along_axis(value, places, int(_numbers(node)["axis"]))]

    def do_tt_make_range(self, node: Node) -> list[Any]:
        numbers = _numbers(node)
        return [numpy.arange(int(numbers["start"]), int(numbers["end"]), dtype=numpy.int32)]

    # --- reductions and scans ---

    def _combine(self, region: Region, first: list[Any], second: list[Any]) -> list[Any]:
        shape = first[0].shape
        flat = [value.reshape(-1) for value in (*first, *second)]
        for name, value in zip(region.arguments, flat, strict=True):
            self.values[name] = value
        return [numpy.broadcast_to(value, flat[0].shape).reshape(shape) for value in self.region(region)]

    def do_tt_reduce(self, node: Node) -> list[Any]:
        axis = int(_numbers(node)["axis"])
        values = [numpy.moveaxis(value, axis, 0) for value in self.names(node.rest.partition(")")[0])]
        while len(values[0]) > 1:
            half = len(values[0]) // 2
            values = self._combine(node.regions[0], [v[:half] for v in values], [v[half:] for v in values])
        return [value[0] if value.ndim > 1 else value for value in values]

    def do_tt_scan(self, node: Node) -> list[Any]:
        numbers = _numbers(node)
        axis, step = int(numbers["axis"]), -1 if numbers["reverse"] == "true" else 1
        values = [numpy.moveaxis(value, axis, 0)[::step] for value in self.names(node.rest.partition(")")[0])]
        made = [[value[:1] for value in values]]
        for place in range(1, len(values[0])):
            made.append(self._combine(node.regions[0], made[-1], [value[place : place + 1] for value in values]))
        return [
            numpy.moveaxis(numpy.concatenate([each[number] for each in made])[::step], 0, axis)
            for number in range(len(values))
        ]

    # --- memory ---

    def do_tt_addptr(self, node: Node) -> list[Any]:
        pointer, offset = self.names(node.rest)
        size = _pointee(node.rest).itemsize
        return [pointer + offset.astype(numpy.int64) * size]

    def do_tt_load(self, node: Node) -> list[Any]:
        operands = node.rest.partition(" :")[0]
        pointers, *others = [self.get(name) for name in _NAME.findall(operands)]
        dtype = _pointee(node.rest)
        if not others:
            return [self.memory.load(pointers, dtype)]
        mask = others[0]
        # What is masked and has no other value is undefined.
        other = others[1] if len(others) > 1 else numpy.full(pointers.shape, 0x5A, numpy.uint8).view(numpy.uint8)
        if len(others) == 1:
            raw = numpy.frombuffer(b"\x5a" * (pointers.size * dtype.itemsize), dtype)
            other = raw.reshape(pointers.shape)
        made = numpy.array(other, dtype)
        made[mask] = self.memory.load(pointers[mask], dtype)
        return [made]

    def do_tt_store(self, node: Node) -> list[Any]:
        pointers, values, *masks = self.names(node.rest.partition(" :")[0])
        assert values.dtype == _pointee(node.rest)
        if masks:
            pointers, values = pointers[masks[0]], values[masks[0]]
        self.memory.store(pointers, values)
        return []

    def do_tt_descriptor_load(self, node: Node) -> list[Any]:
        descriptor, *places = self.names(node.rest.partition(" :")[0])
        addresses, inside = descriptor.elements([int(place[0]) for place in places])
        element, shape = types(node.rest.rpartition(" -> ")[2])[0]
        made = numpy.zeros(inside.shape, ttir_model.dtype_of(element))
        made[inside] = self.memory.load(addresses[inside], made.dtype)
        return [made.reshape(shape)]

    def do_tt_descriptor_store(self, node: Node) -> list[Any]:
        descriptor, *places, value = self.names(node.rest.partition(" :")[0])
        addresses, inside = descriptor.elements([int(place[0]) for place in places])
        self.memory.store(addresses[inside], value.reshape(inside.shape)[inside])
        return []

    # --- products ---

    def do_tt_dot(self, node: Node) -> list[Any]:
        left, right, accumulator = self.names(node.rest.partition(" :")[0])
        wide = numpy.int64 if accumulator.dtype.kind == "i" else numpy.float64
        with numpy.errstate(all="ignore"):
            made = left.astype(wide) @ right.astype(wide) + accumulator.astype(wide)
            return [made.astype(accumulator.dtype)]


class Descriptor:
    """What the launcher makes for the accelerator."""

    def __init__(self, map: TensorMap, arguments: list[int]) -> None:
        self._base = evaluate(map.base, arguments)
        self._shape = [evaluate(value, arguments) for value in map.shape]
        self._strides = [evaluate(value, arguments) for value in map.strides]
        self._map = map

    def elements(self, start: list[int]) -> tuple[Any, Any]:
        """Addresses of the elements of a box, and which of them are in the tensor."""
        box = self._map.box
        addresses = numpy.full(box, self._base, numpy.int64)
        inside = numpy.ones(box, bool)
        for axis, extent in enumerate(box):
            shape = [1] * len(box)
            shape[axis] = extent
            places = (numpy.arange(extent) + start[axis]).reshape(shape)
            addresses = addresses + places * (self._strides[axis] * self._map.element_bytes)
            inside = inside & (places >= 0) & (places < self._shape[axis])
        return addresses, inside


def _numbers(node: Node) -> dict[str, str]:
    return dict(_NUMBER.findall(node.rest))


def _pointee(text: str) -> Any:
    found = re.search(r"!tt\.ptr<(\w+)>", text)
    assert found is not None, text
    return ttir_model.dtype_of(found[1])


def launch(text: str, grid: Sequence[int] | int, *arguments: Any, **how: Any) -> dict[str, Any]:
    """Lower the only kernel of a tile program, and run it on arrays and numbers."""
    return run(lowered(text, **how), grid, arguments)


def agrees(body: str, *, grid: tuple[int, ...] | int = 1, compiles: bool = False, **values: Any) -> Lowered:
    """Check that a body gives the same bits as TTIR and in the interpreter; `evaluation.py` says on what it runs.

    `compiles` also has Triton compile it.
    """
    wanted, found = arrange(body, values), arrange(body, values)
    tileir.compile(tileir.parse(wanted.text), backend="interpreter").launch(grid, wanted.arrays)
    made = lowered(found.text, divisor=1)
    run(made, grid, found.arrays)
    for left, right in zip(wanted.results(), found.results(), strict=True):
        assert same(left, right), f"{left}\n{right}"
    if compiles:
        assert compile_ttir(Request(made.text, "sm_90", made.options)).data
    return made


def run(
    made: Lowered, grid: Sequence[int] | int, arguments: Sequence[Any], memory: Memory | None = None
) -> dict[str, Any]:
    """Run a lowered kernel; gives the words that it wrote of what it has to say, by the kind of slot (`code.py`).

    Arguments are arrays, scalars of NumPy, and integers; given a memory, integers are addresses in it.
    """
    blocks = (grid, 1, 1) if isinstance(grid, int) else (*grid, 1, 1)[:3]
    memory = memory if memory is not None else Memory()
    function = read(made.text)
    numbers = [memory.add(each) if isinstance(each, numpy.ndarray) else each for each in arguments]
    said = {"failures": numpy.zeros(FAILURE_WORDS, numpy.int64), "output": numpy.zeros(OUTPUT_WORDS, numpy.int64)}
    given = _parameters(function, made, numbers, memory, blocks, said)
    for z in range(blocks[2]):
        for y in range(blocks[1]):
            for x in range(blocks[0]):
                block = Evaluation(memory, (x, y, z), blocks)
                block.values.update(given)
                try:
                    block.region(function.body)
                except TileBlockEnded:
                    pass
    return said


def _parameters(
    function: Function, made: Lowered, numbers: list[Any], memory: Memory, grid: Sequence[int], said: dict[str, Any]
) -> dict[str, Any]:
    given = {}
    for (name, type), slot in zip(function.parameters, made.slots, strict=True):
        if slot.kind == "argument":
            value = numbers[slot.content]
            dtype = ttir_model.dtype_of(type)
            if isinstance(value, float):
                value = _number(made, slot.content, value)
            if not isinstance(value, int) and numpy.asarray(value).dtype.itemsize == dtype.itemsize:
                given[name] = numpy.array([value]).view(dtype)
            else:
                given[name] = numpy.array([value]).astype(dtype)
        elif slot.kind == "table":
            given[name] = numpy.array([memory.add(numpy.frombuffer(slot.content, numpy.uint8))], numpy.int64)
        elif slot.kind == "descriptor":
            given[name] = Descriptor(slot.content, numbers)
        elif slot.kind == "scratch":
            size = slot.content[0] * int(numpy.prod(grid))
            given[name] = numpy.array([memory.add(numpy.zeros(size, numpy.uint8))], numpy.int64)
        elif slot.kind == "global":
            given[name] = numpy.array([memory.add(_contents(made, slot.content))], numpy.int64)
        elif slot.kind in ("failures", "output"):
            given[name] = numpy.array([memory.add(said[slot.kind])], numpy.int64)
        else:
            raise AssertionError(f"a parameter of the kind {slot.kind}")
    return given


def _number(made: Lowered, number: int, value: float) -> Any:
    """A number as the kernel takes it."""
    type = _entry(made).regions[0].blocks[0].arguments[number].type
    assert isinstance(type, TileType)
    return scalar_array(type.element, value)[()]


def _entry(made: Lowered) -> Operation:
    return next(operation for operation in made.operations if operation is not None)


def _contents(made: Lowered, name: str) -> Any:
    """What a global variable holds before a launch."""
    return numpy.array(Globals(_entry(made).parent_operation).array(name))
