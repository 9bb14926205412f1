"""Forms of engines that know of them, and of those that do not."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import tileir
from tileir.analyze.forms.forms import Representations
from tileir.execute.engine.interface import located_lines
from tileir.ir.core import Operation

TEXT = """cuda_tile.module @m {
  entry @k(%p: tile<ptr<i32>>, %n: tile<i32>) {
    %one = constant <i32: 1> : tile<i32>
    %sum = addi %n, %one : tile<i32>
    %stored = store_ptr_tko weak %p, %sum : tile<ptr<i32>>, tile<i32> -> token
    return
  }
}
"""


class Kernel(tileir.backends.PreparedKernel):
    """A kernel whose code is a line for each operation."""

    def __init__(self, entry: Operation) -> None:
        self._operations = list(entry.walk())[1:]
        self._entry = entry

    def launch(self, grid: object, arguments: object, options: object) -> None:
        raise AssertionError("it is only looked at")

    def dump(self, stage: str, *, sanitize: bool = False, unchecked: bool = False) -> str:
        return "".join([f"{stage} {each.declaration.mnemonic}\n" for each in self._operations])


class LocatingKernel(Kernel):
    def located(self, stage: str) -> tileir.backends.LocatedText:
        shown = [each for each in self._operations if each.declaration.mnemonic != "constant"]
        lines = [f"{stage} {each.declaration.mnemonic}" for each in shown]
        return located_lines(self._entry, lines, [[each] for each in shown], ["Made up."])


class Dumping(tileir.backends.Backend):
    name = "dumping"
    stages = ("ttir", "ptx")

    def prepare(self, entry: Operation, globals: object, settings: object) -> Kernel:
        return Kernel(entry)


class Locating(Dumping):
    name = "locating"

    def representations(self) -> list[tileir.backends.BackendRepresentation]:
        return [
            tileir.backends.BackendRepresentation("ptx", "PTX", "assembly", "ptx"),
            tileir.backends.BackendRepresentation(
                "ttir", "Triton", "ttir", "ttir", "it needs Triton: pip install triton"
            ),
            tileir.backends.BackendRepresentation("cubin", "Cubin", "assembly", "cubin", "", 3),
        ]

    def prepare(self, entry: Operation, globals: object, settings: object) -> Kernel:
        return LocatingKernel(entry)


@pytest.fixture(autouse=True)
def engines() -> Iterator[None]:
    for engine in (Dumping(), Locating()):
        tileir.backends.register_backend(engine)
    yield
    for name in ("dumping", "locating"):
        tileir.backends.unregister_backend(name)


def test_stages_of_an_engine_are_forms_without_links() -> None:
    forms = Representations(tileir.parse(TEXT))
    titles = {each.id: each.title for each in forms.list()}
    assert titles["dumping-ttir"] == "ttir, the backend 'dumping'"
    form = forms.get("dumping-ptx")
    assert form.lines == ["ptx constant", "ptx addi", "ptx store_ptr_tko", "ptx return"]
    assert form.links == [[], [], [], []]


def test_forms_of_an_engine_are_linked_by_locations() -> None:
    form = Representations(tileir.parse(TEXT)).get("ptx")
    assert (form.title, form.language, form.notes) == ("PTX", "assembly", ["Made up."])
    # The constant has no line of its own.
    assert dict(zip(form.lines, form.links, strict=True)) == {
        "ptx addi": [0, 1],
        "ptx store_ptr_tko": [2],
        "ptx return": [3],
    }


def test_what_an_engine_cannot_show_has_its_reason() -> None:
    forms = Representations(tileir.parse(TEXT))
    reasons = {each.id: each.reason for each in forms.list()}
    assert reasons["ptx"] is None
    assert reasons["ttir"] == "it needs Triton: pip install triton"
    assert reasons["cubin"] == ("the kernel has 4 operations, and this is made of up to 3: more would take minutes")
    with pytest.raises(tileir.OptionError, match="not to be had here: it needs Triton"):
        forms.get("ttir")
    with pytest.raises(tileir.OptionError, match="made of up to 3"):
        forms.get("cubin")


def test_engine_that_fails_when_it_is_asked_says_so() -> None:
    class Failing(Dumping):
        name = "failing"

        def missing(self) -> str:
            raise RuntimeError("a package is broken")

    tileir.backends.register_backend(Failing())
    try:
        reasons = {each.id: each.reason for each in Representations(tileir.parse(TEXT)).list()}
        assert reasons["failing"] == "RuntimeError: a package is broken"
        assert reasons["ptx"] is None
    finally:
        tileir.backends.unregister_backend("failing")


def test_operations_without_lines_are_in_those_of_their_users_and_owners() -> None:
    text = """cuda_tile.module @m { entry @k(%p: tile<ptr<i32>>, %n: tile<i32>) {
      %x = iota : tile<4xi32>
      %s = reduce %x dim=0 identities=[0 : i32] : tile<4xi32> -> tile<i32>
      (%l: tile<i32>, %r: tile<i32>) {
        %a = addi %l, %r : tile<i32>
        yield %a : tile<i32>
      }
      %unused = muli %n, %n : tile<i32>
      %stored = store_ptr_tko weak %p, %s : tile<ptr<i32>>, tile<i32> -> token
      return } }"""
    module = tileir.parse(text)
    entry = module.regions[0].blocks[0].first
    assert entry is not None
    operations = {each.declaration.mnemonic: each for each in entry.walk()}
    for name, operation in operations.items():
        operation.location = tileir.attributes.file_location(name, 1, 1)
    found = located_lines(entry, ["reducing", "storing"], [[operations["reduce"]], [operations["store_ptr_tko"]]])
    names = [{location.inner.split('"')[1] for location in locations} for locations in found.locations]
    assert names == [{"reduce", "iota", "yield", "addi"}, {"store_ptr_tko"}]
