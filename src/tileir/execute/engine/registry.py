"""Which engines there are, and the choice among them.

Those of tileir itself are listed here.  Others come from `register_backend`, or from an installed package that names
one as an entry point of the group "tileir.backends".  Entry points are read only for an unknown name, or when all
engines are listed, because reading them takes longer than a small kernel runs.  An engine of an entry point runs only
by name: only a registered one takes part in the choice of "auto".
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from tileir.execute.cpu.engine import CpuEngine
from tileir.execute.engine.interface import OPTIONS, Backend, LaunchOptions
from tileir.execute.errors import INSTEAD, ChoiceError, LaunchError, MissingDependencyError
from tileir.execute.gpu.engines import VARIABLE, GpuChoice, TileirasEngine, TritonEngine, compilers_here
from tileir.execute.interpreter.engine import Interpreter
from tileir.ir.core import Operation
from tileir.ir.quoting import type_text

if TYPE_CHECKING:
    from collections.abc import Iterable
    from importlib.metadata import EntryPoint

AUTO: Final = "auto"
ENTRY_POINTS: Final = "tileir.backends"

_BUILT_IN: Final[dict[str, Backend]] = {
    engine.name: engine for engine in (CpuEngine(), Interpreter(), TileirasEngine(), TritonEngine())
}
_MEASURED: Final = [_BUILT_IN[TileirasEngine.name], _BUILT_IN[TritonEngine.name]]
"""Those for GPUs of which the faster one is taken."""
_CHOICE: Final = GpuChoice(_MEASURED)
_registered: dict[str, Backend] = {}
_installed: dict[str, Backend] = {}  # Those of entry points that were loaded.


def _preferred() -> list[Backend]:
    """The engines in the order in which "auto" tries them: the newest first, as it was registered for a reason."""
    return [*reversed(list(_registered.values())), *_BUILT_IN.values()]


def register_backend(backend: Backend) -> None:
    """Register a backend by its name for `backend=` and `tileir run --backend`, in this process.

    It replaces a registered one of the same name; kernels that were compiled for that one keep it.
    """
    _check(backend)
    _registered[backend.name] = backend


def _check(engine: object) -> None:
    """Refuse what is no engine, and one whose attributes make no sense."""
    if not isinstance(engine, Backend):
        raise LaunchError(f"{engine!r} is not a backend: pass an instance of a subclass of tileir.backends.Backend")
    name = getattr(engine, "name", None)
    if not isinstance(name, str) or not name.isidentifier():
        raise LaunchError(f"a backend's name must be an identifier such as 'cpu', not {name!r}")
    if name == AUTO or name in _BUILT_IN:
        raise LaunchError(f"'{name}' is one of tileir's own backends: give the backend another name")
    # A slip would show in a launch only.
    for member, known in (("options", sorted(OPTIONS)), ("stages", None)):
        words: object = getattr(engine, member)
        if not isinstance(words, (frozenset, set, tuple, list)) or not all(isinstance(word, str) for word in words):
            raise LaunchError(f"the {member} of {engine.called} are {words!r}: give a set or tuple of strings")
        for word in words:
            if known is not None and word not in known:
                raise LaunchError(f"{engine.called} has the option '{word}': there are {', '.join(known)}")


def unregister_backend(name: str) -> None:
    """Remove a registered backend."""
    if not isinstance(name, str) or _registered.pop(name, None) is None:
        raise LaunchError(f"no backend '{name}' is registered")


def find_engine(name: str) -> Backend:
    """The engine of a name, which need not be able to work here."""
    if isinstance(name, str):
        for engines in (_BUILT_IN, _registered, _installed):
            if name in engines:
                return engines[name]
    for point in _entry_points():
        if point.name == name:
            return _loaded(point)
    known, failures = all_engines()
    names = ", ".join([AUTO, *[engine.name for engine in known]])
    if not isinstance(name, str):
        raise LaunchError(f"a backend is named by a string, not by {type_text(name)}: choose one of {names}")
    words = [f"there is no backend '{name}': choose one of {names}"]
    reasons = [(engine.name, why_missing(engine)) for engine in known]
    words += [f"{each} cannot work here: {reason}" for each, reason in reasons if reason]
    raise ChoiceError("; ".join([*words, *failures.values()]))


def all_engines() -> tuple[list[Backend], dict[str, str]]:
    """All that are known, tileir's own first; and why entry points that name one could not be loaded, by name."""
    failures: dict[str, str] = {}
    found = {**_BUILT_IN, **_registered}
    for point in _entry_points():
        if point.name not in found:
            try:
                found[point.name] = _loaded(point)
            except LaunchError as error:
                failures[point.name] = error.message
    return list(found.values()), failures


def choose(entry: Operation, arguments: tuple[object, ...], options: LaunchOptions) -> Backend:
    """The engine of `backend="auto"`: one for GPUs if arrays are on one, else the interpreter, unless another suits."""
    on_gpu = bool(arguments) and _are_on_gpu(entry, arguments)
    forced = _forced() if on_gpu else None
    for engine in _preferred() if forced is None else [forced]:
        if engine.on_gpu is on_gpu and engine.suits(entry, arguments, options) and not why_missing(engine):
            return _faster(engine) if forced is None and engine in _MEASURED else engine
    if on_gpu:
        raise LaunchError(_no_gpu_engine(entry, options))
    return _BUILT_IN[Interpreter.name]


def _forced() -> Backend | None:
    """The engine for GPUs that the environment names."""
    name = os.environ.get(VARIABLE, "")
    if not name:
        return None
    found = find_engine(name)
    if not found.on_gpu:
        names = ", ".join([engine.name for engine in _preferred() if engine.on_gpu])
        raise LaunchError(f"{VARIABLE} is '{name}', which is no backend for GPUs: name one of {names}")
    return found


def gpu_choice_words() -> str:
    """What `backend="auto"` takes where arrays are on a GPU, as text for a message."""
    from tileir.execute.gpu.cache import choices_words

    forced = os.environ.get(VARIABLE, "")
    if forced:
        return f"'{forced}', which {VARIABLE} names"
    names = " and ".join([engine.name for engine in _MEASURED])
    return f"the faster one of {names}, measured at the first launch of its kind; of such choices {choices_words()}"


def _faster(first: Backend) -> Backend:
    """What runs a launch on a GPU that names no engine, if the first that can work is `first`."""
    able = [engine for engine in _MEASURED if engine is first or not why_missing(engine)]
    installed = compilers_here()
    ready = [engine for engine in able if installed[engine.name]]
    # Where nothing can be compiled, code of the cache may be of either.
    return _CHOICE if len(ready or able) > 1 else (ready or able)[0]


def _are_on_gpu(entry: Operation, arguments: tuple[object, ...]) -> bool:
    """Whether the arrays of a launch are on a GPU; some there and some not are refused."""
    # Imported here: arguments imply NumPy.
    from tileir.execute.arguments.binding import is_array, is_on_gpu

    there = [number for number, value in enumerate(arguments) if is_on_gpu(value)]
    if not there:
        return False
    for number, value in enumerate(arguments):
        if number not in there and is_array(value):
            raise LaunchError(
                f"argument {number} of @{entry.symbol_name} is on the host and argument {there[0]} on a GPU: pass all "
                "arrays of one kind, or choose a GPU backend by name to have those of the host copied"
            )
    return True


def _no_gpu_engine(entry: Operation, options: LaunchOptions) -> str:
    words = [f"the arrays of this launch of @{entry.symbol_name} are on a GPU, and no backend can run it there"]
    for engine in _preferred():
        if engine.on_gpu:
            reason = why_missing(engine) or engine.refusal(entry, options) or "it does not take this launch"
            words.append(f"{engine.name}: {reason}")
    return "; ".join([*words, "copy the arrays to the host first (tensor.cpu(), cupy.asnumpy(x)) to run it here"])


def require(engine: Backend) -> None:
    """Refuse an engine that cannot work here, with its own reason; most can be installed, a GPU cannot."""
    missing = why_missing(engine)
    if not missing:
        return
    instead = f", or choose {INSTEAD}"
    if engine.on_gpu:
        name = next(each.name for each in _BUILT_IN.values() if not each.on_gpu and not why_missing(each))
        instead = f"; '{name}' can: backend='{name}', or --backend {name}"
    raise MissingDependencyError(f"{engine.called} cannot work here: {missing}{instead}")


def _entry_points() -> Iterable[EntryPoint]:
    # Imported here: it takes as long as a third of NumPy.
    from importlib.metadata import entry_points

    return entry_points(group=ENTRY_POINTS)


def _loaded(point: EntryPoint) -> Backend:
    """The engine of an entry point, which names an instance, or a class or function that makes one."""
    if point.name in _installed:
        return _installed[point.name]
    try:
        found = point.load()
        engine = found if isinstance(found, Backend) else found()
        if engine.name != point.name:
            raise LaunchError(f"it is named '{engine.name}' there")
        _check(engine)
    except (Exception, SystemExit) as error:
        # A module that ends the process when it is imported must not end this one.
        words = error.message if isinstance(error, LaunchError) else f"{type(error).__name__}: {error}"
        raise LaunchError(f"the backend '{point.name}' of {point.value} cannot be loaded: {words}") from error
    # Two threads may load it at once: both use the one that was there first.
    return _installed.setdefault(point.name, engine)


def why_missing(engine: Backend) -> str:
    """Why an engine cannot work here; empty if it can.  An engine of another package that raises here cannot."""
    if is_own(engine):
        # What comes out of these is no failure of theirs: a handler of a signal raised it, an alarm for example.
        return engine.missing()
    try:
        return engine.missing()
    except Exception as error:
        # Code of another package, or a package that is installed and broken.
        return f"{type(error).__name__}: {error}"


def is_own(engine: Backend) -> bool:
    """Whether an engine is one of tileir's, whose failures are its own errors."""
    return engine is _BUILT_IN.get(engine.name) or engine is _CHOICE
