"""Whatever verifies runs or ends in a `TileIRError`, on both engines, and no mistake of ours is among those."""

from __future__ import annotations

from importlib.util import find_spec
from itertools import product
from random import Random
from typing import Any

import numpy
import pytest
from tests.execute import extreme_programs
from tests.execute.extreme_programs import kernel
from tests.execute.step_limit import Enough, StepLimit
from tests.execute.test_random_programs import FAMILIES as RANDOM_FAMILIES
from tests.execute.test_random_programs import OPERATIONS as MNEMONICS
from tests.execute.test_random_programs import arguments_for
from tests.generators.extremes import exaggerate
from tests.generators.programs import random_module

import tileir
from tileir.execute.errors import InternalError
from tileir.execute.launching.entries import entries_of

FAMILIES = ("memory", "prints", "ranks", "views", "loops", "control_flow", "nests")
BACKENDS = ("interpreter", "cpu") if find_spec("llvmlite") else ("interpreter",)


@pytest.fixture(autouse=True)
def _no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEIR_CACHE", "0")


def outcome(text: str, backend: str, grid: Any = 2, **options: Any) -> tuple[str, str, bytes]:
    """How a launch ends: what it prints and leaves in memory, or the first line of its error."""
    module = tileir.parse(text)
    array = numpy.arange(64, dtype=numpy.float32)
    printed: list[str] = []
    if backend == "cpu":
        options["threads"] = 1
    try:
        tileir.compile(module, backend=backend).launch(grid, (array, 2), output=printed.append, **options)
    except tileir.TileIRError as error:
        assert not isinstance(error, InternalError), error
        return type(error).__name__, str(error).splitlines()[0], b""
    return "ran", "".join(printed), array.tobytes()


def verifies(text: str) -> bool:
    try:
        tileir.verify(tileir.parse(text))
    except tileir.TileIRError:
        return False
    return True


def check(name: str, text: str, sanitize: bool) -> None:
    found = [outcome(text, backend) for backend in BACKENDS]
    if "pointer" not in name and " of rank " not in name:
        # Addresses differ, and only the interpreter has NumPy's limit of dimensions.
        assert all(one == found[0] for one in found), (name, found)
    if sanitize:
        for backend in BACKENDS:
            outcome(text, backend, sanitize=True)


def test_named_programs() -> None:
    """Those that were seen to end in a foreign exception."""
    pointer = "tile<ptr<f32>>"
    found = dict(extreme_programs.programs())
    for name, ends in [
        (f"{pointer} through continue in an if", "ran"),
        (f"{pointer} through break in an if", "ran"),
        ("alloca 4611686018427387904 f32", "ExecutionError"),
        ("alloca 4611686018427387904 f32, not executed", "ran"),
        ("global aligned to 1099511627776, unused", "LaunchError"),
        ("print %100000000000000000000f", "LaunchError"),
        ("dynamic view 4611686018427387904 0", "ran"),
    ]:
        assert verifies(found[name]), name
        ended = {outcome(found[name], backend)[0] for backend in BACKENDS}
        assert len(ended) == 1 and (not ends or ended == {ends}), (name, ended)
    for way in ("exp", "print", "constant", "assert", "view"):
        assert outcome(found[f"{way} of rank 65"], "interpreter")[0] == "LaunchError"
        if "cpu" in BACKENDS:
            assert outcome(found[f"{way} of rank 65"], "cpu")[0] == "ran"


@pytest.mark.sampled(2)
@pytest.mark.parametrize("family", FAMILIES)
def test_a_sample_of_extreme_programs(family: str) -> None:
    every = {"ranks": 23, "control_flow": 31, "loops": 61, "prints": 37, "views": 29, "memory": 19, "nests": 5}[family]
    for name, text in list(getattr(extreme_programs, family)())[::every]:
        if verifies(text):
            check(name, text, False)


@pytest.mark.long
@pytest.mark.parametrize("family", FAMILIES)
def test_all_extreme_programs(family: str) -> None:
    count = 0
    for name, text in getattr(extreme_programs, family)():
        if verifies(text):
            check(name, text, True)
            count += 1
    assert count > 10


def random_outcomes(family: str, seed: int) -> int:
    """Run a random program with extreme attributes; how many of its kernels did."""
    version, draft_forms, _ = RANDOM_FAMILIES[family]
    rng = Random(seed)
    module = random_module(
        rng, size=25, operations=MNEMONICS, version=version, draft_forms=draft_forms, discardable=False, locations=False
    )
    exaggerate(module, rng)
    try:
        tileir.verify(module)
    except tileir.VerifyError:
        return 0
    count = 0
    for name, entry in entries_of(module).items():
        if arguments_for(entry) is None:
            continue
        count += 1
        try:
            # What stays within its memory here may run as native code.
            tileir.compile(module, entry=name, backend="interpreter").launch(
                (2, 2), (arguments_for(entry) or []), observer=StepLimit(1500), output=str
            )
            for backend in BACKENDS:
                tileir.compile(module, entry=name, backend=backend).launch(
                    (2, 2), (arguments_for(entry) or []), output=str
                )
        except Enough:
            pass
        except tileir.TileIRError as error:
            assert not isinstance(error, InternalError), error
    return count


@pytest.mark.parametrize("family", RANDOM_FAMILIES)
def test_random_programs_with_extreme_attributes(family: str) -> None:
    assert sum([random_outcomes(family, seed) for seed in range(6)]) > 2


@pytest.mark.long
@pytest.mark.parametrize("start", range(1000, 1400, 100))
@pytest.mark.parametrize("family", RANDOM_FAMILIES)
def test_many_random_programs_with_extreme_attributes(family: str, start: int) -> None:
    assert sum([random_outcomes(family, seed) for seed in range(start, start + 100)]) > 50


GRIDS = (
    0,
    -1,
    1,
    2**31,
    2**32,
    2**64,
    (1, 1, 1),
    (65536, 65536, 65536),
    (2**31 - 1, 1, 1),
    (1, 2**31 - 1, 65536),
    (),
    (1, 1, 1, 1),
    "2",
    1.5,
    None,
)


@pytest.mark.parametrize(("grid", "schedule"), list(product(GRIDS, ("forward", "reverse", "random:1"))))
def test_extreme_grids(grid: Any, schedule: str) -> None:
    """The first tile block ends each launch, so that large ones end at all."""
    text = kernel('assert %no, "enough" : tile<i1>')
    backends = BACKENDS if schedule == "forward" else ("interpreter",)
    for backend in backends:
        ended = outcome(text, backend, grid, schedule=schedule)
        assert ended[0] in ("LaunchError", "AssertionFailedError", "ran"), ended


# --- what is not ours goes through ---


class _Theirs(Exception):
    pass


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    "error", [_Theirs(), MemoryError(), ValueError("theirs"), KeyboardInterrupt(), RecursionError()], ids=repr
)
def test_what_callbacks_raise_reaches_the_caller(backend: str, error: BaseException) -> None:
    compiled = tileir.compile(tileir.parse(kernel('%u = print_tko "x" -> token')), backend=backend)

    def fail(*arguments: object) -> None:
        raise error

    with pytest.raises(type(error)) as caught:
        compiled.launch(1, (numpy.zeros(4, numpy.float32), 1), output=fail)
    assert caught.value is error
    with pytest.raises(type(error)) as caught:
        compiled.launch(1, (numpy.zeros(4, numpy.float32), 1), output=str, progress=fail)
    assert caught.value is error


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_mistake_of_ours_asks_to_be_reported(backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from tileir.dialect.ops import TAN
    from tileir.execute.interpreter import kernels

    def broken(*arguments: object) -> None:
        raise KeyError("a mistake")

    monkeypatch.setitem(kernels.KERNELS, TAN, broken)
    text = kernel("%y = tan %x : tile<f32>\n%t = store_ptr_tko weak %a, %y : tile<ptr<f32>>, tile<f32> -> token")
    with pytest.raises(InternalError, match="please report it") as caught:
        tileir.compile(tileir.parse(text), backend=backend).launch(1, (numpy.zeros(4, numpy.float32), 1))
    assert isinstance(caught.value.__cause__, KeyError)
