"""A command as a function and as a process: whatever ends it early becomes a message and an exit status."""

from __future__ import annotations

import io
import os
import sys

from tileir.annotations import TYPE_CHECKING, Callable
from tileir.ir.diagnostics import Diagnostic, OptionError, TileIRError, help_note, render_all, source_of
from tileir.ir.location import UNKNOWN
from tileir.ir.quoting import harmless
from tileir.tools.arguments import (
    EXIT_BROKEN_PIPE,
    EXIT_FINE,
    EXIT_INTERRUPTED,
    EXIT_USAGE,
    EXIT_WRONG_INPUT,
    Arguments,
    ToolFailure,
    Usage,
    UsageFailure,
)

if TYPE_CHECKING:
    from typing import NoReturn, TextIO


def command(usage: Usage) -> Callable[[Callable[[Arguments], int | None]], Callable[[list[str]], int]]:
    """Decorate what a command does with its arguments: the result takes a command line, and never raises for users."""

    def decorate(work: Callable[[Arguments], int | None]) -> Callable[[list[str]], int]:
        def run(words: list[str]) -> int:
            def read_and_work() -> int | None:
                given = usage.parse(words)
                return None if given is None else finish(given, lambda: work(given))

            return finish(Arguments(usage.program), read_and_work)

        return run

    return decorate


def finish(given: Arguments, work: Callable[[], int | None]) -> int:
    """The exit status of some work, `None` for success; what ends it early becomes a message, never a traceback."""
    try:
        return work() or EXIT_FINE
    except ToolFailure as failure:
        complain(given, failure)
        return failure.status
    except OptionError as error:
        print_diagnostics(error.diagnostics, given)
        return EXIT_USAGE
    except TileIRError as error:
        print_diagnostics(error.diagnostics, given)
    except ModuleNotFoundError as error:
        print_diagnostics(_missing(error).diagnostics, given)
    return EXIT_WRONG_INPUT


def complain(given: Arguments, failure: ToolFailure) -> None:
    """Print the message of a failure, after what was printed before."""
    if failure.message:
        sys.stdout.flush()
        if given.program.startswith("tileir-"):
            # In place of LLVM's tools, in their style.
            hint = f"\nTry '{given.program} --help'." if isinstance(failure, UsageFailure) else ""
            words = "; ".join([text for text in (failure.message, failure.help) if text])
            print(f"{given.program}: {harmless(words)}{hint}", file=sys.stderr)
            return
        usage = f"'{given.program} --help' shows the options" if isinstance(failure, UsageFailure) else ""
        notes = [help_note(text) for text in (failure.help, usage) if text]
        print_diagnostics([Diagnostic("error", harmless(failure.message), UNKNOWN, notes)], given)


def for_each_file(given: Arguments, work: Callable[[str], int | None]) -> int:
    """Do some work for each file, also after one that fails; the worst status."""
    return max(map(lambda path: finish(given, lambda: work(path)), given.operands))


def print_diagnostics(diagnostics: list[Diagnostic], given: Arguments) -> None:
    """Print diagnostics for people, on standard error."""
    if not diagnostics:
        return
    with_suggestions(diagnostics, given)
    # A file may have any name: one with apostrophes could end its own quotes.
    if not any("': " in word for word in (*given.operands, *given.options.values())):
        for each in diagnostics:
            _split_advice(each)
    print(render_all(diagnostics, paint=painter(given, sys.stderr)), file=sys.stderr)


_ADVICE = (
    "add|call|choose|compile with|give|install|keep|launch|leave|make|move|name|pass|pip install|put|raise|set|start"
    "|state|try|use|write"
)


def _split_advice(diagnostic: Diagnostic) -> None:
    """Show what to do as help: messages without a position are 'what is wrong: what to do', as exceptions show them."""
    if diagnostic.severity != "error" or diagnostic.location is not UNKNOWN:
        return
    # Imported here: only failures need it.
    import re

    message = diagnostic.message
    # "pass 'cse' is registered twice" is no advice.
    advice = rf"(?:{_ADVICE})\b(?! '[^']*' (?:is|has|fails|cannot)\b)"
    for colon in re.finditer(rf": (?={advice}.)", message):
        before = message[: colon.start()]
        # What stands in quotes may come from a file, and is no advice.  An apostrophe stands between letters.
        if re.match(r"\S+ .", before) and len(re.findall(r"(?<!\w)'|'(?!\w)", before)) % 2 == 0:
            diagnostic.message = before
            diagnostic.notes.insert(0, help_note(message[colon.end() :]))
            return


def painter(given: Arguments, stream: TextIO) -> Callable[[str, str], str] | None:
    """What colors a text by its kind for a stream that has colors."""
    if not given.wants_color(stream):
        return None
    from tileir.terminal import paint

    return paint


def with_suggestions(diagnostics: list[Diagnostic], given: Arguments) -> None:
    """Add to findings what the tools know beyond the message: close names, versions, changes that remove them."""
    # Imported here: correct programs have no use for it.
    for diagnostic in diagnostics:
        if diagnostic.code and diagnostic.severity == "error":
            from tileir.analyze.suggestions import suggest

            suggest(diagnostic)
    if any(source_of(each.location) and (each.code or each.severity == "remark") for each in diagnostics):
        from tileir.ir.versions import NEWEST_NAME, version_named
        from tileir.serve.language.editing.quick_fixes import add_help
        from tileir.serve.language.settings import Settings

        add_help(diagnostics, Settings(version_named(given.value("dialect-version", NEWEST_NAME))))


def reason(error: Exception) -> str:
    """The operating system's words, without Python's error number."""
    return error.strerror if isinstance(error, OSError) and error.strerror else str(error)


SYSTEM = (OSError, ValueError)
"""Errors of files: those of the system, and Python's for a name that contains NUL."""


class refusing:
    """A block in which errors are failures of the command line; `before` begins their messages."""

    def __init__(self, before: str = "", kinds: type[Exception] | tuple[type[Exception], ...] = TileIRError) -> None:
        self._before = before
        self._kinds = kinds

    def __enter__(self) -> None:
        pass

    def __exit__(self, _: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, self._kinds) and not isinstance(error, BrokenPipeError):
            message, help = (error.message, error.help) if isinstance(error, TileIRError) else (reason(error), "")
            raise ToolFailure(f"{self._before}{message}", help=help) from None


def _missing(error: ModuleNotFoundError) -> TileIRError:
    """The message about a package that running programs needs; any other missing module is a defect of tileir."""
    if (error.name or "").partition(".")[0] in ("numpy", "ml_dtypes"):
        try:
            need_packages()
        except TileIRError as missing:
            return missing
    raise error


def need_packages() -> None:
    """Raise an error that names what to install if a package that running a kernel needs is missing."""
    __import__("tileir.execute.launching.kernel")


def stay(*, interruptible: bool = False) -> None:
    """Prepare a process that runs on for long: garbage is collected, and signals end it as Ctrl-C does on request."""
    import gc
    import signal

    gc.freeze()
    gc.enable()

    def end(*_: object) -> NoReturn:
        raise KeyboardInterrupt

    for name in ("SIGTERM", "SIGHUP") if interruptible else ():
        # nohup has it ignored.
        if hasattr(signal, name) and signal.getsignal(getattr(signal, name)) is not signal.SIG_IGN:
            signal.signal(getattr(signal, name), end)


# --- the process ---


def run_process(name: str, tool: Callable[[list[str]], int], arguments: list[str]) -> int:
    """Run a tool as a whole process, with the standard streams made fit for any program text."""
    _open_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="surrogateescape", newline="\n")
    return end_of_process(name, lambda: finish(Arguments(name), lambda: tool(arguments)))


def end_of_process(name: str, work: Callable[[], int]) -> int:
    """The exit status of a process that does some work, with its streams flushed."""
    status = EXIT_WRONG_INPUT
    try:
        status = work()
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader of the output has gone, and needs no message.
        _silence(sys.stdout)
        status = EXIT_BROKEN_PIPE
    except OSError as error:
        # Failures of files have their own messages: this is a standard stream.
        status = EXIT_USAGE
        _silence(sys.stdout)
        _print_last(f"error: cannot write to standard output: {reason(error)}")
    except KeyboardInterrupt:
        status = EXIT_INTERRUPTED
    _print_last("")
    return status


def _open_closed_streams() -> None:
    """Make closed standard streams fail when they are written to, and keep files from getting their numbers."""
    if sys.stdin is not None and sys.stdout is not None and sys.stderr is not None:
        return
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            # The lowest number that is free, so this one.  Nobody reads from it, and it cannot be written to.
            os.open(os.devnull, os.O_RDONLY)
    if sys.stdout is None:
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    if sys.stderr is None:
        # Without standard error, messages are dropped; that is no reason to fail.
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115


def _print_last(message: str) -> None:
    try:
        if message:
            print(message, file=sys.stderr)
        sys.stderr.flush()
    except OSError:
        _silence(sys.stderr)


def _silence(stream: TextIO) -> None:
    """Let a stream that takes no more lose what it still holds: Python would complain when it closes it."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    except (OSError, ValueError):
        pass
