"""Memory that is reached in more than one way: arguments that are a global's memory, pointers that lead from one argument
into another.  Native code must not reorder what meets there."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy
import pytest
from tests.execute.cpu.native import cpu_kernel

import tileir

PART = "tile<16xi32>"
POINTERS = "tile<16xptr<i32>>"
TENSOR = "tensor_view<16xi32, strides=[1]>"
VIEW = f"partition_view<tile=(16), {TENSOR}>"


def scattered(name: str, base: str) -> str:
    return f"""%{name}.1 = reshape {base} : tile<ptr<i32>> -> tile<1xptr<i32>>
    %{name}.b = broadcast %{name}.1 : tile<1xptr<i32>> -> {POINTERS}
    %{name} = offset %{name}.b, %lane : {POINTERS}, {PART} -> {POINTERS}
    """


def viewed(name: str, base: str) -> str:
    return f"""%{name}.t = make_tensor_view {base}, shape = [16], strides = [1] : {TENSOR}
    %{name} = make_partition_view %{name}.t : {VIEW}
    """


class Straight:
    """A random program without control flow: loads, sums and stores at places that two arguments lead to."""

    def __init__(self, seed: int) -> None:
        self.rng = Random(seed)
        self.lines: list[str] = []
        self.values = ["%lane"]
        for place in range(4):
            base = self.rng.choice(["%a", "%b"])
            # The last two move with something that native code takes for a number of the tile block.
            shift = f"%d{place}" if place < 2 else f"%m{place}"
            self.lines.append(f"%q{place} = offset {base}, {shift} : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>\n")
            self.lines.append(scattered(f"p{place}", f"%q{place}") + viewed(f"v{place}", f"%q{place}"))
        for number in range(self.rng.randint(5, 14)):
            self.step(number)
        for place in range(2):
            self.store(f"end{place}", place)

    def step(self, number: int) -> None:
        kind = self.rng.choice(["load", "load", "add", "add", "store"])
        place = self.rng.randrange(4)
        if kind == "store":
            self.store(str(number), place)
            return
        if kind == "add":
            left, right = self.rng.choice(self.values), self.rng.choice(self.values)
            self.lines.append(f"%x{number} = addi {left}, {right} : {PART}\n")
        elif self.rng.random() < 0.5:
            self.lines.append(f"%x{number}, %k{number} = load_ptr_tko weak %p{place} : {POINTERS} -> {PART}, token\n")
        else:
            index = f"%v{place}[%zero] : {VIEW}, tile<i32>"
            self.lines.append(f"%x{number}, %k{number} = load_view_tko weak {index} -> {PART}, token\n")
        self.values.append(f"%x{number}")

    def store(self, name: str, place: int) -> None:
        value = self.rng.choice(self.values)
        if self.rng.random() < 0.5:
            self.lines.append(f"%s{name} = store_ptr_tko weak %p{place}, {value} : {POINTERS}, {PART} -> token\n")
        else:
            index = f"%v{place}[%zero] : {PART}, {VIEW}, tile<i32>"
            self.lines.append(f"%s{name} = store_view_tko weak {value}, {index} -> token\n")

    @property
    def text(self) -> str:
        shifts = ", ".join([f"%d{place}: tile<i32>" for place in range(4)])
        moved = "".join([f"%m{place} = addi %d{place}, %x : tile<i32>\n" for place in (2, 3)])
        return f"""cuda_tile.module @m {{ entry @k(%a: tile<ptr<i32>>, %b: tile<ptr<i32>>, {shifts}) {{
        %x, %y, %z = get_tile_block_id : tile<i32>
        %zero = constant <i32: 0> : tile<i32>
        %lane = iota : {PART}
        {moved}{"".join(self.lines)}
        return }} }}"""


def check(seed: int) -> None:
    program = Straight(seed)
    module = tileir.parse(program.text)
    kernels = [tileir.compile(module, backend=backend) for backend in ("interpreter", "cpu")]
    for turn in range(4):
        rng = Random(seed * 100 + turn)
        # Both arrays are 32 elements of 64; in the first turn nothing leaves its own.
        shifts = [rng.randint(0, 16) if not turn else rng.choice([0, 1, 3, 8, 32, 33, -32, -31]) for _ in range(4)]
        wanted: Any = None
        ways: list[tuple[tileir.Kernel, dict[str, Any]]] = [
            (kernels[0], {}), (kernels[1], {}), (kernels[1], {"unchecked": True})
        ]  # fmt: skip
        for kernel, options in ways:
            whole = numpy.arange(1000, 1192, dtype=numpy.int32)
            first, second = whole[64:96], whole[96:128]
            try:
                kernel.launch(1, (first, second, *shifts), memory=(whole[32:64], whole[128:160]), **options)
                found: Any = whole.tolist()
            except tileir.ExecutionError as error:
                found = str(error).split("address")[0]
            if wanted is None:
                wanted = found
            assert found == wanted, (seed, turn, shifts, options)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("start", range(0, 12, 6))
def test_pointers_that_lead_into_another_array(start: int) -> None:
    for seed in range(start, start + 6):
        check(seed)


@pytest.mark.long
@pytest.mark.parametrize("start", range(1000, 2000, 100))
def test_many_pointers_that_lead_into_another_array(start: int) -> None:
    for seed in range(start, start + 100):
        check(seed)


GLOBAL = f"""cuda_tile.module @m {{
  global @g alignment = 16 <i32: 7> : tile<32xi32>
  entry @k(%a: tile<ptr<i32>>, %out: tile<ptr<i32>>) {{
    %zero = constant <i32: 0> : tile<i32>
    %lane = iota : {PART}
    %g = get_global @g : tile<ptr<i32>>
    {viewed("vg", "%g")}{viewed("va", "%a")}{viewed("vo", "%out")}{scattered("pg", "%g")}{scattered("pa", "%a")}
    LOAD
    STORE
    %again, %k3 = load_view_tko weak %vo[%zero] : {VIEW}, tile<i32> -> {PART}, token
    %sum = addi %x, %again : {PART}
    %k4 = store_view_tko weak %sum, %vo[%zero] : {PART}, {VIEW}, tile<i32> -> token
    return
  }}
}}"""


@pytest.mark.sampled(3)
@pytest.mark.parametrize("shift", [0, 4, 16])
@pytest.mark.parametrize("load", ["pg", "vg", "pa", "va"])
@pytest.mark.parametrize("store", ["pg", "vg", "pa", "va"])
def test_an_argument_that_is_the_memory_of_a_global(load: str, store: str, shift: int) -> None:
    if load.startswith("p"):
        loaded = f"%x, %k1 = load_ptr_tko weak %{load} : {POINTERS} -> {PART}, token"
    else:
        loaded = f"%x, %k1 = load_view_tko weak %{load}[%zero] : {VIEW}, tile<i32> -> {PART}, token"
    if store.startswith("p"):
        stored = f"%k2 = store_ptr_tko weak %{store}, %lane : {POINTERS}, {PART} -> token"
    else:
        stored = f"%k2 = store_view_tko weak %lane, %{store}[%zero] : {PART}, {VIEW}, tile<i32> -> token"
    module = tileir.parse(GLOBAL.replace("LOAD", loaded).replace("STORE", stored))
    results = []
    for backend in ("interpreter", "cpu"):
        kernel = tileir.compile(module, backend=backend)
        memory = kernel.globals.array("g").view(numpy.int32)
        memory[:] = numpy.arange(32) + 100
        out = numpy.zeros(16, numpy.int32)
        for _ in range(3):
            # The third takes the short way to its arguments.
            kernel.launch(1, (memory[shift : shift + 16], out))
        results.append((memory.tolist(), out.tolist()))
    assert results[0] == results[1]


def test_launches_that_overlap_know_that_an_argument_is_a_global() -> None:
    text = f"""cuda_tile.module @m {{
      global @g alignment = 16 <i32: 0> : tile<4096xi32>
      entry @fill(%n: tile<i32>) {{
        %g = get_global @g : tile<ptr<i32>>
        %zero = constant <i32: 0> : tile<i32>
        %one = constant <i32: 1> : tile<i32>
        %far = constant <i32: 2048> : tile<i32>
        %lane = iota : {PART}
        %last = offset %g, %far : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
        {scattered("p", "%last")}
        for %i in (%zero to %n, step %one) : tile<i32> {{
          %v, %k = load_ptr_tko weak %p : {POINTERS} -> {PART}, token
          %w = addi %v, %lane : {PART}
          %s = store_ptr_tko weak %p, %w : {POINTERS}, {PART} -> token
        }}
        return
      }}
      entry @copy(%a: tile<ptr<i32>>, %b: tile<ptr<i32>>) {{
        %lane = iota : {PART}
        {scattered("pa", "%a")}{scattered("pb", "%b")}
        %v, %k = load_ptr_tko weak %pa : {POINTERS} -> {PART}, token
        %s = store_ptr_tko weak %pb, %v : {POINTERS}, {PART} -> token
        return
      }}
    }}"""
    fill = tileir.compile(tileir.parse(text), entry="fill", backend="cpu")
    copy = fill.sibling("copy")
    memory = fill.globals.array("g").view(numpy.int32)
    out = numpy.zeros(16, numpy.int32)
    fill.launch(1, (1,))
    copy.launch(1, (memory[2048:2064], out))
    memory[:] = 0
    for each in (fill, copy):
        cpu_kernel(each).version(False, False).loaded.ns_per_block = 10**9
    with tileir.kernels.overlap():
        fill.launch(1, (20_000,))
        copy.launch(1, (memory[2048:2064], out))
    assert out.tolist() == [20_000 * lane for lane in range(16)]
