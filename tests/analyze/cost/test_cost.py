"""`tileir.cost`: what it takes, what it says, and what it refuses."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy
import pytest
from tests.execute.gpu.fake_assembler import FakeAssembler, assembler

import tileir
from tileir.analyze.cost import processor
from tileir.analyze.cost.targets import gpu_targets, target_names
from tileir.execute.gpu.cubin import Resources
from tileir.execute.gpu.gpus import GPUS

__all__ = ["assembler"]

ROOT = Path(__file__).parents[3]
VECTOR_ADD = ROOT / "examples" / "vector_add.mlir"


class Array:
    nbytes = 4 << 20


ARGUMENTS = (Array(), Array(), Array(), 1 << 20)


def vector_add(**options: Any) -> tileir.costs.Cost:
    return tileir.cost(VECTOR_ADD, 8192, ARGUMENTS, **{"assemble": False, **options})


def keys(interface: str) -> dict[str, Any]:
    """The names of an interface of the page, those of objects in it below their names."""
    text = (ROOT / "src/tileir/serve/explorer/assets/types.d.ts").read_text(encoding="utf-8")
    text = re.sub(r"/\*\*.*?\*/", "", text, flags=re.DOTALL)
    body = text.partition(f"\ninterface {interface} ")[2]
    found: dict[str, Any] = {}
    stack = [found]
    for name, opens, closes in re.findall(r"(\w+)\??:\s*(\{)?|(\})", body[1:]):
        if closes:
            stack.pop()
            if not stack:
                break
        else:
            inner: dict[str, Any] = {}
            stack[-1][name] = inner
            if opens:
                stack.append(inner)
    return found


def shape(value: Any) -> dict[str, Any]:
    """The names in an answer, as `keys` gives them."""
    if isinstance(value, list):
        return shape(value[0]) if value else {}
    if isinstance(value, dict):
        return {name: shape(each) for name, each in value.items()}
    return {}


def test_answer_is_what_the_page_expects() -> None:
    assert shape(vector_add().answer()) == keys("Cost")


@pytest.mark.sampled(3)
@pytest.mark.parametrize("target", list(GPUS))
def test_every_gpu_of_the_table_is_a_target(target: str) -> None:
    cost = vector_add(target=target)
    assert cost.title == GPUS[target].name
    assert cost.sources[0].startswith("peaks: NVIDIA ")
    assert cost.seconds > cost.footprint / cost.roofline.memory


def test_targets_of_the_page_are_those_with_peaks_and_this_processor() -> None:
    assert set(gpu_targets()) == set(GPUS)
    assert list(target_names()) == [*GPUS, "cpu"]


@pytest.mark.parametrize("name", ["H200", "h-200", "rtx 5090", "RTX_5090"])
def test_spelling_of_a_target_does_not_matter(name: str) -> None:
    assert vector_add(target=name).target in ("h200", "rtx5090")


@pytest.mark.parametrize("name", ["v100", "", 7, None])
def test_unknown_target_is_told_the_others(name: Any) -> None:
    with pytest.raises(tileir.OptionError, match=r"choose one of a100, .*, h200, .*, cpu"):
        vector_add(target=name)


def test_kernel_may_be_given_in_many_ways() -> None:
    module = tileir.load(VECTOR_ADD)
    expected = vector_add().answer()
    for kernel in (module, tileir.compile(module), str(VECTOR_ADD), tileir.to_bytecode(module)):
        assert tileir.cost(kernel, 8192, ARGUMENTS, assemble=False).answer()["time"] == expected["time"]


def test_what_is_no_kernel_is_refused() -> None:
    for wrong in (1, None, print):
        with pytest.raises(TypeError, match="pass a kernel, a module, a file, or a kernel of cuTile or Triton"):
            tileir.cost(wrong, 1)


def test_arrays_have_the_names_of_the_text() -> None:
    assert [array.name for array in vector_add().memory] == ["a", "b", "c"]
    built = tileir.from_bytecode(tileir.to_bytecode(tileir.load(VECTOR_ADD)))
    names = [array.name for array in tileir.cost(built, 8192, ARGUMENTS, assemble=False).memory]
    assert names == ["argument 0", "argument 1", "argument 2"]


def test_number_of_arguments_and_grid_are_checked() -> None:
    with pytest.raises(tileir.LaunchError, match="takes 4 arguments"):
        tileir.cost(VECTOR_ADD, 1, (Array(),))
    with pytest.raises(tileir.LaunchError, match="extent 0 along x"):
        tileir.cost(VECTOR_ADD, 0, ARGUMENTS)


def test_report_is_text_and_html_without_markup_of_names() -> None:
    text = tileir.load(VECTOR_ADD).text().replace("@vector_add", '@"<b>k"')
    cost = tileir.cost(tileir.parse(text), 8192, ARGUMENTS, assemble=False)
    assert cost.render().startswith("<b>k, grid 8192 x 1 x 1, on NVIDIA H200")
    assert "&lt;b&gt;k" in cost._repr_html_() and "<b>" not in cost._repr_html_()
    assert repr(cost).startswith("<Cost of <b>k, grid (8192, 1, 1), on h200: about ")


# --- occupancy ---


def test_compiled_kernel_tells_registers_and_waves(assembler: FakeAssembler) -> None:
    text = tileir.load(VECTOR_ADD).text().replace("@vector_add", "@k")
    cost = tileir.cost(tileir.parse(text), 8192, ARGUMENTS, target="h200")
    assert (cost.occupancy.registers, cost.occupancy.warps, cost.occupancy.blocks) == (32, 4, 16)
    assert cost.occupancy.reason is None and cost.waves.reason is None
    assert (cost.waves.at_once, cost.waves.waves) == (16 * 132, 4)
    assert cost.waves.tail == pytest.approx(8192 / (16 * 132) - 3)


def test_cluster_takes_several_places(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the assembler had spread a tile block over two thread blocks."""
    found = Resources("k", "sm_100", 128, 0, 0, 0, 0, 1, 256, 1024, (), 2)
    monkeypatch.setattr("tileir.execute.gpu.tileiras.kernel.make_cubin", lambda *_: SimpleNamespace(resources=found))
    cost = vector_add(assemble=True, target="b200")
    # Two thread blocks of 256 threads and 128 registers on each multiprocessor.
    assert (cost.occupancy.blocks, cost.waves.at_once) == (2, 148)
    assert any("a cluster of 2 thread blocks" in note for note in cost.notes)


def test_assembler_that_refuses_is_a_reason_and_no_error(assembler: FakeAssembler) -> None:
    assembler.does("sys.exit(1)")
    cost = vector_add(assemble=True)
    assert cost.occupancy.blocks is None and cost.occupancy.reason
    assert cost.waves.reason is not None and cost.waves.reason.startswith("a guess from the sizes of tiles")
    assert cost.seconds > 0


def test_large_kernel_is_counted_and_not_compiled(assembler: FakeAssembler) -> None:
    lines = "\n".join([f"%v{n + 1} = addf %v{n}, %v{n} : tile<8xf32>" for n in range(6_000)])
    text = f"cuda_tile.module @m {{ entry @k() {{ %v0 = constant <f32: 1.0> : tile<8xf32>\n{lines}\nreturn }} }}"
    cost = tileir.cost(tileir.parse(text), (100, 100, 100))
    assert cost.flops == 6_000 * 8 * 10**6
    assert cost.occupancy.reason == "a kernel of 6003 operations takes long to compile"
    assert not assembler.calls


# --- what is not known ---


def test_scalar_that_is_not_known_is_noted() -> None:
    cost = tileir.cost(
        ROOT / "examples" / "matmul.mlir", (4, 4), (Array(), Array(), Array(), None, None, None), assemble=False
    )
    assert any("not known without running it" in note for note in cost.notes)


def test_peak_that_nobody_publishes_is_noted() -> None:
    arguments = (Array(), Array(), Array(), 512, 512, 512)
    cost = tileir.cost(ROOT / "examples" / "matmul.mlir", (8, 8), arguments, target="gb10", assemble=False)
    assert "how fast NVIDIA GB10 is at matmuls of f16 is not published: the time leaves them out" in cost.notes


def test_kernel_that_does_nothing_takes_the_time_of_a_launch() -> None:
    module = tileir.parse("cuda_tile.module @m { entry @k() { return } }")
    cost = tileir.cost(module, 1, assemble=False)
    assert cost.intensity is None and cost.answer()["roofline"]["point"] is None
    assert cost.reasons[-1] == "the launch itself takes longest: there is little to do"
    assert cost.seconds == 2.5e-6


# --- this processor ---


def test_processor_is_measured_and_what_was_is_said() -> None:
    cost = vector_add(target="cpu")
    assert cost.target == "cpu" and cost.title.startswith("this processor (")
    assert cost.waves.at_once >= 1 and cost.occupancy.blocks is None
    assert "measured here on" in cost.sources[0]
    assert 0 < cost.roofline.memory < 1e14
    assert shape(cost.answer()) == keys("Cost")


def test_what_was_measured_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEIR_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(processor, "is_busy", lambda: False)
    monkeypatch.setattr(processor, "_known", {})
    made = processor.Processor("here", 1, 1e9, 1e9, 1e9, 1e9, 1e9, "2026-11-16")
    monkeypatch.setattr(processor, "_measured", lambda name: made)
    assert processor.processor(again=True) == made
    # As another process would ask.
    monkeypatch.setattr(processor, "_known", {})
    monkeypatch.setattr(processor, "_measured", lambda name: pytest.fail("it was kept"))
    assert processor.processor() == made


def test_kernel_is_measured_where_the_target_is_here() -> None:
    arrays = [numpy.ones(1000, numpy.float32) for _ in range(3)]
    cost = tileir.cost(VECTOR_ADD, 8, (*arrays, 1000), target="cpu", measure=True)
    assert cost.measured is not None and cost.measured > 0
    assert "of it" in cost.render()
    assert (arrays[2] == 2).all()


def test_slower_kind_of_operation_takes_longer() -> None:
    """The model is monotone: the same kernel with a division in the place of an addition is not faster."""
    text = tileir.load(VECTOR_ADD).text()
    plain, divided = [
        tileir.cost(tileir.parse(text.replace("addf", name)), 8192, ARGUMENTS, assemble=False)
        for name in ("addf", "divf")
    ]
    assert divided.seconds >= plain.seconds
    instructions = [next(r for r in cost.reasons if r.startswith("instructions")) for cost in (plain, divided)]
    assert instructions[0] != instructions[1]
