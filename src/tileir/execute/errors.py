"""Errors of launches and running programs."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable
from types import FrameType
from typing import Final, NoReturn, ParamSpec, TypeVar

from tileir.execute.locations.source_locations import location_notes, user_location, with_source
from tileir.ir.core import Operation
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.diagnostics import Code, Diagnostic, OptionError, TileIRError, help_note, note, source_of
from tileir.ir.location import UNKNOWN

BlockId = tuple[int, int, int]

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


class LaunchError(TileIRError):
    """A launch is not possible as requested; the message names what to change."""

    def __init__(self, message: str, code: Code | None = None) -> None:
        TileIRError.__init__(self, [Diagnostic("error", message, UNKNOWN, None, code)])


def why_not_executed(declaration: OperationDeclaration) -> str:
    """Why no backend runs an operation that a kernel may have; empty if backends do."""
    from tileir.dialect.ops import PREVIEW_CALL

    return "it calls a function that is not in the program" if declaration is PREVIEW_CALL else ""


def why_not_on_gpu(declaration: OperationDeclaration) -> str:
    """Why no kernel on a GPU has an operation that the backends for the host run; empty if there is no reason."""
    if is_multimem(declaration):
        return "it accesses the memory of several devices, which the interpreter and the CPU backend emulate"
    return why_not_executed(declaration)


def is_multimem(declaration: OperationDeclaration) -> bool:
    from tileir.dialect.ops import MULTIMEM_LOAD_REDUCE_VIEW_TKO, MULTIMEM_REDUCE_VIEW_TKO, MULTIMEM_STORE_VIEW_TKO

    return declaration in (MULTIMEM_LOAD_REDUCE_VIEW_TKO, MULTIMEM_REDUCE_VIEW_TKO, MULTIMEM_STORE_VIEW_TKO)


def cannot_run(backend: str, operation: Operation) -> LaunchError:
    """The refusal of an operation that a backend has no code for."""
    reason = why_not_executed(operation.declaration) or "it is no operation of a kernel"
    return LaunchError(f"{backend} cannot run '{operation.name}': {reason}")


class ChoiceError(LaunchError, OptionError):
    """A name of a kernel, backend, schedule or stage does not exist; the message lists those that do."""


class WrongDeviceError(LaunchError):
    """An array is in the memory of another device than the one the kernel runs on."""


class HostCopyWarning(UserWarning):
    """Arrays of the host were given to a kernel on a GPU, and are copied there and back in each launch."""

    __module__ = "tileir.errors"


class AssemblerWarning(UserWarning):
    """A kernel compiled for a GPU draws a remark of NVIDIA's assembler, or runs out of registers."""

    __module__ = "tileir.errors"


class NestingError(LaunchError):
    """The program is nested more deeply than Python's recursion limit allows."""

    def __init__(self) -> None:
        super().__init__(
            "the program is nested too deeply for Python: raise sys.setrecursionlimit or flatten its regions"
        )


INSTEAD: Final = "the interpreter: backend='interpreter', or --backend interpreter"
"""What to choose where an engine is missing, in Python and on the command line."""


class MissingDependencyError(LaunchError):
    """An optional dependency is not installed; the message contains the command that installs it."""


def placeholder(module: str, name: str, missing: MissingDependencyError) -> object:
    """Stands for a public name whose package is missing: a function or class that raises the reason when called."""
    message = missing.message

    def refuse(*arguments: object, **options: object) -> NoReturn:
        raise MissingDependencyError(message)

    refuse.__name__ = refuse.__qualname__ = name
    refuse.__doc__ = f"Not available here: {message}"
    refuse.__module__ = module
    if not name[0].isupper():
        return refuse
    return type(name, (), {"__new__": refuse, "__doc__": refuse.__doc__, "__module__": module})


class EmulationError(LaunchError):
    """Something that only a real GPU has was requested of an emulated one; the message names it."""

    def __init__(self, name: str, advice: str) -> None:
        super().__init__(f"{name} cannot be had on the CUDA device that tileir.emulate provides: {advice}")
        self.name: str = name


class CompilationError(LaunchError):
    """Native code for a kernel cannot be generated or loaded."""


class SearchTimeout(LaunchError):
    """Every trial launch of a program with random arguments took too long."""


class RecordingError(TileIRError):
    """A file is no recording of a launch, or a damaged one."""

    def __init__(self, message: str) -> None:
        super().__init__([Diagnostic("error", message, UNKNOWN)])


class InternalError(TileIRError):
    """A bug in tileir; `__cause__` is the exception that revealed it."""

    def __init__(self, error: Exception) -> None:
        words = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        message = f"internal error in tileir ({words}): please report it with the program"
        super().__init__([Diagnostic("error", message, UNKNOWN)])


def converted(error: Exception) -> TileIRError:
    """What a launch ends in if its code raises what users should not see; what a signal handler raised goes on."""
    if isinstance(error, TileIRError):
        return error
    if _is_of_signal_handler(error):
        raise error
    if isinstance(error, RecursionError):
        return NestingError()
    if isinstance(error, MemoryError):
        return LaunchError("the launch needs more memory than is available", Code("out-of-memory"))
    return InternalError(error)


def raise_if_interrupted(module: str, name: str) -> None:
    """Refuse a signal handler that interrupts the import of a module on its own thread: `name` is not there yet."""
    half = sys.modules.get(module)
    if half is not None and not hasattr(half, name):
        raise LaunchError("this signal handler interrupts the loading of the CPU backend, and cannot use it") from None


def _is_of_signal_handler(error: Exception) -> bool:
    import signal
    import traceback

    handlers = {getattr(signal.getsignal(number), "__code__", None) for number in signal.valid_signals()} - {None}
    return any(frame.f_code in handlers for frame, _ in traceback.walk_tb(error.__traceback__))


class Callbacks:
    """Functions of the caller's, and what they raised: that reaches the caller as it is."""

    def __init__(self) -> None:
        self.raised: list[BaseException] = []

    def noted(self, function: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
        def call(*arguments: _Arguments.args, **options: _Arguments.kwargs) -> _Result:
            try:
                return function(*arguments, **options)
            except BaseException as error:
                self.raised.append(error)
                raise

        return call


class ExecutionError(TileIRError):
    """A tile block did something invalid; carries the operation, the block and the numbers in the message."""

    def __init__(
        self,
        message: str,
        operation: Operation,
        block: BlockId | None = None,
        numbers: tuple[int, ...] = (),
        is_outside: bool = False,
    ) -> None:
        super().__init__([_diagnostic(message, operation, block, is_in_script=True, is_outside=is_outside)])
        self.message: str = message
        self.operation: Operation = operation
        self.block: BlockId | None = block
        self.numbers: tuple[int, ...] = numbers

    def tell_as_tile_program(self) -> None:
        """Speak of the operation and its text, also where a script is at hand whose words are there by default."""
        self.diagnostics[:] = [_diagnostic(self.message, self.operation, self.block, is_in_script=False)]


def _diagnostic(
    message: str, operation: Operation, block: BlockId | None, *, is_in_script: bool, is_outside: bool = False
) -> Diagnostic:
    location, notes = user_location(operation.location), location_notes(operation.location)
    shown = with_source(location)
    if block is not None:
        notes.append(note(f"in tile block ({block[0]}, {block[1]}, {block[2]})", UNKNOWN))
    plain = Diagnostic("error", f"'{operation.name}' op {message}", shown, notes)
    # Where the source is at hand, its line is shown anyway.
    if source_of(location) is not None:
        return plain
    if is_in_script:
        # Imported here: few programs go wrong, and what reads scripts takes a while to load.
        from tileir.execute.locations.script import UNCHECKED_HINT, ScriptMessages

        words = ScriptMessages()
        if words.expression(operation) is not None:
            if is_outside and words.is_unchecked(operation):
                notes.append(help_note(UNCHECKED_HINT))
            text = f"{words.subject(operation)} {words.said(message, operation)}"
            return Diagnostic("error", text, shown, notes)
    if not operation.regions:
        notes.append(note(f"the operation is: {operation.text()}", UNKNOWN))
    return plain


class AssertionFailedError(ExecutionError):
    """An `assert` of the program failed; this stops the tile block and the launch."""


_PACKAGE: Final = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "")
GENERATED: Final = "<generated>"  # The file of functions that are written for a kernel (`binder.py`).
_BETWEEN: Final = frozenset(("torch", "jax", "jaxlib", "importlib", "contextlib"))
"""Packages that call this one for the user: torch launches its operators, importlib imports torch."""


def warn_caller(message: str, category: type[Warning]) -> None:
    """Warn, as `warnings.warn` does, at the innermost line that is neither of this package nor of those between."""
    frame = inner = sys._getframe(1)
    while _is_between(frame):
        if frame.f_back is None:
            # All of the process is ours, as that of the command line is: where the warning was found.
            frame = inner
            break
        frame = frame.f_back
    names, place = frame.f_globals, (frame.f_code.co_filename, frame.f_lineno)
    registry = names.setdefault("__warningregistry__", {})
    warnings.warn_explicit(message, category, *place, names.get("__name__") or "<string>", registry)


def _is_between(frame: FrameType) -> bool:
    file = frame.f_code.co_filename
    if file == GENERATED or file.startswith(_PACKAGE):
        return True
    return str(frame.f_globals.get("__name__", "")).partition(".")[0] in _BETWEEN
