"""What child processes with foreign code do: make inputs, run the candidate, compute what is expected.

Each is a process of its own: the candidate must not see the reference's source, and while it runs there are no expected
results to be found.  What goes wrong in a module is reported at its lines.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from tileir.judge.kernels import protocol
from tileir.judge.kernels.launches import Launches, ModuleReport, emulate
from tileir.judge.kernels.values import NotCarried, dump, load
from tileir.judge.model import Outcome, Plan, Step
from tileir.judge.verdicts.causes import cause_of
from tileir.judge.verdicts.work import Work, is_forbidden

_LONGEST: Final = 4000
"""Characters of a message."""
_ADDRESS: Final = re.compile(r"\b0x[0-9a-fA-F]{6,}\b")
# Bound before foreign code can put its own in the place of these.
_CLOCK = time.perf_counter


def make_inputs(file: str, directory: str, plan: Plan, work: Work) -> dict[str, Any]:
    """The reference's module writes `inputs_0.bin` and so on; their digests, and what it requires of candidates."""
    work.begin("inputs")
    try:
        module = _reference(file, directory, plan, Launches(0, ""))
        digests: list[str] = []
        for shape in protocol.shapes_of(module):
            for trial in range(max(plan.trials, 1)):
                data = dump(protocol.case_of(module, plan.seed + trial, shape)._asdict(), "the inputs")
                Path(f"inputs_{len(digests)}.bin").write_bytes(data)
                digests.append(_digest(data))
        tolerance, speedup = protocol.tolerance_of(module), protocol.speedup_of(module)
        return asdict(ModuleReport(inputs=digests, tolerance=tolerance, speedup=speedup))
    except BaseException as error:
        return _failed("inputs", error, file)


def run_candidate(content: bytes, file: str, directory: str, count: int, plan: Plan, work: Work) -> dict[str, Any]:
    """The candidate's module writes `results_0.bin` and so on, `again.bin` from a second run of the first inputs, and
    the launches of the first run: the one process in which its code runs.

    Return counts and seconds, which are what the candidate wants them to be if it goes that far."""
    launches = Launches(plan.limits.file_bytes, "launch_")
    step = "import"
    try:
        work.begin(step)
        emulate(backend_of(plan), launches)
        module = load_module(content, directory, file, "candidate")
        protocol.find(module, protocol.CANDIDATES, "candidate")
        step = "run"
        work.begin(step)
        for number in range(count):
            data = Path(f"inputs_{number}.bin").read_bytes()
            for name in ("results_0.bin", "again.bin") if number == 0 else (f"results_{number}.bin",):
                case = _case(data)
                function = protocol.computes(module, protocol.CANDIDATES, "candidate", case)
                launches.keeps = name == "results_0.bin"
                if launches.keeps:
                    function = partial(launches.watch, function)
                launches.report.seconds.append(compute(function, case.inputs, name))
    except BaseException as error:
        return _failed("compile" if _is_of_cutile(error) else step, error, file)
    return asdict(launches.report)


def compute_expected(file: str, directory: str, digests: list[str], plan: Plan, work: Work) -> dict[str, Any]:
    """The reference's module writes `expected_0.bin` and so on, and the launches of the baseline, which is the
    reference if there is no other; their counts and the baseline's seconds, where the plan asks for them."""
    launches = Launches(plan.limits.file_bytes, "baseline_")
    work.begin("reference")
    try:
        module = _reference(file, directory, plan, launches)
        has_baseline = hasattr(module, "baseline")
        seconds = launches.report.seconds
        inputs = [_inputs(number, digest) for number, digest in enumerate(digests)]
        for number, data in enumerate(inputs):
            case = _case(data)
            launches.keeps = number == 0 and not has_baseline
            function = protocol.computes(module, protocol.REFERENCES, "reference", case)
            seconds.append(compute(function, case.inputs, f"expected_{number}.bin"))
        if has_baseline and (plan.time or plan.cost):
            seconds.clear()
            # Its results do not matter, and without a clock it need not run.
            launches.runs = plan.time
            for number, data in enumerate(inputs if plan.time else inputs[:1]):
                case = _case(data)
                launches.keeps = number == 0
                function = protocol.computes(module, ("baseline",), "baseline", case)
                seconds.append(compute(function, case.inputs, "baseline.bin"))
    except BaseException as error:
        return _failed("reference", error, file)
    return asdict(launches.report)


def backend_of(plan: Plan) -> str:
    """The engine that runs kernels: the fast one of the plan's that needs no GPU, or else the first."""
    return "cpu" if "cpu" in plan.engines else plan.engines[0] if plan.engines else "auto"


def compute(function: Callable[[Any], Any], inputs: Any, file: str) -> float:
    """Call a module's function, and write its results and the inputs that it changed to a file; return seconds."""
    flat = protocol.results_of(inputs)
    before = [dump(value) for value in flat]
    begin = _CLOCK()
    found = function(inputs)
    seconds = _CLOCK() - begin
    changed = {str(number): value for number, value in enumerate(flat) if dump(value) != before[number]}
    data = dump({"results": protocol.results_of(found), "changed": changed}, "what it returns")
    Path(file).write_bytes(data)
    return seconds


def _reference(file: str, directory: str, plan: Plan, watcher: Launches) -> Any:
    """The reference's module, which is in a file of the directory."""
    emulate(backend_of(plan), watcher)
    return load_module(Path(directory, file).read_bytes(), directory, file, "reference")


def load_module(source: bytes, directory: str, file: str, name: str) -> ModuleType:
    """A module from its source, which it can find as a file by a name without a path: messages are the same wherever
    the directory is."""
    os.chdir(directory)
    Path(file).write_bytes(source)
    module = ModuleType(name)
    module.__file__ = file
    sys.modules[name] = module
    sys.dont_write_bytecode = True
    exec(compile(source, file, "exec", dont_inherit=True), module.__dict__)
    return module


def _inputs(number: int, digest: str) -> bytes:
    """Inputs as they were made: where nothing keeps the candidate from writing to their file, it is seen."""
    data = Path(f"inputs_{number}.bin").read_bytes()
    if _digest(data) != digest:
        raise Tampered("the candidate changed the files of the inputs")
    return data


def _digest(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def _case(data: bytes) -> protocol.Case:
    """A set of inputs in arrays of its own."""
    return protocol.Case(**load(data))


# --- foreign code that fails ---


class Tampered(Exception):
    """Files were changed that are not the candidate's."""


def _failed(step: str, error: BaseException, file: str) -> dict[str, Any]:
    """What a child reports of foreign code that failed."""
    return asdict(ModuleReport(failed=replace(failure_of(error, file), name=step)))


def failure_of(error: BaseException, file: str) -> Step:
    """What an exception of foreign code means for a step, with the line of the module that it comes from."""
    outcome: Outcome = "failed"
    kind = type(error).__name__
    line, cause = _line(error, file), ""
    if isinstance(error, (Tampered, protocol.WrongModule, NotCarried)):
        outcome, message, line = "forbidden" if isinstance(error, Tampered) else "failed", str(error), ""
    elif isinstance(error, ModuleNotFoundError) and error.name is not None:
        package = error.name.partition(".")[0]
        install = f"pip install {'cuda-tile' if package == 'cuda' else package}"
        outcome, message, line = "refused", f"{package} is not installed: {install}", ""
    elif isinstance(error, SystemExit):
        message = f"it ends the process ({kind}: {error.code})"
    elif isinstance(error, MemoryError):
        outcome, message = "memory", "out of memory"
    elif is_forbidden(error):
        outcome, message = "forbidden", f"{kind}: {error.strerror if isinstance(error, OSError) else error}"
        cause = message
    elif isinstance(error, SyntaxError):
        message, line, cause = f"{file}:{error.lineno}: {kind}: {error.msg}", "", f"{kind}: {error.msg}"
    else:
        # The same on every machine: no addresses, and no path to the scratch directory.
        message = _ADDRESS.sub("0x..", str(error).replace(os.getcwd() + os.sep, "")).strip()
        outcome = "refused" if kind in ("EmulationError", "MissingDependencyError") else "failed"
        message, cause = f"{kind}: {message}", f"{kind}: {cause_of(message)}"
    return Step("", outcome, f"{message}{line}"[:_LONGEST], cause or cause_of(message))


def _is_of_cutile(error: BaseException) -> bool:
    """Whether cuTile refuses to compile a kernel."""
    tile: Any = sys.modules.get("cuda.tile")
    kind = getattr(tile, "TileError", None) or getattr(sys.modules.get("cuda.tile._exception"), "TileError", None)
    return kind is not None and isinstance(error, kind)


def _line(error: BaseException, file: str) -> str:
    """The innermost line of the module; nothing if the message says it."""
    text = str(error)
    if f'"{file}", line' in text or f"{file}:" in text:
        return ""
    found = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    return f"\n  at {file}:{found[-1].lineno} in {found[-1].name}: {(found[-1].line or '').strip()}" if found else ""
