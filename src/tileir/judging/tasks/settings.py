"""A task: a reference and what is required of candidates, read from a folder with `task.json` and `reference.py`.

Both travel as one: the settings are a comment at the end of the reference's source, which only the children read that
work with the reference.  So held-out shapes and the seed are nowhere in the process that runs a candidate.
"""

from __future__ import annotations

import json
import math
import os
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Final

from tileir.analyze.cost.targets import target_named
from tileir.execute.arguments.argument_text import LaunchDescriptionError, size_of
from tileir.ir.diagnostics import OptionError, TileIRError
from tileir.ir.quoting import close_names
from tileir.ir.registry import REGISTRY

FLOATS: Final = ("float64", "float32", "tfloat32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2")
"""The names that tasks have for element types."""
_DTYPES: Final = (*FLOATS, "complex64", "complex128")
_FRAMEWORKS: Final = ("cutile", "torch", "triton")
"""With `torch`, it may compute a part of what kernels do not."""
_MARK: Final = b"\n# tileir task: "
_TASK, _REFERENCE = "task.json", "reference.py"


class TaskError(OptionError):
    """A task that cannot be judged: its settings or its reference are wrong."""


@dataclass(frozen=True, slots=True)
class TaskSettings:
    """What a task states besides its reference; the fields are the keys of `task.json`."""

    name: str = ""
    description: str = ""
    shapes: list[dict[str, Any]] = field(default_factory=list)
    """Arguments of the reference's inputs, which candidates may know; none: those of the reference."""
    held_out: list[dict[str, Any]] = field(default_factory=list)
    """The same, hidden from candidates."""
    sizes: dict[str, list[int]] = field(default_factory=dict)
    """Arguments of the inputs that may have other values, and values that are tried."""
    variants: bool = True
    """Whether contents that find bugs are tried, too."""
    nonfinite: bool = False
    """Whether results for NaN and infinity must be those of the reference."""
    layouts: bool = False
    """Whether arrays with gaps and at odd addresses are given to candidates."""
    tolerance: Any = None
    precision: dict[str, str] = field(default_factory=dict)
    """`accumulate`: the narrowest type in which sums and matmuls may be accumulated; `compute`: of operands."""
    time_limit: float | None = None
    memory_limit: int | None = None
    operations: dict[str, list[str]] = field(default_factory=dict)
    frameworks: list[str] = field(default_factory=list)
    target: str = ""
    speedup: float | None = None
    seed: int | None = None
    """Not a key: drawn for each judgment."""

    def appended(self, reference: bytes) -> bytes:
        """The reference with these settings."""
        given = {name: value for name, value in asdict(self).items() if value != getattr(_USUAL, name)}
        return reference.partition(_MARK)[0] + _MARK + json.dumps(given, sort_keys=True).encode() + b"\n"


_USUAL: Final = TaskSettings()


def settings_in(source: bytes) -> TaskSettings | None:
    """The settings of a reference that is one of a task."""
    _, mark, text = source.rpartition(_MARK)
    return TaskSettings(**json.loads(text)) if mark else None


def with_drawn_seed(source: bytes) -> bytes:
    """The reference of a task with a seed that nobody knows, if it has none; others as they are."""
    settings = settings_in(source)
    if settings is None or settings.seed is not None:
        return source
    return replace(settings, seed=int.from_bytes(os.urandom(4), "little")).appended(source)


@dataclass(frozen=True, slots=True)
class TaskFiles:
    """A task as it is read."""

    path: str
    reference: bytes
    settings: TaskSettings

    def with_seed(self, seed: int | None) -> bytes:
        """The reference with all that candidates must not know."""
        return replace(self.settings, seed=seed).appended(self.reference)


def read_task(path: str | os.PathLike[str]) -> TaskFiles:
    """A task from its folder, or from a module that is its reference alone; raises `TaskError`."""
    folder = os.fspath(path)
    if os.path.isfile(folder) and folder.endswith(".py"):
        return TaskFiles(folder, Path(folder).read_bytes(), TaskSettings(name=Path(folder).stem))
    if not os.path.isdir(folder):
        missing = "there is no such folder" if not os.path.lexists(folder) else "it is neither a folder nor a module"
        raise _wrong(f"'{folder}' is no task: {missing}", f"make a folder with {_REFERENCE} and, for more, {_TASK}")
    reference, stated = Path(folder, _REFERENCE), Path(folder, _TASK)
    if not reference.is_file():
        raise _wrong(f"the task '{folder}' has no {_REFERENCE}", "define inputs(seed, ..) and reference(..) in it")
    given: Any = {}
    if stated.is_file():
        try:
            given = json.loads(stated.read_bytes())
        except (ValueError, RecursionError) as error:
            raise _wrong(f"'{stated}' is no JSON: {error}") from None
    settings = settings_from(given, os.fspath(stated))
    if not settings.name:
        settings = replace(settings, name=Path(os.path.abspath(folder)).name)
    return TaskFiles(folder, reference.read_bytes(), settings)


def settings_from(given: object, file: str = _TASK) -> TaskSettings:
    """Settings from what JSON holds; raises `TaskError` with the key that is wrong and what it takes."""
    if not isinstance(given, dict):
        raise _wrong(f"'{file}' is no object of JSON: write {{}} or keys such as \"shapes\"")
    keys = [each.name for each in fields(TaskSettings) if each.name != "seed"]
    found: dict[str, Any] = {}
    for key, value in given.items():
        if key not in keys:
            close = close_names(str(key), keys)
            help = f"did you mean '{close[0]}'?" if close else f"the keys are {', '.join(keys)}"
            raise _wrong(f"'{file}' has an unknown key '{key}'", help)
        found[key] = _checked(key, value, file)
    return TaskSettings(**found)


def _checked(key: str, value: Any, file: str) -> Any:
    def expect(is_right: object, what: str) -> None:
        if not is_right:
            raise _wrong(f"'{key}' in '{file}' is {what}, not {json.dumps(value)[:80]}")

    def expect_words(words: object, known: list[str], what: str) -> None:
        expect(isinstance(words, list) and all(isinstance(word, str) for word in words), f"a list of {what}")
        for word in words if isinstance(words, list) else ():
            if word not in known:
                close = close_names(word, known)
                help = f"did you mean '{close[0]}'?" if close else f"known are {', '.join(known[:12])}"
                raise _wrong(f"'{key}' in '{file}': '{word}' is no name of {what}", help)

    if key in ("name", "description", "target"):
        expect(isinstance(value, str), "a text")
        if key == "target" and value:
            try:
                target_named(value)
            except TileIRError as error:
                raise _wrong(f"'target' in '{file}': {error.message}") from None
    elif key in ("shapes", "held_out"):
        is_list = isinstance(value, list) and all(isinstance(each, dict) for each in value)
        expect(is_list and (value or key == "held_out"), 'a list such as [{"n": 1000}], of arguments for the inputs')
    elif key == "sizes":
        is_right = isinstance(value, dict) and all(
            isinstance(sizes, list) and all(_is_count(size) for size in sizes) for sizes in value.values()
        )
        expect(is_right, 'an object such as {"n": [1, 127, 129]}')
    elif key in ("variants", "nonfinite", "layouts"):
        expect(isinstance(value, bool), "true or false")
    elif key == "tolerance":
        try:
            tolerances(value)
        except ValueError as error:
            raise _wrong(f"'tolerance' in '{file}' {error}") from None
    elif key == "precision":
        known = ("accumulate", "compute")
        expect(isinstance(value, dict) and set(value) <= {*known}, 'an object such as {"accumulate": "float32"}')
        expect_words(list(value.values()), list(FLOATS), "a float type")
    elif key in ("time_limit", "speedup"):
        expect(_is_amount(value) and (value > 0 or key == "speedup"), "a number above 0")
    elif key == "memory_limit":
        try:
            return value if _is_count(value) else size_of(value if isinstance(value, str) else "")
        except LaunchDescriptionError:
            expect(False, 'a number of bytes, or a size such as "512M"')
    elif key == "operations":
        is_right = isinstance(value, dict) and set(value) <= {"allow", "deny"} and len(value) == 1
        expect(is_right, 'an object such as {"deny": ["atomic_rmw_tko"]}, with "allow" or "deny"')
        known_operations = sorted({each.mnemonic for each in REGISTRY.by_name.values()})
        expect_words(next(iter(value.values())), [*known_operations, *FLOATS], "an operation or element type")
    elif key == "frameworks":
        expect_words(value, list(_FRAMEWORKS), "a framework")
        expect(value, 'a list of "cutile", "triton" and "torch"')
    return value


def tolerances(value: Any) -> dict[str, list[float]] | None:
    """A stated tolerance as relative and absolute error for each element type; "" stands for all others."""
    if value is None:
        return None
    if isinstance(value, dict) and value and set(value) <= {*_DTYPES}:
        return {dtype: _tolerance(each) for dtype, each in value.items()}
    return {"": _tolerance(value)}


def _tolerance(value: Any) -> list[float]:
    if isinstance(value, dict) and set(value) <= {"rtol", "atol"}:
        value = (value.get("rtol", 0.0), value.get("atol", 0.0))
    if _is_amount(value):
        value = (value, value)
    if not isinstance(value, (tuple, list)) or len(value) != 2 or not all(_is_amount(each) for each in value):
        names = "or an object with rtol and atol, or one with element types"
        raise ValueError(f"is a number, or [relative, absolute], {names}")
    return [float(each) for each in value]


def _is_amount(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < math.inf


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _wrong(message: str, help: str = "") -> TaskError:
    return TaskError(message, help=help)
