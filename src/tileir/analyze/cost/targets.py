"""What costs can be estimated for: the GPUs of the table, and this processor."""

from __future__ import annotations

from contextlib import suppress
from importlib.util import find_spec
from typing import Final, NamedTuple

from tileir.execute.errors import LaunchError
from tileir.execute.gpu.gpus import GPUS, Gpu, gpu_named, plain_name
from tileir.execute.gpu.peaks import Peaks, peaks_of
from tileir.ir.diagnostics import OptionError

DEFAULT: Final = "h200"
PROCESSOR: Final = "cpu"


class GpuTarget(NamedTuple):
    """A GPU: what it is, and what it can do at most."""

    gpu: Gpu
    peaks: Peaks

    @property
    def key(self) -> str:
        return self.gpu.key

    @property
    def title(self) -> str:
        return self.gpu.name


class ProcessorTarget:
    """This machine."""

    key: Final = PROCESSOR
    title: Final = "this processor"


Target = GpuTarget | ProcessorTarget


def gpu_targets() -> dict[str, GpuTarget]:
    """All GPUs whose peaks are known, by name."""
    known = [(gpu, peaks_of(gpu.name)) for gpu in GPUS.values()]
    return {gpu.key: GpuTarget(gpu, peaks) for gpu, peaks in known if peaks is not None}


def target_names() -> dict[str, str]:
    """The targets with their titles; the processor only if the packages that compile for it are installed."""
    names = {key: target.title for key, target in gpu_targets().items()}
    if all(find_spec(package) is not None for package in ("llvmlite", "numpy", "ml_dtypes")):
        names[PROCESSOR] = ProcessorTarget.title
    return names


def target_named(name: object) -> Target:
    """The target of a name: `h200`, `cpu`, or for an architecture, as `sm_90`, the first of its GPUs."""
    known = gpu_targets()
    if isinstance(name, str):
        if plain_name(name) == PROCESSOR:
            return ProcessorTarget()
        with suppress(LaunchError):
            gpu = gpu_named(name)
            if gpu.key in known:
                return known[gpu.key]
    shown = f"'{name}'" if isinstance(name, str) else repr(name)
    raise OptionError(f"there is no target {shown}: choose one of {', '.join([*known, PROCESSOR])}")
