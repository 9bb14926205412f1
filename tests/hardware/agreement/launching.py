"""Programs on the GPU by an engine of the product, its launcher included: what a user gets."""

from __future__ import annotations

import os
from pathlib import Path

from tests.hardware.agreement.device import Device
from tests.hardware.agreement.program import Pointer, Program
from tests.hardware.agreement.running import REFUSED, SIZE, found_in, laid_out

import tileir
from tileir.execute.gpu.arrays import synchronize


class Launcher:
    """Runs programs on the first GPU through an engine, with the code in a cache if it is there."""

    def __init__(self, backend: str, cache: Path | None = None, size: int = SIZE) -> None:
        if cache is not None:
            os.environ["TILEIR_CACHE_DIR"] = str(cache)
        self.device = Device(size)
        self.backend = backend
        self.name = f"{self.device.name}, backend={backend!r}"
        self._text = ""
        self._kernel: tileir.Kernel | None = None

    def load(self, cubin: bytes) -> None:
        """Nothing: every program is compiled when it is launched."""

    def run(self, program: Program, name: str) -> tuple[list[bytes], str]:
        """The memories after a launch, and what is wrong beside them."""
        starts, image = laid_out(program, self.device.address)
        if len(image) > self.device.size:
            return [], f"the arrays take {len(image)} bytes"
        arguments = launch_arguments(program, [self.device.address + start for start in starts])
        self.device.write(image)
        try:
            if self._kernel is None or self._text != program.text or "global " in program.text:
                # Global variables keep what a launch has written.
                self._kernel = tileir.compile(tileir.parse(program.text), backend=self.backend, exact=True)
                self._text = program.text
            self._kernel.launch(program.grid, arguments, output=lambda text: None)
        except tileir.errors.CompilationError as error:
            return [], REFUSED + str(error).splitlines()[0]
        except tileir.TileIRError:
            raise
        except Exception as error:
            # A mistake of ours; the GPU is as it was.
            return [], f"{type(error).__name__}: {error}"
        synchronize(0, "waiting for the kernel")
        return found_in(program, starts, image, self.device.read(len(image)))


def launch_arguments(program: Program, addresses: list[int]) -> list[int | float]:
    """What a launch is given, with the memories at these addresses."""
    from tests.hardware.agreement.interpreting import number_of

    return [
        addresses[each.memory] + each.start if isinstance(each, Pointer) else number_of(each)
        for each in program.arguments
    ]
