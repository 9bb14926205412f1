"""`tileir info`: what is installed and which backends can work here, or what is in a program."""

from __future__ import annotations

import json
import platform
import sys
from typing import TYPE_CHECKING, Any

from tileir.analyze.program_facts import facts_text, file_facts, program_facts
from tileir.ir.quoting import harmless, harmless_line
from tileir.tools.arguments import EXIT_FINE, EXIT_WRONG_INPUT, Arguments, Usage
from tileir.tools.command import command, for_each_file, print_diagnostics
from tileir.tools.input import BYTECODE, Program, name_of, read_programs
from tileir.tools.main import identity_text
from tileir.tools.options import JSON, READING, SCRIPT

if TYPE_CHECKING:
    from tileir.execute.engine.interface import Backend

USAGE = Usage(
    "tileir info",
    "[FILE|SCRIPT.py...]",
    ("tileir info", "tileir info --json examples/matmul.mlir"),
    (JSON.with_help("print one JSON object per line: for each file, or for this installation"), *READING),
    f"""\
For a program, text or bytecode: kernels with the types of their parameters, globals, the number of operations of each
kind, constants, debug information, the first version of the dialect that has all of it, and for bytecode also its
version, layout and sections. {SCRIPT} Its kernels are then shown.
Without FILE: the backends, and why one is not available; and what confines programs that are judged
('tileir docs judging'). FILE may be '-' for standard input.""",
)


@command(USAGE)
def run(given: Arguments) -> int:
    if not given.operands:
        found = _installation()
        print(json.dumps(found) if given.has("json") else "\n".join(_installation_lines(found)))
        return EXIT_FINE
    shown: list[str] = []

    def show(path: str) -> int:
        status = EXIT_FINE
        for program in read_programs(path, given):
            if shown and not given.has("json"):
                print()
            shown.append(path)
            status = max(status, _show_facts(name_of(path), program, given))
        return status

    return for_each_file(given, show)


def _show_facts(name: str, program: Program, given: Arguments) -> int:
    facts = file_facts(name, program.data)
    if program.module is not None:
        facts.update(program_facts(program.module))
    if given.has("json"):
        print(json.dumps(facts))
    elif program.module is not None or facts["kind"] == BYTECODE:
        print(harmless(facts_text(facts), keep="\n"))
    sys.stdout.flush()
    print_diagnostics([diagnostic for diagnostic in program.diagnostics if diagnostic.severity == "error"], given)
    return EXIT_WRONG_INPUT if program.module is None else EXIT_FINE


def _installation() -> dict[str, Any]:
    from tileir import __version__
    from tileir.execute.engine.registry import all_engines, gpu_choice_words
    from tileir.ir import core
    from tileir.ir.versions import RELEASED_NAME
    from tileir.processes.sandbox import in_force

    engines, failures = all_engines()
    failed = {name: {"summary": "", "missing": reason, "facts": {}} for name, reason in failures.items()}
    return {
        "version": __version__,
        "dialect": RELEASED_NAME,
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}",
        "build": "compiled" if str(core.__file__).endswith((".so", ".pyd")) else "pure Python",
        "backends": {engine.name: _engine(engine) for engine in engines} | failed,
        "auto": {"gpu": gpu_choice_words()},
        "confinement": in_force(),
    }


def _engine(engine: Backend) -> dict[str, Any]:
    """The facts of a backend, and why it cannot run here."""
    from tileir.execute.engine.registry import why_missing

    missing = why_missing(engine)
    facts: dict[str, str] = {}
    try:
        facts = {name: str(what) for name, what in engine.facts().items()}
    except Exception as error:
        # What it needs is missing; somebody else's code; or a package that is installed and broken.
        missing = missing or f"{type(error).__name__}: {error}"
    return {"summary": engine.summary or engine.called, "missing": missing or None, "facts": facts}


def _installation_lines(found: dict[str, Any]) -> list[str]:
    lines = [identity_text(), f"Python {found['python']}, {found['machine']} ({sys.executable})"]
    lines += [f"the reading, checking and printing of programs is {found['build']}", "", "backends:"]
    width = max([len(name) for name in found["backends"]])
    for name, engine in found["backends"].items():
        # A plugin that cannot be loaded has no summary.
        cannot = "cannot work here: " if engine["summary"] else ""
        texts = [engine["summary"], f"{cannot}{engine['missing'] or ''}" if engine["missing"] else ""]
        texts = [text for text in texts if text] + [f"{fact}: {what}" for fact, what in engine["facts"].items()]
        for number, text in enumerate(texts):
            lines.append(f"  {'' if number else harmless_line(name):{width}}  {harmless_line(text)}")
    lines += [f"  {'auto':{width}}  {harmless_line('on a GPU: ' + found['auto']['gpu'])}", ""]
    lines.append("programs that are judged are confined by:")
    return [*lines, *[f"  {name}: {what}" for name, what in found["confinement"].items()]]
