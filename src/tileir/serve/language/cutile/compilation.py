"""Compiles the kernels of a script for the launches that it states, in a child process.

Importing a script runs it: this happens only if the user allows it (`cutile.compile` in the settings of the editor),
when the file is saved, and never in the process of the server.  The child has limits of time and memory, no input, and
its output is discarded.  It is not confined: it may do what the script does.

The child runs this module: it reads a request as JSON, and writes its answer as JSON to its standard output.
"""

from __future__ import annotations

import importlib.util
import json
import linecache
import os
import sys
import traceback
from dataclasses import asdict, dataclass, field
from typing import Any

from tileir.execute.locations.python_source import character_column
from tileir.ir.diagnostics import TileIRError
from tileir.processes.command import communicate
from tileir.processes.exit_status import TIMED_OUT
from tileir.processes.messages import BadMessage, checked
from tileir.processes.sandbox import limit_resource

SECONDS = 60.0
BYTES = 16 << 30
"""The limit of address space: libraries for GPUs map a lot that they do not use."""
_MODULE = "__tileir_script__"


@dataclass(frozen=True)
class Finding:
    """An error or a lint finding at a line of the script; 0 is the comment that states the launch."""

    severity: str
    message: str
    line: int = 0
    column: int = 0
    """In characters, from 0; 0 for where the statement of the line begins."""
    end: int = 0
    """0 for the end of the line."""
    code: str = "cutile"


@dataclass(frozen=True)
class Variable:
    """A tile that a name of the script stands for."""

    name: str
    line: int
    type: str


@dataclass
class CompiledLaunch:
    """The result of compiling for a launch, or of importing the script."""

    kernel: str
    findings: list[Finding] = field(default_factory=list)
    variables: list[Variable] = field(default_factory=list)


def compile_script(
    path: str, launches: list[dict[str, Any]], targets: list[str], seconds: float = SECONDS
) -> list[CompiledLaunch]:
    """Compile the kernels of a file, in a process of its own."""
    request = json.dumps({"path": path, "launches": launches, "targets": targets, "seconds": seconds})
    status, output, errors = communicate([sys.executable, "-m", __name__], request.encode(), seconds=seconds)
    if status.reason == TIMED_OUT:
        return [CompiledLaunch("", [Finding("warning", f"not compiled: it took more than {seconds:g} s")])]
    try:
        found: list[CompiledLaunch] = checked(list[CompiledLaunch], json.loads(output))
        return found
    except (ValueError, RecursionError, BadMessage):
        last = errors.decode("utf-8", "replace").strip().splitlines()[-1:]
        words = f"not compiled: the process {status.message}"
        return [CompiledLaunch("", [Finding("warning", ": ".join([words, *last]))])]


def main() -> None:
    request = json.load(sys.stdin)
    # What the script prints must not end up in the answer.
    answer_to = os.dup(1)
    os.dup2(2, 1)
    limit_resource("RLIMIT_AS", BYTES)
    limit_resource("RLIMIT_CPU", int(request["seconds"]) + 1)
    limit_resource("RLIMIT_CORE", 0)
    answers = _answers(request["path"], request["launches"], request["targets"])
    with open(answer_to, "w", encoding="utf-8") as file:
        json.dump([asdict(each) for each in answers], file)
        file.flush()
    os._exit(0)


def _answers(path: str, launches: list[dict[str, Any]], targets: list[str]) -> list[CompiledLaunch]:
    os.chdir(os.path.dirname(path) or ".")
    sys.path.insert(0, os.path.dirname(path))
    sys.argv = [path]
    try:
        specification = importlib.util.spec_from_file_location(_MODULE, path)
        assert specification is not None and specification.loader is not None
        module = importlib.util.module_from_spec(specification)
        sys.modules[_MODULE] = module
        specification.loader.exec_module(module)
    except BaseException as error:  # Whatever a script does when it is imported.
        return [CompiledLaunch("", [_raised(error, path, "the script cannot be imported: ")])]
    return [_answer(module, path, launch, targets) for launch in launches]


def _answer(module: Any, path: str, launch: dict[str, Any], targets: list[str]) -> CompiledLaunch:
    from tileir.bridge.compiling import compile
    from tileir.bridge.kernel_kinds import is_cutile_kernel
    from tileir.execute.arguments.argument_text import argument

    answer = CompiledLaunch(launch["kernel"])
    kernel = getattr(module, launch["kernel"], None)
    if not is_cutile_kernel(kernel):
        answer.findings.append(Finding("error", f"the script has no kernel '{launch['kernel']}'"))
        return answer
    try:
        arguments = tuple([argument(text, None) for text in launch["arguments"]])
        made = compile(kernel, arguments, backend="interpreter")
    except Exception as error:  # cuTile's own, those of arguments, and whatever else comes of a script.
        answer.findings.append(_raised(error, path, ""))
        return answer
    entry = made.kernel.entry
    answer.findings.extend(_advice(entry, path, targets))
    answer.variables.extend(_variables(entry, path))
    return answer


def _raised(error: BaseException, path: str, lead: str) -> Finding:
    """An error, at the line of the script that it is about."""
    place: Any = getattr(error, "loc", None)
    if getattr(place, "line", 0) and os.path.realpath(str(getattr(place, "filename", ""))) == os.path.realpath(path):
        text = linecache.getline(path, place.line)
        column, end = character_column(text, place.col), 0
        if getattr(place, "last_line", None) == place.line and place.end_col is not None:
            end = character_column(text, place.end_col)
        # cuTile's text has the location again, in lines below.
        return Finding("error", str(error.args[0] if error.args else error), place.line, column, end)
    if isinstance(error, TileIRError) and error.diagnostics:
        found = error.diagnostics[0]
        file, line, column = found.position
        if file and os.path.realpath(file) == os.path.realpath(path):
            return Finding("error", lead + found.message, line, max(column - 1, 0))
        return Finding("error", lead + found.message)
    if isinstance(error, SyntaxError) and error.lineno:
        return Finding("error", lead + error.msg, error.lineno)
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == path]
    return Finding("error", lead + (str(error) or type(error).__name__), lines[-1] or 0 if lines else 0)


def _advice(entry: Any, path: str, targets: list[str]) -> list[Finding]:
    """Findings of lint about the compiled kernel, at the lines of the script."""
    from tileir.analyze.lint.configuration import LintOptions, options_for
    from tileir.analyze.lint.linting import lint_module

    settings = options_for(path, LintOptions(target=targets or None)).settings(path)
    with open(path, encoding="utf-8") as file:
        text = file.read()
    root = entry
    while root.parent_operation is not None:
        root = root.parent_operation
    findings: list[Finding] = []
    for finding in lint_module(root, settings, {path: text}):
        name, line, column = finding.diagnostic().position
        if os.path.realpath(name) == os.path.realpath(path):
            findings.append(Finding(finding.severity, finding.message, line, max(column - 1, 0), code=finding.rule))
    return list(dict.fromkeys(findings))


def _variables(entry: Any, path: str) -> list[Variable]:
    """The tiles that names of the script stand for."""
    from tileir.dialect.types import TileType
    from tileir.execute.locations.script import Script

    script = Script()
    found: dict[Variable, None] = {}
    for operation in entry.walk():
        expression = script.expression(operation)
        if expression is None or not expression.name or expression.file != path or not operation.results:
            continue
        type = operation.results[0].type
        if isinstance(type, TileType) and script.label(operation) == expression.name:
            found[Variable(expression.name, expression.line, type.spelling)] = None
    return list(found)


if __name__ == "__main__":
    main()
