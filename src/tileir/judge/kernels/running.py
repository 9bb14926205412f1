"""The candidate's module computes with the inputs: the one process in which its code runs."""

from __future__ import annotations

from functools import partial
from typing import Any

from tileir.judge.ended import BeginStep
from tileir.judge.kernels.computing import compute
from tileir.judge.kernels.launches import Launches, emulated
from tileir.judge.kernels.loading import is_of_cutile, load_module
from tileir.judge.kernels.making import backend_of, case_in, failed
from tileir.judge.kernels.origins import Origins
from tileir.judge.kernels.protocol import CANDIDATES, computes, find
from tileir.judge.plans import Plan


def run_candidate(
    content: bytes, file: str, directory: str, count: int, plan: Plan, begin_step: BeginStep
) -> dict[str, Any]:
    """Write `results_0.bin` and so on, `again.bin` from a second run of the first inputs, and the launches of the first
    run; gives counts and seconds, which are what the candidate wants them to be if it goes that far."""
    launches = Launches(plan.limits.file_bytes, "launch_")
    seconds: list[float] = []
    found: dict[str, Any] = {"done": 0}
    step = "import"
    try:
        begin_step(step)
        emulated(backend_of(plan), launches)
        module = load_module(content, directory, file, "candidate")
        find(module, CANDIDATES, "candidate")
        step = "run"
        begin_step(step)
        for number in range(count):
            with open(f"inputs_{number}.bin", "rb") as inputs:
                data = inputs.read()
            for name in ("results_0.bin", "again.bin") if number == 0 else (f"results_{number}.bin",):
                case = case_in(data)
                function = computes(module, CANDIDATES, "candidate", case)
                launches.keeps = name == "results_0.bin"
                if launches.keeps:
                    launches.origins = Origins()
                    function = partial(launches.origins.watch, function)
                seconds.append(compute(function, case.inputs, name))
            found["done"] = number + 1
    except BaseException as error:
        found.update(failed("compile" if is_of_cutile(error) else step, error, file))
    found["seconds"] = seconds
    found["launches"] = launches.counts
    found["origins"] = {} if launches.origins is None else launches.origins.told
    found["kept"] = launches.kept
    found["not_kept"] = launches.not_kept
    return found
