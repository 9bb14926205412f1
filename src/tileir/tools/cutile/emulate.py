"""`tileir emulate`: run a script or module as Python does, with its GPU emulated."""

from __future__ import annotations

import gc
import io
import os
import sys
from errno import ENOENT
from typing import TYPE_CHECKING, Any, NoReturn

from tileir.bridge.process import begin, check_gpu
from tileir.bridge.settings import OPTIONS, InvalidSettings, Settings, settings_of
from tileir.cpp import is_cpp
from tileir.tools.arguments import (
    EXIT_FINE,
    EXIT_INTERRUPTED,
    EXIT_USAGE,
    Arguments,
    Option,
    ToolFailure,
    Usage,
    UsageFailure,
)
from tileir.tools.command import complain, refusing
from tileir.tools.options import BACKEND, EXACT, FAST, NAMES, SANITIZE, TARGET, WATCH_NAN

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import CodeType

    from tileir.bridge.contexts import Watcher
    from tileir.bridge.process import Process

USAGE = Usage(
    "tileir emulate",
    "SCRIPT|PROGRAM|-m MODULE|-c CODE [ARGUMENTS..]",
    (
        "tileir emulate examples/cutile_script.py --rows 8",
        "tileir emulate --sanitize --target b200 examples/cutile_script.py",
    ),
    (
        BACKEND,
        TARGET.with_help("the GPU that the program sees, as h100 or sm_90 (default: h100)"),
        SANITIZE,
        WATCH_NAN,
        Option(f"--trace {OPTIONS['trace']}", "print each value that one tile block computes, on standard error"),
        NAMES,
        Option("--pdb", "open Python's debugger at the first failed launch, finding or uncaught exception"),
        EXACT,
        FAST,
        Option("-m MODULE", "run a module, as python -m does"),
        Option("-c CODE", "run a string, as python -c does"),
    ),
    """\
Everything after SCRIPT, PROGRAM, MODULE or CODE is passed to the program. SCRIPT may be a directory with a
__main__.py, a zip file, or '-' for standard input. PROGRAM is a compiled program that launches kernels through the CUDA
driver; it runs on Linux. TILEIR_EMULATE=1 in the environment of any Python does the same for scripts, and so does
TILEIR_EMULATE="sanitize target=b200" with options. Processes that the program starts are emulated as well.

The exit status is that of the program. With --sanitize or --watch-nan, every launch runs to its end, its findings are
written to standard error, and the program continues; a successful program then exits with 1 if there were any.""",
    statuses={0: "", 1: "", 2: "the command line is wrong; otherwise that of the program"},
    least=0,
    most=-1,
    rest_after=("m", "c"),
)


def run(arguments: list[str]) -> int:
    try:
        given = USAGE.parse(arguments)
        if given is None:
            return EXIT_FINE
        settings = settings_of([(name, value or None) for name, value in given.sequence if name in OPTIONS])
        if settings.backend != "auto":
            from tileir.execute.engine.registry import find_engine

            with refusing():
                find_engine(settings.backend)
        check_gpu(settings)
        if given.operands and not given.options.keys() & {"m", "c"} and _is_compiled(given.operands[0]):
            return _run_program(given.operands, settings)
        work = program_of(given.options, given.operands)
    except (InvalidSettings, ToolFailure) as error:
        complain(Arguments(USAGE.program), UsageFailure(str(error), help=getattr(error, "help", "")))
        return EXIT_USAGE
    perform(begin(settings), work)
    return EXIT_FINE


def _is_compiled(path: str) -> bool:
    """Whether a path is that of a compiled program, not of a script."""
    try:
        with open(path, "rb") as file:
            return file.read(4) == b"\x7fELF"
    except OSError:
        return False


def _run_program(command: list[str], settings: Settings) -> int:
    # Imported here: few run compiled programs, and NumPy takes longer to load than a script's first lines.
    from tileir.bridge.native.program import run_program

    if settings.pdb:
        raise InvalidSettings("--pdb is for Python programs")
    with refusing():
        return run_program(command, settings)


def run_script(operands: list[str], watcher: Watcher) -> int:
    """Run a script with a watcher that is given its launches; the exit status of the script."""
    try:
        work = program_of({}, operands)
    except InvalidSettings as error:
        raise ToolFailure(str(error)) from None
    gc.enable()
    process = begin(Settings(), watcher=watcher)
    try:
        perform(process, work)
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except BaseException:
        # It is shown, as Python would.
        pass
    return process.status


def program_of(options: dict[str, str], operands: list[str]) -> Callable[[], None]:
    """What runs the program: `sys.argv` and `sys.path[0]` are as Python makes them."""
    if "m" in options:
        # `_run_module_as_main` replaces the first argument by the module's file.
        return lambda: _run_module(options["m"], ["-m", *operands], os.getcwd())
    if "c" in options:
        return lambda: _run_code(lambda: compile(options["c"], "<string>", "exec"), None, ["-c", *operands])
    if not operands:
        raise InvalidSettings("expected SCRIPT, PROGRAM, -m MODULE or -c CODE")
    script = operands[0]
    if script == "-":
        return lambda: _run_code(lambda: compile(sys.stdin.read(), "<stdin>", "exec"), None, operands)
    if os.path.isdir(script) or script.endswith((".zip", ".pyz")):
        return lambda: _run_module("__main__", operands, script, False)
    if not os.path.exists(script):
        raise InvalidSettings(f"cannot read '{script}': {os.strerror(ENOENT)}")
    if is_cpp(script):
        raise InvalidSettings(f"'{script}' is a C++ source: 'tileir run {script}' runs its kernels")

    def compiled() -> CodeType:
        # The encoding may be declared in the file.
        with io.open_code(os.path.abspath(script)) as file:
            return compile(file.read(), script, "exec")

    return lambda: _run_code(compiled, script, operands)


def _begin_main(arguments: list[str], folder: str) -> Any:
    """The module `__main__`, as empty as that of a new Python, with its arguments and the folder of the program."""
    import builtins
    from types import ModuleType

    module: Any = ModuleType("__main__")
    module.__builtins__ = builtins
    sys.modules["__main__"] = module
    sys.argv[:] = arguments
    if not getattr(sys.flags, "safe_path", False):
        # Replaces the directory of the `tileir` script.
        sys.path[0] = folder
    return module


def _run_code(code: Callable[[], CodeType], path: str | None, arguments: list[str]) -> None:
    module = _begin_main(arguments, "" if path is None else os.path.dirname(os.path.realpath(path)))
    if path is not None:
        from importlib.machinery import SourceFileLoader

        module.__file__ = path
        module.__cached__ = None
        module.__loader__ = SourceFileLoader("__main__", path)
    exec(code(), module.__dict__)


def _run_module(name: str, arguments: list[str], folder: str, *options: bool) -> None:
    import runpy

    _begin_main(arguments, folder)
    run_as_main: Any = getattr(runpy, "_run_module_as_main")  # noqa: B009
    run_as_main(name, *options)


def perform(process: Process, work: Callable[[], None]) -> None:
    """Run the program; what it raises is shown as Python would, and ends the process as it would."""
    try:
        work()
    except SystemExit as end:
        process.status = end.code if isinstance(end.code, int) else int(end.code is not None)
        raise
    except BaseException as error:
        process.status = 1
        _show(error)


def _show(error: BaseException) -> NoReturn:
    """Show an error with a traceback without this file and what runs modules."""
    place = error.__traceback__
    while place is not None:
        file = place.tb_frame.f_code.co_filename
        if file not in (__file__, "<frozen runpy>") and not file.endswith("runpy.py"):
            break
        place = place.tb_next
    sys.excepthook(type(error), error.with_traceback(place), place)
    # Shown: Python still ends as it does for this error, by the signal where it was an interrupt.
    sys.excepthook = lambda *_: None
    raise error
