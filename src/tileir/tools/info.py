"""`tileir info`: what is installed and which engines can work here, or what is in a program."""

from __future__ import annotations

import platform
import sys
from typing import TYPE_CHECKING, Any

from tileir.ir.quoting import harmless, harmless_line
from tileir.tools.arguments import COLOR, EXIT_FINE, EXIT_WRONG_INPUT, Arguments, Option, ToolFailure, Usage
from tileir.tools.programs import (
    BYTECODE,
    READING_OPTIONS,
    SCRIPT,
    STANDARD_INPUT,
    Program,
    Settings,
    guarded,
    is_script,
    program_in,
    read_bytes,
    read_programs,
    tell,
)

if TYPE_CHECKING:
    from tileir.execute.engine.interface import Engine

USAGE = Usage(
    "tileir info",
    "Shows what is in a program; without one, versions and the engines that --backend and backend= accept.",
    "[FILE|SCRIPT.py...]",
    (
        Option("json", "print one JSON object per line: for each file, or for this installation"),
        COLOR,
        *READING_OPTIONS,
    ),
    least=0,
    most=-1,
    details=f"""\
{SCRIPT} Its kernels are then shown.

For a program, text or bytecode: kernels with the types of their parameters, globals, the number of operations of each
kind, constants, debug information, the first version of the dialect that has all of it, and for bytecode also its
version, layout and sections. Without FILE: the engines, and why one is not available; and what confines programs that
are judged ('tileir docs judging').

FILE may be '-' for standard input. Exit status: 0 fine, 1 a program has errors, 2 the command line is wrong or a file
cannot be read.""",
)


def run(arguments: list[str]) -> int:
    return guarded("tileir info", _run, arguments)


def _run(arguments: list[str]) -> int:
    given = USAGE.read(arguments)
    if given.status is not None:
        return given.status
    if not given.operands:
        _show_installation(given.has("json"))
        return EXIT_FINE
    settings = Settings(given)
    status = EXIT_FINE
    for number, path in enumerate(given.operands):
        if number and not given.has("json"):
            print()
        try:
            status = max(status, _show_program(path, settings, given))
        except ToolFailure as failure:
            # The other files are shown all the same.
            sys.stdout.flush()
            print(f"tileir info: {harmless(failure.message)}", file=sys.stderr)
            status = max(status, failure.status)
    return status


def _show_program(path: str, settings: Settings, given: Arguments) -> int:
    if is_script(path):
        status = EXIT_FINE
        for number, program in enumerate(read_programs(path, settings)):
            if number and not given.has("json"):
                print()
            assert program.launch is not None
            status = max(status, _show_facts(path, program.launch.data, program, given))
        return status
    data = read_bytes(path)
    name = STANDARD_INPUT if path == "-" else path
    return _show_facts(name, data, program_in(data, name, settings), given)


def _show_facts(name: str, data: bytes, program: Program, given: Arguments) -> int:
    # Imported here: who asks for the version only has no use for programs.
    from tileir.tools.program_info import facts_text, file_facts, program_facts

    facts = file_facts(name, data)
    if program.module is not None:
        facts.update(program_facts(program.module))
    if given.has("json"):
        _print_json(facts)
    elif program.module is not None or facts["kind"] == BYTECODE:
        print(facts_text(facts))
    sys.stdout.flush()
    tell([diagnostic for diagnostic in program.diagnostics if diagnostic.severity == "error"], given)
    return EXIT_WRONG_INPUT if program.module is None else EXIT_FINE


def _print_json(facts: dict[str, Any]) -> None:
    import json

    print(json.dumps(facts))


# --- this installation ---


def _show_installation(as_json: bool) -> None:
    from tileir.execute.engine.registry import all_engines, gpu_choice_words

    engines, failures = all_engines()
    if as_json:
        _print_json(_installation(engines, failures))
        return
    print(identity_text())
    print(f"Python {platform.python_version()}, {platform.system()} {platform.machine()} ({sys.executable})")
    print(f"the reading, checking and printing of programs is {_build()}")
    print("\nengines:")
    width = max([len(name) for name in [*failures, *[engine.name for engine in engines]]])
    for engine in engines:
        print(f"  {engine.name:{width}}  {harmless_line(engine.summary or engine.called)}")
        missing, facts = _state(engine)
        if missing:
            print(f"  {'':{width}}  {harmless_line(f'cannot work here: {missing}')}")
        for name, what in facts.items():
            print(f"  {'':{width}}  {harmless_line(f'{name}: {what}')}")
    for name, reason in failures.items():
        print(f"  {harmless_line(name):{width}}  {harmless_line(reason)}")
    print(f"  {'auto':{width}}  {harmless_line(f'on a GPU: {gpu_choice_words()}')}")
    print("\nprograms that are judged are confined by:")
    for name, what in _confinement().items():
        print(f"  {name}: {what}")


def _installation(engines: list[Engine], failures: dict[str, str]) -> dict[str, Any]:
    from tileir import __version__
    from tileir.execute.engine.registry import gpu_choice_words
    from tileir.ir.versions import NEWEST_NAME

    found: dict[str, Any] = {name: {"summary": "", "missing": reason, "facts": {}} for name, reason in failures.items()}
    for engine in engines:
        missing, facts = _state(engine)
        found[engine.name] = {
            "summary": engine.summary or engine.called,
            "missing": missing or None,
            "facts": {name: str(what) for name, what in facts.items()},
        }
    return {
        "version": __version__,
        "dialect": NEWEST_NAME,
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}",
        "build": _build(),
        "engines": found,
        "auto": {"gpu": gpu_choice_words()},
        "confinement": _confinement(),
    }


def _build() -> str:
    """How this tileir was built (hatch_build.py)."""
    from tileir.ir import core

    return "compiled" if str(core.__file__).endswith((".so", ".pyd")) else "pure Python"


def _confinement() -> dict[str, str]:
    from tileir.processes.sandbox import in_force

    return in_force()


def identity_text() -> str:
    """Which tileir this is."""
    from tileir import __version__
    from tileir.ir.versions import NEWEST_NAME

    return f"tileir {__version__} (CUDA Tile IR {NEWEST_NAME})"


def _state(engine: Engine) -> tuple[str, dict[str, Any]]:
    """Why an engine cannot work here, and what it says of itself."""
    from tileir.execute.engine.registry import why_missing

    missing = why_missing(engine)
    try:
        return missing, dict(engine.facts())
    except Exception as error:
        # What it needs is missing; somebody else's code; or a package that is installed and broken.
        return missing or f"{type(error).__name__}: {error}", {}
