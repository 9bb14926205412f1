"""What child processes with foreign code do: make inputs, run the candidate, compute what is expected.

Each is a process of its own: the candidate must not see the reference's source, and while it runs there are no expected
results to be found.  What goes wrong in a module is reported at its lines.  A module has functions of any of the
conventions in which people judge kernels that models wrote; a candidate with `run` may have a reference with `Model`:

| convention | candidate | reference | inputs |
|---|---|---|---|
| tileir | `run(*inputs)` | `reference(*inputs)` | `inputs(seed)` |
| KernelBench | `ModelNew(*init)(*inputs)` | `Model(*init)(*inputs)` | `get_inputs()`, `get_init_inputs()` |
| GPU MODE | `custom_kernel(data)` | `ref_kernel(data)` | `generate_input(.., seed)` |
"""

from __future__ import annotations

import inspect
import os
import random
import re
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import asdict
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any, Final, NamedTuple

import numpy

from tileir.bridge.frames import is_compile_error
from tileir.ir.quoting import type_text
from tileir.judging.cheats import cheat_cause
from tileir.judging.kernels.launches import Launches, ModuleReport, emulate
from tileir.judging.kernels.tampering import watch_tampering
from tileir.judging.kernels.values import Disguised, NotCarried, dump, load, results_of
from tileir.judging.model import JudgePlan, JudgeStage, Outcome, digest_of
from tileir.judging.tasks.input_sets import LAYOUTS as LAYOUTS_GROUP
from tileir.judging.tasks.input_sets import NONFINITE as NONFINITE_GROUP
from tileir.judging.tasks.input_sets import SHOWN, VARIANTS, InputSet, planned_sets
from tileir.judging.tasks.settings import TaskSettings, settings_in, tolerances
from tileir.judging.tasks.variants import CONTENTS, LAYOUTS, NONFINITE, laid_out, variants_of
from tileir.judging.verdicts.causes import cause_of
from tileir.judging.verdicts.work import Work, is_forbidden

CANDIDATES: Final = ("run", "ModelNew", "custom_kernel")
REFERENCES: Final = ("reference", "Model", "ref_kernel")
INPUTS: Final = ("inputs", "get_inputs", "generate_input")
_CLASSES: Final = ("ModelNew", "Model")
_TAKE_ALL_AS_ONE: Final = ("custom_kernel", "ref_kernel")
_SHARE_OF_VARIANTS: Final = 0.2
"""Of the time limit, to find contents on which a slow reference can be judged."""
_LONGEST: Final = 4000
"""Characters of a message."""
_ADDRESS: Final = re.compile(r"\b0x[0-9a-fA-F]{6,}\b")
# Bound before foreign code can replace it.
_CLOCK = time.perf_counter


def make_inputs(file: str, directory: str, plan: JudgePlan, work: Work) -> dict[str, Any]:
    """The reference's module writes `inputs_0.bin` and so on; their digests, and what it requires of candidates."""
    work.begin("inputs")
    try:
        source = Path(directory, file).read_bytes()
        task = settings_in(source)
        # A reference without a task states all of its shapes.
        settings = task or TaskSettings(variants=False)
        seed = plan.seed if settings.seed is None else settings.seed
        module = _reference(file, directory, plan, Launches(0, ""))
        stated = tolerance_of(module) if settings.tolerance is None else tolerances(settings.tolerance)
        made: list[InputSet] = []

        def keep(case: Case, group: str, label: str, slack: Sequence[float] = ()) -> int:
            data = dump(case._asdict(), "the inputs")
            Path(f"inputs_{len(made)}.bin").write_bytes(data)
            made.append(InputSet(digest_of(data), group, label, [*slack]))
            return len(data)

        smallest: tuple[int, Case | None] = (1 << 62, None)
        for planned in planned_sets(settings, settings.shapes or shapes_of(module), plan.trials):
            try:
                case = case_of(module, seed + planned.trial, planned.shape)
                if planned.group == VARIANTS:
                    computes(module, REFERENCES, "reference", case)(load(dump(case.inputs)))
            except Exception:
                if planned.group != VARIANTS:
                    raise
                # A size that the reference does not take.
                continue
            size = keep(case, planned.group, planned.label if task is not None else f"inputs {len(made)}")
            if planned.group == SHOWN and size < smallest[0]:
                smallest = size, case
        if task is not None and smallest[1] is not None:
            for group, label, slack, case in _varied(module, smallest[1], settings, stated, plan):
                keep(case, group, label, slack)
        least = speedup_of(module) if settings.speedup is None else settings.speedup
        required: dict[str, Any] = {}
        if task is not None:
            keys = ("precision", "operations", "frameworks", "nonfinite")
            required = {"coverage": True, **{key: getattr(settings, key) for key in keys}}
        return asdict(ModuleReport(made, stated, least, required))
    except BaseException as error:
        return _failed("inputs", error, file)


def _varied(
    module: Any, case: Case, settings: TaskSettings, stated: dict[str, list[float]] | None, plan: JudgePlan
) -> Iterator[tuple[str, str, list[float], Case]]:
    """Sets of inputs like one of them, with other contents or in other memory."""
    until = _CLOCK() + plan.limits.seconds * _SHARE_OF_VARIANTS

    def evaluate(inputs: Any, is_wide: bool) -> Any:
        return computes(module, REFERENCES, "reference", case._replace(inputs=inputs), is_wide=is_wide)(inputs)

    for group, kinds in ((VARIANTS, CONTENTS), (NONFINITE_GROUP, NONFINITE)) if settings.variants else ():
        for variant in variants_of(case.inputs, kinds, evaluate, stated):
            yield group, variant.label, variant.slack, case._replace(inputs=variant.inputs)
            if _CLOCK() > until:
                return
    for layout in LAYOUTS if settings.layouts else ():
        yield LAYOUTS_GROUP, layout, [], case._replace(layout=layout)


def run_candidate(
    content: bytes, file: str, directory: str, numbers: list[int], secret: str, plan: JudgePlan, work: Work
) -> dict[str, Any]:
    """The candidate's module writes `results_0.bin` and so on, `again.bin` from a second run of the first inputs, and
    the launches of the first run: the one process in which its code runs.  `numbers` are those of the inputs.

    Return counts and seconds, which the candidate can forge if it goes that far; with `secret`, which a forged report
    lacks, if the process is to be watched."""
    launches = Launches(plan.limits.file_bytes, "launch_")
    step, look = "import", None
    try:
        work.begin(step)
        emulate(backend_of(plan), launches)
        look = watch_tampering(directory, work.send) if secret else None
        module = load_module(content, directory, file, "candidate")
        find(module, CANDIDATES, "candidate")
        if look is not None:
            look()
        step = "run"
        work.begin(step)
        for number in numbers:
            data = Path(f"inputs_{number}.bin").read_bytes()
            for name in (f"results_{number}.bin", *(["again.bin"] if number == 0 else [])):
                case = Case(**load(data))
                case = case._replace(inputs=laid_out(case.inputs, case.layout))
                function = computes(module, CANDIDATES, "candidate", case)
                if secret:
                    launches.run = name
                    launches.report.recorded.setdefault(name, [])
                launches.keeps, launches.counts = name != "again.bin", name == "results_0.bin"
                if launches.counts:
                    function = partial(launches.watch, function)
                launches.report.seconds.append(compute(function, case.inputs, name))
                if look is not None and (launches.counts or number == numbers[-1]):
                    look()
    except BaseException as error:
        if look is not None:
            look()
        launches.report.failed = failure_of(error, file, "compile" if is_compile_error(error) else step)
    return asdict(launches.report) | {"secret": secret}


def compute_expected(file: str, directory: str, made: list[InputSet], plan: JudgePlan, work: Work) -> dict[str, Any]:
    """The reference's module writes `expected_0.bin` and so on, and the launches of the baseline, which is the
    reference if there is no other; their counts and the baseline's seconds, where the plan requests them."""
    launches = Launches(plan.limits.file_bytes, "baseline_")
    settings = settings_in(Path(directory, file).read_bytes())
    launches.report.seed = plan.seed if settings is None or settings.seed is None else settings.seed
    work.begin("reference")
    try:
        module = _reference(file, directory, plan, launches)
        has_baseline = hasattr(module, "baseline")
        seconds = launches.report.seconds
        inputs = [_inputs(number, each.digest) for number, each in enumerate(made)]
        for number, data in enumerate(inputs):
            # In arrays of its own.
            case = Case(**load(data))
            launches.keeps = number == 0 and not has_baseline
            function = computes(module, REFERENCES, "reference", case)
            seconds.append(compute(function, case.inputs, f"expected_{number}.bin"))
            if (state := getattr(function, "state", None)) is not None:
                Path(f"state_{number}.bin").write_bytes(dump(state(), "the model's parameters"))
        if has_baseline and (plan.time or plan.cost):
            seconds.clear()
            # Its results do not matter, and without a clock it need not run.
            launches.runs = plan.time
            for number, data in enumerate(inputs if plan.time else inputs[:1]):
                case = Case(**load(data))
                launches.keeps = number == 0
                function = computes(module, ("baseline",), "baseline", case)
                seconds.append(compute(function, case.inputs, "baseline.bin"))
    except BaseException as error:
        return _failed("reference", error, file)
    return asdict(launches.report)


def backend_of(plan: JudgePlan) -> str:
    """The engine that runs kernels: the fast one of the plan's that needs no GPU, or else the first."""
    return "cpu" if "cpu" in plan.backends else plan.backends[0] if plan.backends else "auto"


def compute(function: Callable[[Any], Any], inputs: Any, file: str) -> float:
    """Call a module's function, and write its results and the inputs that it changed to a file; return seconds."""
    flat = results_of(inputs)
    before = [dump(value) for value in flat]
    begin = _CLOCK()
    found = function(inputs)
    seconds = _CLOCK() - begin
    changed = {str(number): value for number, value in enumerate(flat) if dump(value) != before[number]}
    data = dump({"results": results_of(found), "changed": changed}, "what it returns")
    Path(file).write_bytes(data)
    return seconds


def _reference(file: str, directory: str, plan: JudgePlan, watcher: Launches) -> Any:
    """The reference's module, which is in a file of the directory."""
    emulate(backend_of(plan), watcher)
    return load_module(Path(directory, file).read_bytes(), directory, file, "reference")


def load_module(source: bytes, directory: str, file: str, name: str) -> ModuleType:
    """A module from its source, in a file without a path, so that messages are the same in every directory."""
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
    if digest_of(data) != digest:
        raise Tampered("the candidate changed the files of the inputs")
    return data


def _failed(step: str, error: BaseException, file: str) -> dict[str, Any]:
    """What a child reports of foreign code that failed."""
    return asdict(ModuleReport(failed=failure_of(error, file, step)))


def failure_of(error: BaseException, file: str, step: str = "") -> JudgeStage:
    """What an exception of foreign code means for a step, with the line of the module that it comes from."""
    outcome: Outcome = "failed"
    while is_compile_error(error) and error.__cause__ is not None and is_compile_error(error.__cause__):
        # Triton raises an error for each function on the way to the one that it refuses.
        error = error.__cause__
    kind = type(error).__name__
    line, cause = _line(error, file), ""
    if isinstance(error, (Tampered, WrongModule, NotCarried)):
        outcome, message, line = "forbidden" if isinstance(error, Tampered) else "failed", str(error), ""
        cause = cheat_cause("disguised-result") if isinstance(error, Disguised) else ""
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
        reason = getattr(error, "error_message", None) if is_compile_error(error) else None
        message, cause = f"{kind}: {message}", f"{kind}: {cause_of(reason or message)}"
    return JudgeStage(step, outcome, f"{message}{line}"[:_LONGEST], cause or cause_of(message))


def _line(error: BaseException, file: str) -> str:
    """The innermost line of the module; empty if the message has it."""
    text = str(error)
    notes = [note for note in getattr(error, "__notes__", ()) if f"{file}:" in note]
    if notes:
        return f"\n  {notes[-1]}".replace(os.getcwd() + os.sep, "")
    if f'"{file}", line' in text or f"{file}:" in text:
        return ""
    found = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    return f"\n  at {file}:{found[-1].lineno} in {found[-1].name}: {(found[-1].line or '').strip()}" if found else ""


# --- what a module has to have ---


class Tampered(Exception):
    """Files were changed that are not the candidate's."""


class WrongModule(Exception):
    """A module that lacks what it has to have; the message states what."""


class Case(NamedTuple):
    """One set of inputs."""

    seed: int
    inputs: Any
    """What the function of the reference's module returned."""
    init: Any
    """What models are made with; None if the reference has none."""
    layout: str = ""
    """How arrays lie in the candidate's memory, if not densely."""


def find(module: Any, names: tuple[str, ...], what: str) -> tuple[str, Any]:
    """What a module calls its candidate, its reference or its inputs."""
    for name in names:
        found = getattr(module, name, None)
        if found is not None:
            if not callable(found):
                raise WrongModule(f"{name} is {type_text(found)}, not a function")
            return name, found
    raise WrongModule(f"there is no {what}: define {', '.join(names[:-1])} or {names[-1]}")


def computes(
    module: Any, names: tuple[str, ...], what: str, case: Case, *, is_wide: bool = False
) -> Callable[[Any], Any]:
    """The function that computes with inputs; a model is made with the parameters that the seed determines, and a wide
    one has them in float64."""
    name, found = find(module, names, what)
    seed_everything(case.seed)
    if name not in _CLASSES:
        return found if name in _TAKE_ALL_AS_ONE else lambda inputs: found(*_as_arguments(inputs))
    model, torch = found(*_as_arguments(case.init)), sys.modules.get("torch")
    if hasattr(model, "cuda") and torch is not None:
        model = model.cuda()
    if is_wide:
        model = model.double()

    def run(inputs: Any) -> Any:
        with torch.no_grad() if torch is not None else nullcontext():
            return model(*_as_arguments(inputs))

    if hasattr(model, "state_dict"):
        run.state = lambda: list(model.state_dict().values())  # type: ignore[attr-defined]
    return run


def _as_arguments(value: Any) -> tuple[Any, ...]:
    if value is None:
        return ()
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def shapes_of(module: Any) -> list[Any]:
    """The shapes that the reference's module states for its inputs: tuples or dictionaries of arguments."""
    found = getattr(module, "shapes", None)
    if found is None:
        return [()]
    if not isinstance(found, (list, tuple)) or not found:
        raise WrongModule("shapes is a list of tuples or dictionaries, one for each set of arguments of the inputs")
    return list(found)


def case_of(module: Any, seed: int, shape: Any) -> Case:
    name, make = find(module, INPUTS, "function for inputs")
    keywords: dict[str, Any] = dict(shape) if isinstance(shape, dict) else {}
    positional = () if isinstance(shape, dict) else shape if isinstance(shape, tuple) else (shape,)
    seed_everything(seed)
    signature = inspect.signature(make)
    first = next(iter(signature.parameters.values()), None)
    if name == "inputs" and first is not None and first.kind is not inspect.Parameter.KEYWORD_ONLY:
        positional = (seed, *positional)
    elif "seed" in signature.parameters:
        keywords["seed"] = seed
    try:
        signature.bind(*positional, **keywords)
    except TypeError as error:
        hint = "" if hasattr(module, "shapes") else ": state shapes = [..] beside it"
        raise WrongModule(f"{name} cannot be called with what there is ({error}){hint}") from None
    found = make(*positional, **keywords)
    init = None
    if hasattr(module, "get_init_inputs"):
        seed_everything(seed)
        init = module.get_init_inputs()
        if isinstance(init, (list, tuple)) and len(init) == 2 and init[0] == [] and isinstance(init[1], dict):
            raise WrongModule("get_init_inputs returns arguments by name: give them by position")
    return Case(seed, on_gpu(found) if name == "get_inputs" else found, init)


def on_gpu(value: Any) -> Any:
    """Tensors moved to the GPU, where KernelBench's models find them."""
    torch: Any = sys.modules.get("torch")
    if torch is None:
        return value
    if isinstance(value, torch.Tensor):
        return value.cuda()
    if isinstance(value, (tuple, list)):
        return type(value)([on_gpu(item) for item in value])
    return value


def seed_everything(seed: int) -> None:
    """The same numbers for whoever draws them next."""
    random.seed(seed)
    numpy.random.seed(seed % 2**32)
    if (torch := sys.modules.get("torch")) is not None:
        torch.default_generator.manual_seed(seed)
        if torch.default_generator not in torch.cuda.default_generators:
            # A GPU that is not emulated.
            torch.manual_seed(seed)


def tolerance_of(module: Any) -> dict[str, list[float]] | None:
    """The tolerance that the reference's module states: relative and absolute, by element type."""
    try:
        return tolerances(getattr(module, "tolerance", None))
    except ValueError as error:
        raise WrongModule(f"tolerance {error}") from None


def _is_tolerance(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value >= 0


def speedup_of(module: Any) -> float | None:
    """The least speedup over the baseline that the reference's module requires."""
    found = getattr(module, "speedup", None)
    if found is not None and not _is_tolerance(found):
        raise WrongModule("speedup is a number: the baseline's time over the candidate's")
    return None if found is None else float(found)
