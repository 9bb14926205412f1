"""What a kernel is launched with: arrays and numbers, in the words of `tileir run --arg`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tileir.analyze.smith.numbers import random_array
from tileir.ir.types import I1, Type


@dataclass
class ArrayParameter:
    """An array: of random numbers where it has a seed, else of zeros."""

    element: Type
    count: int
    seed: int | None

    @property
    def words(self) -> str:
        if self.seed is None:
            return f"zeros:{self.element.spelling}:{self.count}"
        return f"smith:{self.element.spelling}:{self.count}:{self.seed}"

    def made(self) -> Any:
        import numpy

        from tileir.execute.dtypes import value_dtype

        if self.seed is None:
            return numpy.zeros(self.count, value_dtype(self.element))
        return random_array(self.element, (self.count,), self.seed)


@dataclass
class NumberParameter:
    element: Type
    value: int | float

    @property
    def words(self) -> str:
        return ("true" if self.value else "false") if self.element is I1 else repr(self.value)

    def made(self) -> Any:
        return bool(self.value) if self.element is I1 else self.value


Parameter = ArrayParameter | NumberParameter
