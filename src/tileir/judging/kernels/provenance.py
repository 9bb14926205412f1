"""Where results come from: the launches of a candidate are done again, and every value is followed.

In a child in which no foreign code runs.  It has the inputs, the launches that were recorded with what their arrays
held, and the results.  A kernel may read values of the inputs, of parameters that the reference has too, and of kernels
before it, in any order, and constants.  Values that are none of these and change with the inputs were computed
elsewhere.  Results must be values that the kernels write.

What the candidate's process reports is not believed: launches that it forges must compute its results all the same.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final, NamedTuple

import numpy

from tileir.dialect.ops import CONSTANT, GLOBAL
from tileir.execute.analysis.parameters import may_write, readers_of
from tileir.execute.arguments.binding import Pointer
from tileir.execute.dtypes import Array
from tileir.execute.launching.kernel import Kernel
from tileir.interface import from_bytecode
from tileir.ir.core import Operation
from tileir.ir.diagnostics import TileIRError
from tileir.judging.cheats import cheat_cause
from tileir.judging.kernels.comparison import is_inexact, widened
from tileir.judging.kernels.known_values import KnownValues, bits_of, information, is_constant, is_trivial
from tileir.judging.kernels.launches import UNWRITTEN_BYTE, arguments_of, kernel_of, read_launch
from tileir.judging.kernels.values import NotCarried, load, read_foreign
from tileir.judging.model import JudgePlan, JudgeStage
from tileir.judging.verdicts.work import Work

STEP: Final = "provenance"
_LARGEST_SIZE: Final = 1 << 20
"""Smaller integers are sizes and counts."""
_MOST_CARRIED: Final = 0.25
"""Of the information of the results, what integers may have that are computed outside of kernels."""
_OUTSIDE: Final = ("host-computation", "result-not-from-kernels")
"""Cheats that are none where torch may compute, too."""
_ROUGH: Final = 1e-2
"""The error within which results are those of other inputs."""


class Run(NamedTuple):
    """One call of a candidate: files of its inputs, what it was expected to compute, its results and its launches."""

    inputs: str
    expected: str
    state: str
    results: str
    directory: str
    """Of the launches."""
    launches: list[str] | None
    """Their files, in order; "" for one that was not recorded.  None: nothing is known."""


@dataclass(slots=True)
class _Followed:
    """What is known of a run after its launches were done again."""

    inputs: list[Array]
    digest: str
    shapes: tuple[Any, ...]
    results: list[Array]
    written: list[Array] = field(default_factory=list)
    unknown: dict[tuple[int, int], tuple[str, str]] = field(default_factory=dict)
    """By launch and argument, what a kernel reads that nothing explains: its digest, and how it is described."""
    integers: dict[tuple[int, int], Array] = field(default_factory=dict)
    """By launch and argument, integers that nothing explains: sizes, indices and masks may be computed anywhere, but
    are no results."""
    digests: dict[tuple[int, int], str] = field(default_factory=dict)
    programs: list[bytes] = field(default_factory=list)
    is_complete: bool = True


def judge_provenance(
    runs: list[Run], plan: JudgePlan, engine: str, work: Work, *, with_torch: bool = False
) -> list[dict[str, Any]]:
    """The step `provenance`; `with_torch`, a part may be computed outside of kernels."""
    work.begin(STEP)
    step = JudgeStage(STEP, "passed", details={"allowed": [*_OUTSIDE]} if with_torch else {})
    try:
        _Provenance(runs, plan, engine, step).judge()
    except NotCarried as error:
        _fail(step, "forged-launch", f"a launch cannot be read: {error}")
    return [asdict(step)]


def _fail(step: JudgeStage, name: str, message: str) -> None:
    if name in step.details.get("allowed", ()):
        step.details["unknown"] = True
    elif step.outcome == "passed":
        step.outcome, step.message, step.cause = "failed", message, cheat_cause(name)


class _Provenance:
    def __init__(self, runs: list[Run], plan: JudgePlan, engine: str, step: JudgeStage) -> None:
        self._runs: Final = runs
        self._most: Final = 2 * plan.limits.file_bytes + (1 << 20)
        self._engine: Final = engine
        self._threads: Final = plan.limits.threads
        self._step: Final = step

    def judge(self) -> None:
        followed: dict[int, _Followed] = {}
        earlier = KnownValues()
        for number, run in enumerate(self._runs):
            try:
                results = list(_arrays_in(self._read(run.results)))
            except NotCarried:
                # Which is a finding of the comparison.
                continue
            followed[number] = self._follow(run, results, earlier)
            if self._step.outcome != "passed":
                return
        self._step.details["followed"] = sum(each.is_complete for each in followed.values())
        if not all(each.is_complete for each in followed.values()):
            self._step.message = "not all launches can be done again: lists of arrays, or too much data"
            self._step.details["unknown"] = True
        for number, each in followed.items():
            others = [
                other for other in followed.values() if other.digest != each.digest and other.shapes == each.shapes
            ]
            self._check_unknown(each, others)
            self._check_programs(each, others)
            self._check_results(number, each, others)

    def _read(self, path: str) -> Any:
        return load(read_foreign(os.path.dirname(path), os.path.basename(path), self._most), as_numpy=True)

    def _follow(self, run: Run, results: list[Array], earlier: KnownValues) -> _Followed:
        case = self._read(run.inputs)
        inputs = list(_arrays_in(case))
        # The seed is not an input.
        digest = hashlib.blake2b(b"".join(each.tobytes() for each in inputs)).hexdigest()
        found = _Followed(inputs, digest, tuple((each.shape, each.dtype.name) for each in inputs), results)
        known = KnownValues(inputs)
        if run.state and os.path.exists(run.state):
            known.add(*_arrays_in(self._read(run.state)))
        if run.launches is None:
            found.is_complete = False
            return found
        for number, file in enumerate(run.launches):
            if not file:
                found.is_complete = False
                return found
            self._launch(number, read_launch(run.directory, file, self._most), found, known, earlier)
            if self._step.outcome != "passed":
                return found
        earlier.add(*found.written)
        return found

    def _launch(
        self, number: int, held: dict[str, Any], found: _Followed, known: KnownValues, earlier: KnownValues
    ) -> None:
        bytecode, name = held["bytecode"].tobytes(), str(held["kernel"])
        found.programs.append(bytecode)
        try:
            kernel = self._kernel(bytecode, name)
            entry = kernel.entry
            arguments, regions = arguments_of(held)
            fresh: set[int] = set()
            for index, value in enumerate(arguments):
                if not isinstance(value, Pointer):
                    self._number(number, index, value, held, found, known)
                    continue
                array = numpy.asarray(value.array)
                found.digests[number, index] = _digest(array)
                if not is_inexact(array.dtype) and array.dtype.kind != "c":
                    if any(True for _ in readers_of(entry, index)) and not known.explains(array, is_result=True):
                        found.integers[number, index] = array.copy()
                    continue
                if known.explains(array) or earlier.explains(array):
                    continue
                if any(True for _ in readers_of(entry, index)):
                    words = f"kernel '{name}' reads {value.name}, {array.dtype.name}{list(array.shape)}"
                    found.unknown[number, index] = found.digests[number, index], words
                else:
                    fresh.add(held["values"][index]["region"])
            read = {held["values"][index].get("region") for launch, index in found.unknown if launch == number}
            for region in fresh - read:
                regions[region][:] = UNWRITTEN_BYTE
            kernel.launch(held["grid"], arguments, **self._options(kernel))
        except (TileIRError, ValueError, KeyError, TypeError, IndexError) as error:
            _fail(self._step, "forged-launch", f"a launch of '{name}' cannot be done again: {str(error)[:400]}")
            return
        for index, value in enumerate(arguments):
            if isinstance(value, Pointer) and may_write(entry, index):
                array = numpy.array(value.array)
                found.written.append(array)
                known.add(array)

    def _number(
        self, number: int, index: int, value: object, held: dict[str, Any], found: _Followed, known: KnownValues
    ) -> None:
        plain = value.item() if isinstance(value, (numpy.ndarray, numpy.generic)) and value.ndim == 0 else value
        if isinstance(plain, int) and abs(plain) > _LARGEST_SIZE:
            found.digests[number, index] = repr(plain)
            found.integers[number, index] = numpy.array([plain % (1 << 64)], numpy.uint64)
        if not isinstance(plain, float):
            return
        found.digests[number, index] = repr(plain)
        if not known.has_number(plain):
            found.unknown[number, index] = repr(plain), f"kernel '{held['kernel']}' takes the number {plain:.6g}"

    def _kernel(self, bytecode: bytes, name: str) -> Kernel:
        return kernel_of(bytecode, name, self._engine, self._engine != "interpreter")

    def _options(self, kernel: Kernel) -> dict[str, Any]:
        return {"threads": self._threads} if self._engine in ("auto", "cpu") else {}

    # --- what the runs show together ---

    def _check_unknown(self, run: _Followed, others: list[_Followed]) -> None:
        for place, (digest, words) in run.unknown.items():
            seen = [other.digests[place] for other in others if place in other.digests]
            if seen and digest not in seen:
                why = "which no input and no kernel before it holds, and which changes with the inputs"
                _fail(self._step, "host-computation", f"{words}, {why}: it was computed outside of kernels")

    def _check_programs(self, run: _Followed, others: list[_Followed]) -> None:
        for other in others:
            if len(other.programs) != len(run.programs):
                continue
            for mine, theirs in zip(run.programs, other.programs, strict=True):
                if mine != theirs and _constants(mine) ^ _constants(theirs):
                    _fail(
                        self._step,
                        "specialized-kernel",
                        "inputs of the same shapes with other values are computed by a program with other constants",
                    )

    def _check_results(self, number: int, run: _Followed, others: list[_Followed]) -> None:
        self._check_replayed(number, run, others)
        if not run.is_complete:
            return
        written = KnownValues(run.written)
        carried = sum([information(each) for each in self._changing_integers(run, others)])
        returned = sum([information(each) for each in run.results])
        if carried and carried >= _MOST_CARRIED * returned:
            message = "kernels are given integers that no input holds, that change with the inputs, and that could be"
            _fail(self._step, "host-computation", f"{message} the results in another form: {carried:.0f} bits of them")
        for result in run.results:
            if written.explains(result, is_result=True) or any(_near([result], [each]) for each in run.written):
                # The last bits of a product may depend on where its operands are.
                continue
            if _is_updated(result, run, written):
                continue
            if _is_total(result, run):
                self._step.details["totals"] = True
                continue
            if others and all(any(_digest(result) == _digest(each) for each in other.results) for other in others):
                # A result that does not depend on the inputs needs no kernel.
                continue
            shape = f"{result.dtype.name}{list(result.shape)}"
            if not run.programs:
                repeated = next((each for each in self._others_like(number)), None)
                if repeated is not None:
                    _fail(self._step, "replayed-result", "a second call with the same inputs launches nothing")
                message = f"it returns {shape} without a launch of a kernel of cuTile or Triton"
                _fail(self._step, "no-kernel", message)
            else:
                message = f"it returns {shape}, whose elements no kernel writes when its launches are done again"
                _fail(self._step, "result-not-from-kernels", message)

    def _changing_integers(self, run: _Followed, others: list[_Followed]) -> list[Array]:
        """Integers that nothing explains, and that change with the inputs."""
        found = []
        for place, array in run.integers.items():
            seen = [other.digests[place] for other in others if place in other.digests]
            if seen and run.digests[place] not in seen:
                found.append(array)
        return found

    def _others_like(self, number: int) -> Iterator[Run]:
        """Runs with the same inputs that launch kernels."""
        for other, run in enumerate(self._runs):
            if other != number and run.inputs == self._runs[number].inputs and run.launches:
                yield run

    def _check_replayed(self, number: int, run: _Followed, others: list[_Followed]) -> None:
        """Whether results are the right ones of other inputs."""
        mine = self._runs[number]
        if not run.results or any(is_constant(each) for each in run.results):
            return
        expected = list(_arrays_in(self._read(mine.expected)))
        if _near(run.results, expected):
            return
        for other_run in self._runs:
            if other_run.inputs == mine.inputs:
                continue
            theirs = list(_arrays_in(self._read(other_run.expected)))
            if _near(run.results, theirs):
                _fail(self._step, "replayed-result", "its results are the right ones of other inputs")


def _is_updated(result: Array, run: _Followed, written: KnownValues) -> bool:
    """Whether a result is an input of which kernels have written a part."""
    for each in run.inputs:
        if each.shape == result.shape and each.dtype == result.dtype:
            changed = bits_of(each) != bits_of(result)
            if each.dtype.kind == "c" or not changed.any():
                continue
            new = numpy.ascontiguousarray(result).reshape(-1)[changed]
            # What any program may know is no sign of a kernel.
            if not is_constant(new) and not is_trivial(new).all() and written.explains(new, is_result=True):
                return True
    return False


def _is_total(result: Array, run: _Followed) -> bool:
    """Whether a result is the sum or the mean, along an axis, of what a kernel wrote: one part for each tile block.

    The kernel must have reduced the largest input to half its size at least, and not have copied a part of any."""
    inputs, given = KnownValues(run.inputs), max([each.size for each in run.inputs], default=0)
    for array in run.written:
        if not is_inexact(array.dtype) or not array.ndim or inputs.explains(array):
            continue
        if any(
            2 * extent * result.size <= given and _near([result], [total]) for extent, total in _totals(array, result)
        ):
            return True
    return False


def _totals(array: Array, result: Array) -> Iterator[tuple[int, Array]]:
    """Sums and means of so many parts each, of the shape of a result."""
    wide, shape = widened(array), result.shape
    found = [(extent, wide.sum(axis=axis)) for axis, extent in enumerate(wide.shape) if wide.ndim == len(shape) + 1]
    extent, rest = divmod(wide.size, max(result.size, 1))
    if not rest and extent > 1:
        # A kernel may have been given it in another shape.
        for place in range(len(shape) + 1):
            found.append((extent, wide.reshape(*shape[:place], extent, *shape[place:]).sum(axis=place)))
    for extent, total in found:
        if all(n <= m for n, m in zip(shape, total.shape, strict=True)):
            # Rows may be padded to whole tiles.
            total = total[tuple([slice(n) for n in shape])]
            yield from ((extent, total), (extent, total / max(extent, 1)))


def _near(found: Sequence[Array], expected: Sequence[Array]) -> bool:
    if len(found) != len(expected) or not found:
        return False
    for one, other in zip(found, expected, strict=True):
        if one.shape != other.shape:
            return False
        left, right = widened(one), widened(other)
        with numpy.errstate(all="ignore"):
            scale = (
                float(numpy.sqrt(numpy.mean(numpy.square(numpy.abs(right[numpy.isfinite(right)])))))
                if right.size
                else 0
            )
        if not numpy.allclose(left, right, _ROUGH, _ROUGH * min(scale, 1.0), equal_nan=True):
            return False
    return True


def _arrays_in(value: Any) -> Iterator[Array]:
    """All arrays of a value that was carried; of results those that were changed, too."""
    if isinstance(value, numpy.ndarray):
        yield value
    elif isinstance(value, float):
        yield numpy.array([value])
    elif isinstance(value, dict):
        for each in value.values():
            yield from _arrays_in(each)
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from _arrays_in(each)


def _digest(array: Array) -> str:
    return hashlib.blake2b(numpy.ascontiguousarray(array).tobytes(), digest_size=16).hexdigest()


def _constants(bytecode: bytes) -> set[str]:
    """The constants of a program that can hold results: floats, and tiles of several values."""
    found: set[str] = set()
    module: Operation = from_bytecode(bytecode)
    for operation in module.walk():
        if operation.declaration in (CONSTANT, GLOBAL):
            text = operation.text()
            if "f16" in text or "f32" in text or "f64" in text or "bf16" in text or "[" in text:
                found.add(text)
    return found
