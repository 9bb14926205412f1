"""What kernels of Triton print, and asserts that fail, brought to who launches them."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy
import pytest
from tests.execute.gpu.fake_cuda import PRIMARY, FakeDriver, FakeTorch, Tensor
from tests.execute.gpu.triton.fake_code import FakeTriton, fake_code

from tileir.execute.engine.interface import LaunchOptions
from tileir.execute.errors import AssertionFailedError
from tileir.execute.gpu.driver.devices import Device
from tileir.execute.gpu.triton.code import (
    FAILURE_WORDS,
    OUTPUT_WORDS,
    AssertSite,
    Code,
    PrintSite,
    Schedule,
    Slot,
    Specialization,
)
from tileir.execute.gpu.triton.device_memory import printed
from tileir.execute.gpu.triton.stored_code import packed, unpacked_slot
from tileir.execute.gpu.triton.toolchain import TritonTarget

PARAMETERS = "%a: tile<ptr<f32>>, %n: tile<i32>"
BODY = """
%c = constant <i1: true> : tile<i1>
assert %c, "it holds" : tile<i1>
assert %c, "it holds too" : tile<i1>
%t = print_tko "n is %d\\n", %n : tile<i32> -> token
"""
SLOTS = (
    Slot("failures", (AssertSite("it holds", ()), AssertSite("it holds too", (2, 3)))),
    Slot("output", (PrintSite("n is %d\n", (("i32", ()),)), PrintSite("%g and %i\n", (("f16", (2, 2)), ("i4", (2,)))))),
)


class Speaking(FakeTriton):
    """A kernel that writes what `says` writes."""

    def __init__(self, says: Callable[[Any, Any], None]) -> None:
        super().__init__(PARAMETERS, BODY)
        self.says = says

    def compiled(self, target: TritonTarget, kind: Specialization, schedule: Schedule | None = None) -> Code:
        return fake_code(self.entry, target.name, kind, slots=(Slot("argument", 0), *SLOTS, Slot("argument", 1)))

    def wait(self, stream: int, place: Device) -> None:
        addresses = [int.from_bytes(bytes.fromhex(each), "little") for each in launched(self.fake)[-1][1:3]]
        sizes = [FAILURE_WORDS, OUTPUT_WORDS]
        self.says(*[(ctypes.c_uint64 * size).from_address(at) for at, size in zip(addresses, sizes, strict=True)])
        super().wait(stream, place)

    fake: FakeDriver


def launched(fake: FakeDriver) -> list[list[str]]:
    return [call.partition(" parameters ")[2].split(",") for call in fake.calls("cuLaunchKernelEx")]


def launch(fake: FakeDriver, says: Callable[[Any, Any], None], times: int = 1) -> list[str]:
    fake.push(PRIMARY)
    kernel = Speaking(says)
    kernel.fake = fake
    heard: list[str] = []
    for _ in range(times):
        kernel.launch((4, 4, 4), (Tensor(numpy.zeros(4, numpy.float32)), 7), LaunchOptions(output=heard.append))
    return heard


def test_prints_are_in_the_order_of_tile_blocks(fake: FakeDriver, torch: FakeTorch) -> None:
    def says(failures: Any, output: Any) -> None:
        assert not any(failures) and output[0] == 0
        halves = numpy.array([1.5, -2, 0.25, 65504], numpy.float16).view(numpy.uint16).tolist()
        prints = [[1, 1, 0, 0, 2**32 - 3], [2, 0, 0, 1, *halves, 15, 7], [1, 0, 0, 0, 5], [1, 1, 0, 0, 8]]
        words = [word for each in prints for word in each]
        output[0] = len(words)
        output[1 : 1 + len(words)] = words

    lines = ["n is 5\n", "n is -3\n", "n is 8\n", "[[1.5, -2], [0.25, 65504]] and [-1, 7]\n"]
    # The memory is cleared, and used again.
    assert launch(fake, says, times=2) == lines * 2
    assert len(fake.calls("cuMemAlloc_v2")) == 2


def test_failure_is_an_error_with_its_place(fake: FakeDriver, torch: FakeTorch) -> None:
    def says(failures: Any, output: Any) -> None:
        failures[:] = [1, 1, 3, 2, 1, 4]

    with pytest.raises(AssertionFailedError) as caught:
        launch(fake, says)
    assert "failed: it holds too (at element [1, 1])" in str(caught.value)
    assert caught.value.block == (3, 2, 1)


def test_first_assert_has_no_elements(fake: FakeDriver, torch: FakeTorch) -> None:
    def says(failures: Any, output: Any) -> None:
        failures[:] = [1, 0, 0, 0, 0, 0]

    with pytest.raises(AssertionFailedError, match=r"failed: it holds(?! too)"):
        launch(fake, says)


def test_output_that_does_not_fit_is_said_to_be_lost() -> None:
    sites = [PrintSite("%d ", (("i32", ()),))]
    words = numpy.array([15, 1, 0, 0, 0, 4, 1, 0, 0, 0, 5, 0, 0, 0, 0, 0], numpy.uint64)
    assert printed(words, sites) == "4 5 (what else this launch printed does not fit into the memory for it)\n"
    assert printed(words[:11], sites).startswith("4 5 (what else")
    assert printed(words[:6], [PrintSite("%d ", (("i32", ()),))]).startswith("4 (what else")


@pytest.mark.parametrize(
    ("element", "bits", "text"),
    [
        ("i1", 1, "1"),
        ("i8", 255, "-1"),
        ("i64", 2**64 - 2, "-2"),
        ("bf16", 0xC000, "-2"),
        ("f64", 0x3FF8 << 48, "1.5"),
        ("tf32", 0x3FC00000, "1.5"),
        ("f8E4M3FN", 0x38, "1"),
        ("f8E5M2", 0x3C, "1"),
        ("f4E2M1FN", 3, "1.5"),
        ("ptr", 4096, "4096"),
    ],
)
def test_elements_of_every_type(element: str, bits: int, text: str) -> None:
    words = numpy.array([5, 1, 0, 0, 0, bits], numpy.uint64)
    assert printed(words, [PrintSite("%s", ((element, ()),))]) == text


def test_sites_are_kept_with_the_code() -> None:
    assert tuple([unpacked_slot(*each) for each in packed(SLOTS)]) == SLOTS
    assert isinstance(unpacked_slot(*packed(SLOTS)[1]).content[0], PrintSite)


def test_launch_of_a_graph_is_not_waited_for(fake: FakeDriver, torch: FakeTorch) -> None:
    def says(failures: Any, output: Any) -> None:
        raise AssertionError("nobody waits for it")

    fake.push(PRIMARY)
    fake.capture(True)
    try:
        assert launch(fake, says, times=2) == []
    finally:
        fake.capture(False)
    # Each has memory of its own, as each is launched again.
    assert len(fake.calls("cuMemAlloc_v2")) == 4
