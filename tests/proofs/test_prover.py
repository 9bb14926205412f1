"""`tileir.prove`: from a kernel to proved and refuted questions, with planted bugs end to end."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import tileir

pytest.importorskip("z3")
EXAMPLES = Path(__file__).parents[2] / "examples"
ADD = (EXAMPLES / "vector_add.mlir").read_text()
# The mask of the first load is gone.
UNMASKED = ADD.replace(
    "load_ptr_tko weak %a_ptr, %mask, %zero : tile<128xptr<f32>>, tile<128xi1>, tile<128xf32> ->",
    "load_ptr_tko weak %a_ptr : tile<128xptr<f32>> ->",
)
# Without the size, the contract infers one that is rounded up to whole tiles.
SIZED = ("n > 128", "a.size == n")


def proved(text: str, **options: Any) -> tileir.analysis.Proof:
    return tileir.prove(tileir.parse(text, "k.mlir", verify=True), **options)


def test_a_correct_kernel_is_proved_under_the_contract_that_is_shown() -> None:
    proof = proved(ADD)
    assert proof["bounds"].verdict == "proved" and proof.refuted == []
    contract = {each.text: each.source for each in proof.contract}
    assert contract["grid.x == cdiv(n, 128)"] == "inferred"
    assert "    grid.x == cdiv(n, 128)            inferred" in str(proof).splitlines()


def test_a_missing_mask_is_refuted_by_a_launch_that_ran() -> None:
    assert UNMASKED != ADD
    proof = proved(UNMASKED, grid="cdiv(n, 128)", assume=SIZED)
    answer = proof["bounds"]
    assert answer.verdict == "refuted"
    assert answer.finding.kind == "out-of-bounds"
    assert answer.finding.operation.operands[0].type.spelling == "tile<128xptr<f32>>"
    count = int(answer.launch.arguments[-1])
    assert 128 < count <= 300 and count % 128
    assert answer.instance == f"for n = {count} and block {answer.finding.block[0]}"
    assert f"= repeat: {answer.command()}" in str(proof)
    (diagnostic,) = [each for rule, each in proof.diagnostics() if rule == "prove-bounds"]
    assert diagnostic.severity == "error" and diagnostic.message.endswith(answer.instance)
    assert diagnostic.position[1] == UNMASKED[: UNMASKED.index("weak %a_ptr :")].count("\n") + 1


# Tiles of 128 elements, 64 apart.
OVERLAPPING = ADD.replace("%size = constant <i32: 128>", "%size = constant <i32: 64>")
RACY = (EXAMPLES / "racy.mlir").read_text()


@pytest.mark.parametrize(("text", "grid"), [(OVERLAPPING, "cdiv(n, 64)"), (RACY, "cdiv(n, 128)")])
def test_planted_races_are_refuted(text: str, grid: str) -> None:
    assert text != ADD
    answer = proved(text, grid=grid)["race"]
    assert answer.verdict == "refuted" and answer.finding.kind == "race"
    assert max(answer.finding.block) > 0 and answer.instance.startswith("for n = ")


def test_what_is_stated_is_marked_and_a_grid_is_not_adjusted() -> None:
    proof = proved(ADD, grid=("cdiv(n, 128)",), assume=["n > 0", "n % 128 == 0"])
    stated = [each.text for each in proof.contract if each.source == "stated"]
    assert stated == ["n > 0", "n % 128 == 0", "grid.x == cdiv(n, 128)", "grid.y == 1", "grid.z == 1"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"assume": "rows > 0"}, "names 'rows', which is no integer parameter"),
        ({"assume": "n +"}, "is no expression"),
        ({"grid": "cdiv(n, 128), 1, 1, 1"}, "give one to three expressions"),
        ({"grid": "cdiv(n, 128"}, "give one to three expressions"),
        ({"timeout": 0}, "timeout is a number of seconds above 0, not 0"),
    ],
)
def test_wrong_options_say_what_is_wrong(options: dict[str, object], words: str) -> None:
    with pytest.raises(tileir.TileIRError, match=words):
        proved(ADD, **options)


def test_what_is_no_kernel_is_refused() -> None:
    with pytest.raises(TypeError, match="nothing can be proved about an int"):
        tileir.prove(3)


def test_a_kernel_of_cutile_has_the_names_of_the_script() -> None:
    pytest.importorskip("cuda.tile")
    import numpy

    # mypy knows the module by its short name.
    vector_add = importlib.import_module("examples.cutile_kernels").vector_add
    arrays = [numpy.ones(1024, "f4") for _ in range(3)]
    proof = tileir.prove(vector_add, arrays, assume="a.shape[0] > 0")
    texts = [each.text for each in proof.contract]
    assert "a.shape[0] > 0" in texts and "grid.x == cdiv(a.shape[0], 128)" in texts
    assert proof["bounds"].verdict == "proved"


def test_without_the_solver_the_error_says_what_to_install() -> None:
    program = "import sys; sys.modules['z3'] = None; import tileir; tileir.prove('examples/vector_add.mlir')"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=EXAMPLES.parent, capture_output=True, text=True, timeout=120
    )
    assert "proofs need the solver Z3: pip install 'tileir[prove]'" in done.stderr


def test_an_array_of_a_proposed_launch_has_no_more_elements_than_it_needs() -> None:
    # A grid that is rounded down leaves out a tail; an array with more elements would show nothing of the kernel.
    answer = proved(ADD, grid="n // 128")["coverage"]
    assert answer.verdict == "refuted" and answer.finding.kind == "unwritten"
    *arrays, count = answer.launch.arguments
    assert arrays == [f"zeros:f32:{count}"] * 3 and int(count) % 128


def test_a_guessed_size_refutes_no_coverage() -> None:
    # The mask compares another number than the index, so nothing says how many elements there are.
    changed = ADD.replace("%mask = cmpi less_than %index, %limit,", "%mask = cmpi less_than %lane, %limit,")
    assert changed != ADD
    answer = proved(changed)["coverage"]
    assert answer.verdict == "unknown"
    assert any("how many elements its array has is not known" in claim.reason for claim in answer.claims)


def test_arrays_of_a_script_are_not_empty() -> None:
    pytest.importorskip("cuda.tile")
    import numpy

    # mypy knows the module by its short name.
    vector_add = importlib.import_module("examples.cutile_kernels").vector_add
    arrays = [numpy.ones(1024, "f4") for _ in range(3)]
    assert ("c.shape[0] >= 1", "inferred") in [
        (each.text, each.source) for each in tileir.prove(vector_add, arrays).contract
    ]
