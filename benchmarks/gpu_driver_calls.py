"""How long the calls of the CUDA driver take that a piece of code makes."""

from __future__ import annotations

import time
from typing import Any

from tileir.execute.gpu.driver.library import Driver


class DriverCalls:
    """Counts and times calls of the driver by their names, from its creation to `stop`."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.counts: dict[str, int] = {}
        self._function = Driver.function
        calls = self

        def function(driver: Driver, name: str) -> Any:
            found = calls._function(driver, name)

            def timed(*arguments: object) -> Any:
                begin = time.perf_counter()
                code = found(*arguments)
                calls.seconds[name] = calls.seconds.get(name, 0.0) + time.perf_counter() - begin
                calls.counts[name] = calls.counts.get(name, 0) + 1
                return code

            return timed

        Driver.function = function  # type: ignore[assignment,method-assign]

    def stop(self) -> None:
        Driver.function = self._function  # type: ignore[method-assign]

    def milliseconds(self) -> dict[str, float]:
        """By name, the longest first, and all of them."""
        found = sorted(self.seconds.items(), key=lambda each: -each[1])
        return {"all": 1e3 * sum(self.seconds.values()), **{name: 1e3 * seconds for name, seconds in found}}
