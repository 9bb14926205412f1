"""TTIR as each version of Triton writes it: kept beside `versions/kernels.py`, so that no version has to be there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tileir
from tileir.execute.dtypes import Array
from tileir.execute.locations.source_locations import frames_of

FOLDER = Path(__file__).parent / "versions"
VERSIONS = sorted(path.stem for path in FOLDER.glob("*.ttir"))


def random(*shape: int) -> Array:
    return np.random.default_rng(7).random(shape, np.float32)


def kernels(version: str) -> dict[str, tileir.Module]:
    texts = (FOLDER / f"{version}.ttir").read_text(encoding="utf-8").split("// -----\n")
    return {tileir.compile(module).name: module for module in map(tileir.from_ttir, texts)}


def results(found: dict[str, tileir.Module], backend: str) -> list[tuple[str, Array, Array]]:
    """For each kernel what it computes, and what is right."""
    x, y, z = random(9, 100), random(33, 40), random(40, 50)
    powers = np.exp(x - x.max(1, keepdims=True))
    counts = np.array([(x.reshape(-1)[:100] > 0.5).sum(), 2], np.int32)
    launches: dict[str, tuple[Any, tuple[Any, ...], Any]] = {
        "softmax": (9, (x, np.zeros_like(x), 100), powers / powers.sum(1, keepdims=True)),
        "matmul": ((3, 4), (y, z, np.zeros((33, 50), np.float32), 33, 50, 40), y @ z),
        "doubled": ((2, 2), (y[:20].copy(), np.zeros((20, 40), np.float32), 20, 40), 2 * y[:20]),
        "counted": (2, (x, np.zeros(2, np.int32), 100), counts),
        "incremented": (1, (y[:5, :6].copy(), np.zeros((5, 6), np.float32), 5, 6), y[:5, :6] + 1),
    }
    made = []
    for name, module in found.items():
        if name not in launches:
            continue
        grid, arguments, expected = launches[name]
        tileir.compile(module, backend=backend).launch(grid, arguments)
        made.append((name, next(each for each in arguments[::-1] if isinstance(each, np.ndarray)), expected))
    return made


@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_is_read(version: str) -> None:
    assert VERSIONS == ["3.5", "3.6", "3.7", "3.8", "3.9"]
    found = kernels(version)
    # The last version has no block pointers.
    assert len(found) == (4 if version == "3.9" else 6)
    for name, result, expected in results(found, "interpreter"):
        np.testing.assert_allclose(result, expected, rtol=1e-5, err_msg=name)


@pytest.mark.parametrize("version", VERSIONS[:-1])
def test_a_block_pointer_without_a_boundary_check_is_found(version: str) -> None:
    line = (FOLDER / "kernels.py").read_text(encoding="utf-8").splitlines().index("    found = tl.load(source)") + 1
    kernel = tileir.compile(kernels(version)["unchecked"])
    with pytest.raises(tileir.SanitizerError) as caught:
        kernel.launch(1, (random(5, 6), np.zeros((5, 6), np.float32), 5, 6), sanitize=True)
    (finding,) = caught.value.report.findings
    assert finding.kind == "out-of-bounds"
    assert frames_of(finding.operation.location)[0].line == line


@pytest.mark.parametrize("version", VERSIONS)
def test_lines_are_the_same_in_every_version(version: str) -> None:
    def lines(module: tileir.Module) -> set[tuple[str, int]]:
        frames = [frames_of(each.location)[:1] for each in module.walk()]
        return {(one.file, one.line) for each in frames for one in each}

    assert lines(kernels(version)["softmax"]) == lines(kernels("3.9")["softmax"])


@pytest.mark.parametrize("version", VERSIONS)
def test_accesses_are_at_their_calls_in_every_version(version: str) -> None:
    """Versions before 3.8 give them the column of the last argument."""
    script = FOLDER / "kernels.py"
    texts = (FOLDER / f"{version}.ttir").read_text(encoding="utf-8").replace('"kernels.py"', f'"{script.as_posix()}"')
    lines = script.read_text(encoding="utf-8").splitlines()
    found = []
    for text in texts.split("// -----\n"):
        if "unchecked" in text or "softmax" in text:  # The others are kept without locations.
            accesses = [each for each in tileir.from_ttir(text).walk() if "_ptr_tko" in each.name]
            places = [frames_of(each.location)[0] for each in accesses]
            found += [lines[each.line - 1][each.column :].partition("(")[0] for each in places]
    assert found == ["tl.load", "tl.store"] * (1 if version == "3.9" else 2)
