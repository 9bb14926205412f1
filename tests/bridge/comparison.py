"""A launch and what NumPy says it must give."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy

import tileir


@dataclass
class Comparison:
    kernel: Any
    grid: Any
    arguments: tuple[Any, ...]
    expected: dict[int, Any]
    """What the arguments at these places must hold afterwards."""
    relative: float = 1e-5
    absolute: float = 1e-6

    def check(self, **options: Any) -> None:
        tileir.launch(self.kernel, self.grid, self.arguments, **options)
        for place, wanted in self.expected.items():
            found = numpy.asarray(self.arguments[place])
            wanted = numpy.asarray(wanted)
            assert found.shape == wanted.shape
            if found.dtype.kind in "iub":
                numpy.testing.assert_array_equal(found, wanted)
            else:
                numpy.testing.assert_allclose(
                    found.astype(numpy.float64), wanted.astype(numpy.float64), self.relative, self.absolute
                )
